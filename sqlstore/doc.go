// Package sqlstore is etcd's key space over one SQLite file.
//
// # Purpose
//
// A cluster is a map from keys to objects. The store keeps every change of
// that map as one row of the table kv, gives each transaction the next
// revision, and answers what etcd answers: a key or a range of keys, now or
// at an old revision; the changes after a revision, and a wake-up when there
// is one more. Beyond etcd it keeps what selectors and the garbage collector
// look up, and for every write who asked for it and why.
//
// # Why this shape
//
// schema.sql is the design; read it first. There is one file per verb: apply
// (with index and lease), get, range (with selector), changes (with ring and
// wait), compact and sweep, owned, check. All writing goes through one
// connection and one lock, held by a Tx; only raftlog opens a Tx, and it
// applies commands in the order of the Raft log. Reading goes through a pool of
// read-only connections, each read in a snapshot of its own, so that readers
// never wait for a writer nor for each other.
//
// Apply is deterministic: it looks at the command and at the rows and at nothing
// else. Whatever a row needs (time, user, labels) the proposer put into the
// command. So all members that apply the same log hold the same rows.
//
// # The hardest part
//
// Tx.Commit. Three things must become true together: the rows with
// applied_index, which SQLite commits as one; the counters and the ring of
// changes in memory, which only then take over what the Tx held; and the wake-up
// of the watchers, which comes last so that whoever wakes finds the changes. A
// Tx that fails leaves memory as it was, and raftlog begins again from the rows.
//
// # What can be lost
//
// Nothing that was acknowledged: an acknowledgement comes after COMMIT, and
// COMMIT returns after fsync (synchronous=FULL). A write that was not acknowledged
// may be there or not, never in part. History at or below compact_revision is
// given up on purpose.
package sqlstore
