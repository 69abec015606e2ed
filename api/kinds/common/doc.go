// Package common holds what the files of many kinds share: the typed form of
// a Strategy, the split between spec and status, and the small validators that
// every group needs.
//
// Why this shape: kinds.Strategy speaks runtime.Object, because the generic
// verbs know no Go type. A kind's file wants its own type. Typed is the one
// place where the assertion between the two is made, so no kind's file holds one.
//
// Hardest part: Parts, which keeps three writers apart. The main path owns
// spec, the status path owns status, and metadata.generation moves only when
// the spec did.
//
// What can be lost: nothing; everything here is a pure function.
package common
