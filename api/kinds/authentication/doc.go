// Package authentication holds the reviews of authentication.k8s.io: who a
// token belongs to (TokenReview), who one is (SelfSubjectReview), and the token
// subresource of service accounts (TokenRequest), which package core serves.
//
// Why this shape: none of them is stored; each is a function of the request,
// answered by the door (kinds.Access).
//
// Hardest part: binding a token to an object, so that it ends with it.
//
// What can be lost: nothing.
package authentication
