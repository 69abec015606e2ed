// Package rest is the generic verbs: get list watch create update patch
// delete, one file a verb, for every kind that the registry holds.
//
// Why this shape: a request passes the same stages whatever its kind and
// whoever sent it. An HTTP request and a controller's call make the same op;
// each stage is one method of it (stages.go) and what is special about a kind
// is a function of its Strategy. The verbs know no Go type.
//
//	decode -> defaults -> mutating admission -> prepare -> validate -> validating admission -> propose
//
// Hardest part: a write that races another. live.go reads the row that a
// write is based on, the proposal carries that row's mod_revision as a
// condition, and update.go goes round again from the read when the condition
// failed and the client did not insist on a version.
//
// What can be lost: nothing that was answered. An answer is sent after
// Propose returned, and Propose returns after the commit.
package rest
