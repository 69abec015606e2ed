package sqlstore

import (
	"context"
	"database/sql"
)

// Leases. A lease is a row with a time; keys point at it (kv.lease). Nothing
// here looks at a clock: a grant and a renewal carry the proposer's time, and
// when the leader sees that a lease is due it proposes a revoke with
// Expired set. Between its look and the apply a renewal may have come first in the
// log; so apply checks again, with the time that the revoke carries.

// Lease is a row of the table lease.
type Lease struct {
	ID        int64 `db:"id"`
	TTL       int64 `db:"ttl"`        // seconds
	ExpiresAt int64 `db:"expires_at"` // unix nanoseconds
}

const second = int64(1e9) // in nanoseconds

// maxTTL is the longest time to live in seconds: half of etcd's, so that a time in nanoseconds has room for it.
const maxTTL = 4_500_000_000

// remaining is the lease's time to live at a moment, in whole seconds, not below 0.
func (l Lease) remaining(at int64) int64 { return max(0, (l.ExpiresAt-at)/second) }

// lease reads a lease inside the transaction.
func (tx *Tx) lease(id int64) (l Lease, ok bool) {
	err := tx.s.writer.get(`SELECT id, ttl, expires_at FROM lease WHERE id = ?`, []any{id}, &l.ID, &l.TTL, &l.ExpiresAt)
	if err != nil && !noRows(err) {
		tx.fail("read lease", err)
	}
	return l, err == nil
}

// applyLeaseGrant makes a lease. Without an ID it takes the raft index, or
// the next number that is free.
func (tx *Tx) applyLeaseGrant(index uint64, g *LeaseGrant, res *Result) {
	if g.TTL <= 0 || g.TTL > maxTTL || g.ID < 0 {
		res.Err = newError(CodeInvalid, "grant lease %d: ttl %d is out of range", g.ID, g.TTL)
		return
	}
	l := Lease{ID: g.ID, TTL: g.TTL, ExpiresAt: g.At + g.TTL*second}
	if l.ID == 0 {
		l.ID = int64(index)
		for _, taken := tx.lease(l.ID); taken; _, taken = tx.lease(l.ID) {
			l.ID++
		}
	} else if _, taken := tx.lease(l.ID); taken {
		res.Err = newError(CodeExists, "grant lease %d: it exists already", l.ID)
		return
	}
	tx.fail("insert lease", tx.s.writer.exec(`INSERT INTO lease (id, ttl, expires_at) VALUES (?, ?, ?)`, l.ID, l.TTL, l.ExpiresAt))
	res.Succeeded, res.LeaseID, res.LeaseTTL = true, l.ID, l.TTL
}

// applyLeaseKeep gives a lease its whole time again, from k.At on.
func (tx *Tx) applyLeaseKeep(k *LeaseKeep, res *Result) {
	l, ok := tx.lease(k.ID)
	if !ok {
		res.Err = newError(CodeNotFound, "renew lease %d: not found", k.ID)
		return
	}
	l.ExpiresAt = max(l.ExpiresAt, k.At+l.TTL*second) // a slow member's clock does not shorten it
	tx.fail("update lease", tx.s.writer.exec(`UPDATE lease SET expires_at = ? WHERE id = ?`, l.ExpiresAt, l.ID))
	res.Succeeded, res.LeaseID, res.LeaseTTL = true, l.ID, l.remaining(k.At)
}

// applyLeaseRevoke ends a lease and deletes its keys, all at one revision.
func (tx *Tx) applyLeaseRevoke(index uint64, cmd *Command, res *Result) {
	r := cmd.LeaseRevoke
	l, ok := tx.lease(r.ID)
	switch {
	case !ok:
		res.Err = newError(CodeNotFound, "revoke lease %d: not found", r.ID)
		return
	case r.Expired && l.ExpiresAt > r.At: // renewed in the meantime
		res.LeaseID, res.LeaseTTL = l.ID, l.remaining(r.At)
		return
	}
	var ops []Op
	err := tx.s.writer.each(`SELECT live.key FROM kv JOIN live ON live.id = kv.id WHERE kv.lease = ? AND kv.lease <> 0 ORDER BY kv.key`,
		[]any{r.ID}, func(rows *sql.Rows) error {
			op := Op{Type: OpDelete}
			err := rows.Scan(&op.Key)
			ops = append(ops, op)
			return err
		})
	if tx.fail("read keys of lease", err) {
		return
	}
	tx.writeOps(index, &cmd.Request, ops, currents{}, res)
	tx.fail("delete lease", tx.s.writer.exec(`DELETE FROM lease WHERE id = ?`, r.ID))
	res.Succeeded, res.LeaseID = true, r.ID
}

// Lease reads one lease.
func (s *Store) Lease(ctx context.Context, id int64) (l Lease, ok bool, err error) {
	err = s.query(ctx, "read lease", func(c *conn) error {
		err := c.get(`SELECT id, ttl, expires_at FROM lease WHERE id = ?`, []any{id}, &l.ID, &l.TTL, &l.ExpiresAt)
		ok = err == nil
		if noRows(err) {
			return nil
		}
		return err
	})
	return l, ok, err
}

// Leases reads all leases in the order of their ids.
func (s *Store) Leases(ctx context.Context) ([]Lease, error) {
	return s.leases(ctx, `SELECT id, ttl, expires_at FROM lease ORDER BY id`)
}

// DueLeases reads the leases that are over at a moment, the longest overdue first.
func (s *Store) DueLeases(ctx context.Context, now int64, limit int) ([]Lease, error) {
	return s.leases(ctx, `SELECT id, ttl, expires_at FROM lease WHERE expires_at <= ? ORDER BY expires_at, id LIMIT ?`, now, limit)
}

// leases reads rows of lease.
func (s *Store) leases(ctx context.Context, query string, args ...any) (ls []Lease, err error) {
	err = s.query(ctx, "read leases", func(c *conn) error {
		return c.each(query, args, func(r *sql.Rows) error {
			var l Lease
			err := r.Scan(&l.ID, &l.TTL, &l.ExpiresAt)
			ls = append(ls, l)
			return err
		})
	})
	return ls, err
}

// LeaseKeys reads the keys that a lease would delete.
func (s *Store) LeaseKeys(ctx context.Context, id int64) (keys []string, err error) {
	err = s.query(ctx, "read keys of lease", func(c *conn) error {
		return c.each(`SELECT live.key FROM kv JOIN live ON live.id = kv.id WHERE kv.lease = ? AND kv.lease <> 0 ORDER BY kv.key`,
			[]any{id}, func(r *sql.Rows) error {
				var key string
				err := r.Scan(&key)
				keys = append(keys, key)
				return err
			})
	})
	return keys, err
}
