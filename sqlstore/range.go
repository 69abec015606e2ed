package sqlstore

import (
	"context"
	"database/sql"
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
	from  string // FROM ... WHERE ...
	args  []any
	key   string // the column that orders the rows
	limit int
}

const kvColumns = `kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease, kv.value, kv.managed_fields, kv.prev_id, kv.request_id`
const kvColumnsKeysOnly = `kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease, NULL, NULL, kv.prev_id, kv.request_id`

// pastStatement reads history: the inner query walks the index kv_key alone.
// Terms cannot be answered there, since label and field speak of now.
func pastStatement(q *Query) (statement, error) {
	if len(q.Terms) > 0 {
		return statement{}, newError(CodeInvalid, "read keys at old revision %d: a selector works on the newest only; filter what you read", q.Revision)
	}
	where, args := keyRange("key", q)
	return statement{
		from: `FROM (SELECT key, max(mod_revision) AS newest FROM kv WHERE ` + where + ` AND mod_revision <= ? GROUP BY key) AS was
			CROSS JOIN kv ON kv.key = was.key AND kv.mod_revision = was.newest WHERE kv.version > 0`,
		args: append(args, q.Revision),
		key:  "was.key",
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
	limit := -1
	if q.Limit > 0 {
		limit = q.Limit + 1
		page.Rows = make([]KV, 0, min(limit, 1024))
	}
	err := c.each(`SELECT `+columns+` `+st.from+` ORDER BY `+st.key+` LIMIT ?`, append(st.args[:len(st.args):len(st.args)], limit), func(rows *sql.Rows) error {
		if q.Limit > 0 && len(page.Rows) == q.Limit {
			page.More = true
			return nil
		}
		page.Rows = append(page.Rows, KV{})
		if err := scanKV(rows, &page.Rows[len(page.Rows)-1]); err != nil {
			return err
		}
		return ctx.Err()
	})
	if err != nil || !page.More || !q.Count {
		return err
	}
	last := page.Rows[len(page.Rows)-1].Key
	return c.get(`SELECT count(*) `+st.from+` AND `+st.key+` > ?`, append(st.args[:len(st.args):len(st.args)], last), &page.Remaining)
}

// Count counts the living keys of a range; to is as Query.To.
func (s *Store) Count(ctx context.Context, from, to string) (n int64, err error) {
	where, args := keyRange("key", &Query{From: from, To: to})
	err = s.read(ctx, "count keys", func(c *conn) error {
		return c.get(`SELECT count(*) FROM live WHERE `+where, args, &n)
	})
	return n, err
}
