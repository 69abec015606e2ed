// Package raftlog decides the order of writes: it is Raft
// (go.etcd.io/raft/v3) whose log is the table raft_log, in the same file as
// the key space that the log feeds.
//
// # Purpose
//
// Propose takes a command and returns what applying it answered, once it is
// durable. Everything that changes the key space comes this way, also lease expiry
// and compaction, which the leader proposes (housekeeping.go).
//
// # Why this shape
//
// One goroutine owns Raft (ready.go). It takes all proposals that wait,
// opens one SQLite transaction, hands them to Raft, carries out what
// Raft says is Ready until there is no more, commits, and only then answers all of them:
// one fsync for as many proposals as came while the last one ran. With one voter the
// entries are appended and applied in that same transaction, so log and key space never
// differ. With more voters a commit comes before any message leaves; that is in the loop
// already, and what a second member needs beyond it is a transport.
//
// raft v3.7 never gives an entry in Entries and in CommittedEntries of the same
// Ready, not even with one voter: so the transaction stays open over Ready, Advance and the next Ready.
//
// # The hardest part
//
// A transaction that fails (node.go, restart). Raft in memory then believes entries
// appended that no file has. As nothing has left this process yet, the
// loop treats it as a crash: whoever waits gets the error, and Raft starts again from the rows. If the
// file cannot be locked, the proposals are refused before Raft has heard of them.
//
// # What can be lost
//
// A proposal whose caller got an error or gave up waiting may have been made or not, as
// with any database; one that was answered is on disk. Killing the process at any instant
// loses no answered write: ready.go marks the commit point.
package raftlog
