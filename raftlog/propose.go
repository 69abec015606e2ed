package raftlog

import (
	"context"
	"fmt"

	"kuberow/sqlstore"
)

// A proposal is one caller of Propose that waits. It goes through the channel
// to run, which hands it to Raft with others as a group, and comes back as an answer when the
// transaction that applied it is committed.
type proposal struct {
	ctx     context.Context
	cmd     *sqlstore.Command
	data    []byte
	op, key string
	done    chan outcome // buffered: run never waits for a caller that left
}

// outcome is what a caller gets.
type outcome struct {
	res *sqlstore.Result
	err error
}

// answer is an outcome that waits for the commit.
type answer struct {
	p   *proposal
	res *sqlstore.Result
}

// Propose has cmd decided, applied and made durable, and returns what apply
// answered; a Result with Err set is returned as that error, too. When ctx ends first the
// command may still be applied: to know, look at the store. The command must not be changed afterwards.
func (n *Node) Propose(ctx context.Context, cmd *sqlstore.Command) (*sqlstore.Result, error) {
	cmd.ID = sqlstore.CommandID{Member: n.member, Incarnation: n.incarnation, Seq: n.seq.Add(1)}
	data, err := encode(cmd)
	if err != nil {
		return nil, &sqlstore.Error{Code: sqlstore.CodeInvalid, Message: "propose command", Err: err}
	}
	if len(data) > n.opts.MaxCommandBytes {
		return nil, &sqlstore.Error{Code: sqlstore.CodeTooLarge,
			Message: fmt.Sprintf("propose command: %d bytes are more than the limit of %d; make the object smaller", len(data), n.opts.MaxCommandBytes)}
	}
	p := &proposal{ctx: ctx, cmd: cmd, data: data, done: make(chan outcome, 1)}
	p.op, p.key = gist(cmd)
	select {
	case n.proposals <- p:
	case <-ctx.Done():
		return nil, fmt.Errorf("propose command: %w", ctx.Err())
	case <-n.stop:
		return nil, errStopped()
	}
	select {
	case o := <-p.done:
		if o.err == nil && o.res.Err != nil {
			return o.res, o.res.Err
		}
		return o.res, o.err
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for command: %w", ctx.Err())
	case <-n.stop:
		<-n.ended // run may have answered before it did
		select {
		case o := <-p.done:
			return o.res, o.err
		default:
			return nil, errStopped()
		}
	}
}

func errStopped() error {
	return &sqlstore.Error{Code: sqlstore.CodeClosed, Message: "propose command: the server is stopping"}
}
