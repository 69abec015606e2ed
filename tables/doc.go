// Package tables is what kubectl prints, written as SQL views: one file a kind.
//
// # Purpose
//
// The cells of a Table answer and the rows of SELECT * FROM pods come from the
// same view, so that kubectl and sqlite3 can not disagree. For each kind there
// are two views: NAME_row renders any row of kv by its id, also an old one and
// also a tombstone (as what it deleted), and NAME is NAME_row over the rows
// that live points at.
//
// # Why this shape
//
// A view's file is all there is to know about a kind's table: its header
// comment carries the column definitions that go over the wire, its body the
// cells. What many views need (an age, a label selector) is a macro in double
// braces, expanded when the file is loaded (expand.go), so the text that is
// installed is plain SQL that a stock sqlite3 3.40 runs. Time comes from the
// view clock only, which can be pinned.
//
// Views must stay flat: SQLite then merges NAME and NAME_row into the query,
// and a condition on the key or the id becomes an index look-up. So a row view
// is a join of object and of table-valued functions, never an aggregate.
//
// # The hardest part
//
// pods.sql: the status of a pod depends on its conditions, the first init
// container that is not done and the first container that is not running. It
// is computed once a row, as one JSON object, since SQLite would otherwise
// evaluate a named expression again wherever it is used.
//
// # What can be lost
//
// Nothing. Views hold no data; they are made again when their text changed.
package tables
