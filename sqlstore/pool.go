package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Reading. The store's own reads share a few connections: who reads takes one
// out of the pool, and everybody else waits until one is back. A connection
// holds a megabyte and more (the schema with all views, cached pages), so the
// one that came back last goes out first, and those that a burst needed and
// nobody took since are closed.

// readers is how many connections the store's own reads share; two cores
// make more of them pointless.
const readers = 4

// idleTime is how long a connection that nobody uses is kept.
const idleTime = 20 * time.Second

// pool holds the connections that nobody has borrowed.
type pool struct {
	turns chan struct{} // one for each connection that may be lent; closed when the store is

	mu   sync.Mutex
	idle []idleConn // the one that came back last is last
}

type idleConn struct {
	c     *conn
	since time.Time
}

func newPool() *pool {
	p := &pool{turns: make(chan struct{}, readers)}
	for range readers {
		p.turns <- struct{}{}
	}
	return p
}

// take gives an idle connection, nil when there is none.
func (p *pool) take() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	c := p.idle[last].c
	p.idle[last] = idleConn{}
	p.idle = p.idle[:last]
	return c
}

// give takes a connection back, and closes one that has waited too long.
func (p *pool) give(c *conn, now time.Time) {
	p.mu.Lock()
	var stale *conn
	if len(p.idle) > 0 && now.Sub(p.idle[0].since) > idleTime {
		stale = p.idle[0].c
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, idleConn{c, now})
	p.mu.Unlock()
	if stale != nil {
		_ = stale.close()
	}
}

// close waits for those who read, and closes all connections.
func (p *pool) close() {
	for range readers {
		<-p.turns
	}
	close(p.turns)
	for c := p.take(); c != nil; c = p.take() {
		_ = c.close()
	}
}

// borrow lends a connection of the pool to do. doing names it in errors.
func (s *Store) borrow(ctx context.Context, doing string, do func(*conn) error) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case _, open := <-s.pool.turns:
		if !open {
			return newError(CodeClosed, "%s: the store is closed", doing)
		}
	}
	defer func() { s.pool.turns <- struct{}{} }()
	var err error
	c := s.pool.take()
	if c == nil {
		c, err = newConn(s.rdb)
	}
	if err == nil {
		err = do(c)
	}
	switch {
	case c == nil:
	case errors.Is(err, errSpoiled):
		_ = c.close()
	default:
		s.pool.give(c, time.Now())
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return wrap(doing, err)
}

// errSpoiled marks a connection that must not be used again.
var errSpoiled = errors.New("connection given up")

// query is borrow for one statement, which is a snapshot by itself.
func (s *Store) query(ctx context.Context, doing string, do func(*conn) error) error {
	return s.borrow(ctx, doing, do)
}

// read is borrow for several statements in one snapshot: all that do reads is of one moment.
func (s *Store) read(ctx context.Context, doing string, do func(*conn) error) error {
	return s.borrow(ctx, doing, func(c *conn) error {
		if err := c.exec(`BEGIN`); err != nil {
			return err
		}
		err := do(c)
		if end := c.exec(`COMMIT`); end != nil {
			return errors.Join(err, end, errSpoiled)
		}
		return err
	})
}

// noRows tells "there is none" from a failure.
func noRows(err error) bool { return errors.Is(err, sql.ErrNoRows) }

// itoa is for numbers in text.
func itoa(n int64) string { return strconv.FormatInt(n, 10) }
