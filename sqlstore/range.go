package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// Range reads keys in order. Now is a scan of live, with the selector's terms
// as conditions; the past is a scan of history, the newest row of each key at or
// below the revision. Both read one snapshot, which keeps SQLite from
// checkpointing the WAL as long as it lasts: so a caller with a big list sets
// Limit, and asks on with From just after the last key and Revision = Page.Revision.

// noEnd as Query.To means that the range has no end, as in etcd.
const noEnd = "\x00"

// PrefixEnd is the Query.To of all keys that begin with prefix.
func PrefixEnd(prefix string) string {
	end := []byte(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xff {
			end[i]++
			return string(end[:i+1])
		}
	}
	return noEnd
}

// KeyAfter is the Query.From that goes on after key.
func KeyAfter(key string) string { return key + "\x00" }

// Range answers a Query.
func (s *Store) Range(ctx context.Context, q Query) (Page, error) {
	var page Page
	err := s.read(ctx, "read keys from "+q.From, func(c *conn) error {
		var current, compact int64
		if err := c.get(`SELECT current_revision, compact_revision FROM store`, nil, &current, &compact); err != nil {
			return err
		}
		page.Revision = current
		if q.Revision != 0 {
			if err := inHistory(q.Revision, current, compact); err != nil {
				return err
			}
			page.Revision = q.Revision
		}
		var st statement
		var err error
		if page.Revision == current {
			st, err = liveStatement(&q)
		} else {
			st, err = pastStatement(&q)
		}
		if err != nil {
			return err
		}
		return st.run(ctx, c, &q, &page)
	})
	if err != nil {
		return Page{}, err
	}
	return page, nil
}

// A statement is SQL with its arguments, in parts: what follows SELECT
// columns, and the order; run puts them together for the rows and for counting.
type statement struct {
	from string // FROM ... WHERE ...
	args []any
	key  string // the column that orders the rows
}

// pastStatement reads history: rows that no newer row at or below the
// revision replaces. The condition looks at the index kv_key alone, which also gives
// the order; tombstones among the rows are for run to drop,
// so that of the table itself only the rows in question are read.
// Terms cannot be answered there, since label and field speak of now.
func pastStatement(q *Query) (statement, error) {
	if len(q.Terms) > 0 {
		return statement{}, newError(CodeInvalid, "read keys at old revision %d: a selector works on the newest only; filter what you read", q.Revision)
	}
	where, args := keyRange("kv.key", q)
	return statement{
		from: `FROM kv INDEXED BY kv_key WHERE ` + where + ` AND kv.mod_revision <= ? AND NOT EXISTS (
			SELECT 1 FROM kv AS n WHERE n.key = kv.key AND n.mod_revision > kv.mod_revision AND n.mod_revision <= ?)`,
		args: append(args, q.Revision, q.Revision),
		key:  "kv.key",
	}, nil
}

// keyRange is the condition that column lies in the query's range.
func keyRange(column string, q *Query) (string, []any) {
	switch q.To {
	case "":
		return column + ` = ?`, []any{q.From}
	case noEnd:
		return column + ` >= ?`, []any{q.From}
	}
	return column + ` >= ? AND ` + column + ` < ?`, []any{q.From, q.To}
}

// run reads the rows into page, and counts what is left when asked to. One
// row more than the limit is read to learn whether there is more.
func (st statement) run(ctx context.Context, c *conn, q *Query, page *Page) error {
	columns := kvColumns
	if q.KeysOnly {
		columns = kvColumnsKeysOnly
	}
	if q.Limit > 0 {
		page.Rows = make([]KV, 0, min(q.Limit, 1024)+1)
	}
	err := c.each(`SELECT `+columns+` `+st.from+` ORDER BY `+st.key, st.args, func(rows *sql.Rows) error {
		n := len(page.Rows)
		page.Rows = append(page.Rows, KV{})
		if err := scanKV(rows, &page.Rows[n]); err != nil {
			return err
		}
		switch {
		case page.Rows[n].Version == 0:
			page.Rows = page.Rows[:n]
		case n == q.Limit && n > 0:
			page.Rows, page.More = page.Rows[:n], true
			return errEnough
		}
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, errEnough) || !page.More || !q.Count {
		return ignoreEnough(err)
	}
	last := page.Rows[len(page.Rows)-1].Key
	return c.get(`SELECT count(*) `+st.from+` AND kv.version > 0 AND `+st.key+` > ?`, append(st.args[:len(st.args):len(st.args)], last), &page.Remaining)
}

// ignoreEnough tells a scan that stopped by itself from a failure.
func ignoreEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Count counts the living keys of a range; to is as Query.To.
func (s *Store) Count(ctx context.Context, from, to string) (n int64, err error) {
	where, args := keyRange("key", &Query{From: from, To: to})
	err = s.query(ctx, "count keys", func(c *conn) error {
		return c.get(`SELECT count(*) FROM live WHERE `+where, args, &n)
	})
	return n, err
}
