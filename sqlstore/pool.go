package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// Reading. The store's own reads share a few connections: who reads takes one
// out of the pool, and everybody else waits until one is back. A connection is made at its first use.

// readers is how many connections the store's own reads share; two cores
// make more of them pointless.
const readers = 4

// borrow lends a connection of the pool to do. doing names it in errors.
func (s *Store) borrow(ctx context.Context, doing string, do func(*conn) error) error {
	var c *conn
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	case got, open := <-s.pool:
		if !open {
			return newError(CodeClosed, "%s: the store is closed", doing)
		}
		c = got
	}
	defer func() { s.pool <- c }()
	var err error
	if c == nil {
		c, err = newConn(s.rdb)
	}
	if err == nil {
		err = do(c)
	}
	if c != nil && errors.Is(err, errSpoiled) {
		_ = c.close()
		c = nil
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
