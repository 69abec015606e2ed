// Package authorization holds the access reviews of authorization.k8s.io: may
// this user do that (SubjectAccessReview and its local and self forms), and
// what may I do (SelfSubjectRulesReview).
//
// Why this shape: a review is the authorizer's answer in the form of an
// object; nothing is stored.
//
// Hardest part: the selectors of an access review. Those that cannot be
// parsed widen the question instead of failing it, as upstream does.
//
// What can be lost: nothing.
package authorization
