// Package rbac holds the kinds of rbac.authorization.k8s.io: roles, which are
// lists of rules, and bindings, which give a role to users, groups and service
// accounts.
//
// Why this shape: the four kinds are two pairs that differ only in scope, so
// the rules they share stand once (rules.go, subjects.go, escalation.go).
//
// Hardest part: escalation. Nobody may write a role that allows more than he
// may himself, or bind such a role, unless RBAC gives him the verbs escalate
// or bind. Those checks ask the authorizer, so they are part of the write.
//
// What can be lost: nothing beyond the objects themselves.
package rbac
