package raftlog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"

	"kuberow/sqlstore"
)

// The loop. One turn:
//
//	Begin                  a transaction; when the file is locked the group is refused here
//	raw.Propose ...        the group, into Raft's memory
//	raw.Ready              what to do now: entries, hard state, committed entries, messages
//	  storage.append/save  entries and hard state, into the transaction
//	  tx.Apply             committed entries, into the same transaction
//	  Commit, send, Begin  only when there are messages to other members
//	raw.Advance            and Ready again until there is none
//	Commit                 the commit point: one fsync
//	answer                 all who proposed what was applied
//
// No Ready is taken before a transaction is open to hold it: a Ready cannot be
// given back.

// run is the goroutine that owns Raft.
func (n *Node) run() {
	defer close(n.ended)
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	for {
		var group []*proposal
		select {
		case p := <-n.proposals:
			group = n.gather(p)
		case <-tick.C:
			if n.raw != nil {
				n.raw.Tick()
			}
		case <-n.stop:
			return
		}
		if err := n.turn(group); err != nil && len(group) == 0 {
			n.log.Warn("raft turn failed, it will be tried again", "error", err)
		}
	}
}

// gather takes what else waits. The caller's goroutines that the last group's
// answers woke get the processor once, so that they are in this group and not alone in the next.
func (n *Node) gather(first *proposal) []*proposal {
	runtime.Gosched()
	group, bytes := []*proposal{first}, len(first.data)
	for len(group) < groupCount && bytes < groupBytes {
		select {
		case p := <-n.proposals:
			group = append(group, p)
			bytes += len(p.data)
		default:
			return group
		}
	}
	return group
}

// turn carries a group, which may be empty, through Raft. Its error has
// been given to everybody concerned already.
func (n *Node) turn(group []*proposal) error {
	if n.raw == nil {
		if err := n.restart(context.Background()); err != nil {
			refuse(group, err)
			return err
		}
	}
	if len(group) == 0 && !n.raw.HasReady() {
		return nil
	}
	tx, err := n.store.Begin(context.Background())
	if err != nil {
		refuse(group, err) // Raft has not heard of them: the next proposal finds all as it was
		return err
	}
	t := &transaction{Tx: tx}
	if err := n.work(t, group); err != nil {
		t.Rollback()
		n.crash(err)
		return err
	}
	n.storage.trim(n.storage.applied)
	return nil
}

// transaction is the open Tx of a turn; nil between commit and the next Begin.
type transaction struct{ *sqlstore.Tx }

// Rollback ends what is open.
func (t *transaction) Rollback() {
	if t.Tx != nil {
		t.Tx.Rollback()
	}
}

// refuse answers proposals that Raft has not got.
func refuse(group []*proposal, err error) {
	for _, p := range group {
		p.done <- outcome{err: err}
	}
}

// crash is what a failed transaction leads to: all who wait get the error, and Raft
// forgets everything that is not in the file.
func (n *Node) crash(err error) {
	for _, p := range n.waiting {
		p.done <- outcome{err: err}
	}
	for _, a := range n.answers {
		a.p.done <- outcome{err: err}
	}
	n.waiting, n.answers = nil, nil
	if err := n.restart(context.Background()); err != nil {
		n.log.Error("raft cannot start again from its rows, the next proposal will try", "error", err)
	}
}

// work is a turn from Propose to the answers.
func (n *Node) work(t *transaction, group []*proposal) error {
	for _, p := range group { // from here on crash answers them when something fails
		n.waiting[p.cmd.ID] = p
	}
	if !n.counted {
		if err := t.Exec(`UPDATE raft_state SET incarnation = ?`, int64(n.incarnation)); err != nil {
			return err
		}
	}
	if err := n.drive(t); err != nil { // what was left over, such as an election
		return err
	}
	for _, p := range group {
		if p.ctx.Err() != nil { // gave up before it began
			delete(n.waiting, p.cmd.ID)
			p.done <- outcome{err: p.ctx.Err()}
			continue
		}
		if err := n.raw.Propose(p.data); err != nil {
			delete(n.waiting, p.cmd.ID)
			p.done <- outcome{err: &sqlstore.Error{Code: sqlstore.CodeBusy, Message: "propose command: there is no leader at the moment; try again", Err: err}}
		}
	}
	if err := n.drive(t); err != nil {
		return err
	}
	if t.Tx == nil {
		return nil
	}
	if err := n.storage.truncate(t.Tx, n.storage.applied, n.opts.RetainLog, truncateStep); err != nil {
		return err
	}
	return n.commit(t)
}

// own finds the proposal that an entry came from, nil when it is another member's or
// nobody waits for it any more.
func (n *Node) own(e *pb.Entry) *proposal {
	id, ok := peekID(e.GetData())
	if !ok {
		return nil
	}
	return n.waiting[id]
}

// drive carries out every Ready.
func (n *Node) drive(t *transaction) error {
	for n.raw.HasReady() {
		if t.Tx == nil {
			tx, err := n.store.Begin(context.Background())
			if sqlstore.CodeOf(err) == sqlstore.CodeBusy {
				return nil // the entries are in the log already: the next tick applies them
			}
			if err != nil {
				return err
			}
			t.Tx = tx
		}
		rd := n.raw.Ready()
		if err := n.storage.append(t.Tx, rd.Entries, n.gistOf); err != nil {
			return err
		}
		if rd.HardState != nil {
			if err := n.storage.save(t.Tx, rd.HardState); err != nil {
				return err
			}
		}
		for _, e := range rd.CommittedEntries {
			if err := n.apply(t.Tx, e); err != nil {
				return err
			}
		}
		if len(rd.Messages) > 0 { // they say that the entries are durable: so they must be
			if err := n.commit(t); err != nil {
				return err
			}
			n.deliver(rd.Messages)
		}
		n.raw.Advance(rd)
	}
	return nil
}

// gistOf is what the row of an entry shows.
func (n *Node) gistOf(e *pb.Entry) (op, key string) {
	switch {
	case e.GetType() != pb.EntryType_EntryNormal:
		return "conf change", ""
	case len(e.GetData()) == 0:
		return "elect", "" // a new leader's first entry
	}
	if p := n.own(e); p != nil {
		return p.op, p.key
	}
	cmd, err := Decode(e.GetData())
	if err != nil {
		return "unreadable", ""
	}
	return gist(cmd)
}

// apply carries out one committed entry.
func (n *Node) apply(tx *sqlstore.Tx, e *pb.Entry) error {
	n.storage.applied = e.GetIndex()
	switch {
	case e.GetType() != pb.EntryType_EntryNormal:
		return fmt.Errorf("apply entry %d: a change of the membership, which this version cannot make; use the kuberow that wrote it", e.GetIndex())
	case len(e.GetData()) == 0:
		tx.Skip(e.GetIndex())
		return nil
	}
	p := n.own(e)
	var cmd *sqlstore.Command
	if p != nil {
		cmd = p.cmd // what the data decodes to
	} else {
		var err error
		if cmd, err = Decode(e.GetData()); err != nil {
			return &sqlstore.Error{Code: sqlstore.CodeCorrupt, Message: fmt.Sprintf("apply entry %d: raft_log.data is damaged; restore a snapshot", e.GetIndex()), Err: err}
		}
	}
	res := tx.Apply(e.GetIndex(), cmd)
	if tx.Err() != nil {
		return tx.Err()
	}
	if p != nil {
		delete(n.waiting, p.cmd.ID)
		n.answers = append(n.answers, answer{p, res})
	}
	return nil
}

// commit makes the transaction durable and answers what it applied.
func (n *Node) commit(t *transaction) error {
	tx := t.Tx
	t.Tx = nil
	if err := tx.Commit(); err != nil { // the commit point
		return err
	}
	n.counted = true
	n.publish()
	for _, a := range n.answers {
		a.p.done <- outcome{res: a.res}
	}
	clear(n.answers)
	n.answers = n.answers[:0]
	return nil
}

// deliver sends messages to other members. A sole voter has none to send.
func (n *Node) deliver(messages []*pb.Message) {
	for _, m := range messages {
		n.log.Error("raft message has no way to its member", "error", errors.ErrUnsupported, "to", m.GetTo(), "type", m.GetType().String())
	}
}
