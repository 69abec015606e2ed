package raftlog

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/raft/v3"

	"kuberow/sqlstore"
)

// A Node is this process's member of the Raft group. Its life:
//
//	Start    loads the log, becomes leader when it is the only voter, applies what was not applied
//	Propose  from any goroutine, any number at once
//	Stop     answers who still waits with CodeClosed; the store stays open, its owner closes it
//
// Goroutines: run (ready.go) owns Raft, the storage and the transactions;
// keepHouse (housekeeping.go) proposes as anybody else does.
type Node struct {
	store *sqlstore.Store
	log   *slog.Logger
	opts  Options

	proposals chan *proposal // to run; its buffer is the next group forming
	stop      chan struct{}  // closed by Stop
	stopOnce  sync.Once
	done      sync.WaitGroup
	ended     chan struct{} // closed when run has returned
	seq       atomic.Uint64
	status    atomic.Pointer[Status]
	looked    atomic.Int64 // revision at which CompactHistory counted last

	// set by Start
	member      uint64
	incarnation uint64

	// owned by run
	raw     *raft.RawNode // nil after a failed restart, until one succeeds
	storage *storage
	counted bool                             // incarnation is in the file
	waiting map[sqlstore.CommandID]*proposal // proposals that run has taken and not answered
	answers []answer                         // applied in the open transaction, answered after its commit
}

// Options say how a node behaves; the zero value is right for a server.
type Options struct {
	Logger          *slog.Logger
	Clock           Clock         // real time when nil
	RetainRevisions int64         // history kept; 100,000 when 0, all of it when negative
	RetainLog       uint64        // applied raft_log rows kept; 10,000 when 0
	MaxCommandBytes int           // a larger command is CodeTooLarge; 8 MB when 0
	HouseInterval   time.Duration // how often housekeeping looks; 500 ms when 0, never when negative
}

// Clock is where time comes from.
type Clock interface {
	Now() time.Time
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// Status is what the node knows of itself.
type Status struct {
	Member  uint64
	Leader  uint64 // 0 when there is none
	Term    uint64
	Commit  uint64
	Applied uint64
	First   uint64 // of the log
	Last    uint64
	Voters  []uint64
}

// The loop's parameters.
const (
	tickInterval  = 100 * time.Millisecond
	electionTicks = 10
	groupCount    = 1024    // proposals in one transaction
	groupBytes    = 8 << 20 // and their data
	truncateStep  = 500     // raft_log rows deleted at once
)

// Start brings the member up. A sole voter is leader when it returns.
func Start(ctx context.Context, store *sqlstore.Store, o Options) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.RetainRevisions == 0 {
		o.RetainRevisions = 100_000
	}
	if o.RetainLog == 0 {
		o.RetainLog = 10_000
	}
	if o.MaxCommandBytes == 0 {
		o.MaxCommandBytes = 8 << 20
	}
	if o.HouseInterval == 0 {
		o.HouseInterval = 500 * time.Millisecond
	}
	n := &Node{store: store, log: o.Logger, opts: o, proposals: make(chan *proposal, groupCount), stop: make(chan struct{}), ended: make(chan struct{})}
	if err := n.restart(ctx); err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	if err := n.turn(nil); err != nil {
		return nil, fmt.Errorf("start raft: %w", err)
	}
	n.done.Go(n.run)
	if o.HouseInterval > 0 {
		n.done.Go(n.keepHouse)
	}
	return n, nil
}

// restart begins from the rows: at the start, and after a transaction that
// failed, when what Raft has in memory is not what the file has.
func (n *Node) restart(ctx context.Context) error {
	n.raw = nil
	st, member, incarnation, err := load(ctx, n.store.Reader())
	if err != nil {
		return err
	}
	n.storage = st
	if n.member == 0 { // at the start only: Propose reads both
		n.member, n.incarnation = member, incarnation+1
	}
	n.waiting, n.answers = map[sqlstore.CommandID]*proposal{}, nil
	n.raw, err = raft.NewRawNode(&raft.Config{
		ID: member, Storage: st, Applied: st.applied,
		ElectionTick: electionTicks, HeartbeatTick: 1, PreVote: true, CheckQuorum: true,
		MaxSizePerMsg: 1 << 20, MaxCommittedSizePerReady: 16 << 20, MaxInflightMsgs: 256,
		Logger: logger{n.log},
	})
	if err != nil {
		return fmt.Errorf("create raft node: %w", err)
	}
	if n.soleVoter() {
		if err := n.raw.Campaign(); err != nil { // nobody to wait for
			return fmt.Errorf("campaign: %w", err)
		}
	}
	return nil
}

// soleVoter says whether this member decides alone.
func (n *Node) soleVoter() bool {
	c := n.storage.conf
	return len(c.GetVoters()) == 1 && c.GetVoters()[0] == n.member && len(c.GetVotersOutgoing()) == 0
}

// Stop ends the node and waits until it has.
func (n *Node) Stop() error {
	n.stopOnce.Do(func() { close(n.stop) })
	n.done.Wait()
	return nil
}

// Status is the state after the last turn of the loop.
func (n *Node) Status() Status { return *n.status.Load() }

// Leader says whether this member leads.
func (n *Node) Leader() bool { s := n.status.Load(); return s.Leader == s.Member }

// publish makes the state visible to Status.
func (n *Node) publish() {
	b := n.raw.BasicStatus()
	n.status.Store(&Status{
		Member: n.member, Leader: b.Lead, Term: b.GetTerm(), Commit: b.GetCommit(), Applied: n.storage.applied,
		First: n.storage.snapshotIndex + 1, Last: n.storage.last, Voters: n.storage.conf.GetVoters(),
	})
}
