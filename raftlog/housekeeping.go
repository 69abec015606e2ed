package raftlog

import (
	"context"
	"errors"
	"time"

	"kuberow/sqlstore"
)

// Housekeeping: what has to happen without anybody asking. The leader ends
// leases that are over and moves compact_revision up, both as proposals; every member
// deletes its own compacted rows, in steps between which writes go on. Each duty is a
// function that does what is due at a moment and returns, so that tests call it.

// compactEvery is how many looks pass between two at the retention.
const compactEvery = 20

// sweepRows is how many rows one step of the sweep looks at: a few milliseconds.
const sweepRows = 200

// keepHouse looks after the duties until Stop.
func (n *Node) keepHouse() {
	tick := time.NewTicker(n.opts.HouseInterval)
	defer tick.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with keepHouse at the latest
		select {
		case <-n.stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	for look := 0; ; look++ {
		select {
		case <-n.stop:
			return
		case <-tick.C:
		}
		err := n.ExpireLeases(ctx)
		if look%compactEvery == 0 {
			err = errors.Join(err, n.CompactHistory(ctx))
			n.store.WatchWAL()
		}
		_, sweepErr := n.store.StepCompaction(ctx, sweepRows)
		for err = errors.Join(err, sweepErr); err == nil; {
			var left int
			if left, err = n.store.StepCompaction(ctx, sweepRows); left == sqlstore.SweepDone {
				break
			}
			select { // writers first
			case <-n.stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		if err != nil && ctx.Err() == nil && sqlstore.CodeOf(err) != sqlstore.CodeClosed {
			n.log.Warn("housekeeping failed, it will be tried again", "error", err)
		}
	}
}

// ExpireLeases proposes the end of every lease that is over. Apply looks again, as a renewal may
// be on its way.
func (n *Node) ExpireLeases(ctx context.Context) error {
	if !n.Leader() {
		return nil
	}
	now := n.opts.Clock.Now().UnixNano()
	due, err := n.store.DueLeases(ctx, now, 100)
	if err != nil {
		return err
	}
	for _, l := range due {
		_, err := n.Propose(ctx, &sqlstore.Command{
			Request:     sqlstore.Request{At: now, User: "system:apiserver", Agent: "lease", Verb: "expire"},
			LeaseRevoke: &sqlstore.LeaseRevoke{ID: l.ID, Expired: true, At: now},
		})
		if err != nil && sqlstore.CodeOf(err) != sqlstore.CodeNotFound { // somebody revoked it first
			return err
		}
	}
	return nil
}

// CompactHistory proposes a new compact_revision when more history has gathered than is to be kept.
func (n *Node) CompactHistory(ctx context.Context) error {
	keep := n.opts.RetainRevisions
	if !n.Leader() || keep < 0 || n.store.Revision()-n.looked.Load() < keep/100 {
		return nil
	}
	n.looked.Store(n.store.Revision()) // counting reads a row for each revision kept: not for every few new ones
	revision, err := n.store.RetentionRevision(ctx, keep)
	if err != nil || revision <= n.store.CompactRevision() {
		return err
	}
	_, err = n.Propose(ctx, &sqlstore.Command{
		Request: sqlstore.Request{At: n.opts.Clock.Now().UnixNano(), User: "system:apiserver", Agent: "compactor", Verb: "compact"},
		Compact: &sqlstore.Compact{Revision: revision},
	})
	if sqlstore.CodeOf(err) == sqlstore.CodeCompacted { // somebody compacted further meanwhile
		return nil
	}
	return err
}
