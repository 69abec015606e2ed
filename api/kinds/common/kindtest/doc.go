// Package kindtest runs the strategies of kinds without a store, for tests.
//
// Why this shape: a test of a kind builds an object, asks what the pipeline
// would make of it, and compares. The steps are those of kinds.Strategy, in its
// order; metadata and admission, which belong to no kind, are left out.
//
// Hardest part: none. What it does not do (storing, the answers of other
// components) is tested against the whole server.
//
// What can be lost: nothing; it is used by tests only.
package kindtest
