package sqlstore

import (
	"context"
	"database/sql"
)

// Get reads one key as it was at a revision; 0 means now. ok is false when
// the key did not live then.
func (s *Store) Get(ctx context.Context, key string, revision int64) (kv KV, ok bool, err error) {
	if revision == 0 {
		err = s.query(ctx, "read key "+key, func(c *conn) error {
			return c.each(`
				SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
				       kv.value, kv.managed_fields, kv.prev_id, kv.request_id
				FROM live JOIN kv ON kv.id = live.id WHERE live.key = ?`, []any{key}, takeOne(&kv, &ok))
		})
		return kv, ok, err
	}
	err = s.read(ctx, "read key "+key, func(c *conn) error {
		if err := readable(c, revision); err != nil {
			return err
		}
		return c.each(`
			SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
			       kv.value, kv.managed_fields, kv.prev_id, kv.request_id
			FROM kv WHERE kv.key = ? AND kv.mod_revision <= ? ORDER BY kv.mod_revision DESC LIMIT 1`,
			[]any{key, revision}, takeOne(&kv, &ok))
	})
	if ok && kv.Version == 0 {
		return KV{}, false, err
	}
	return kv, ok, err
}

// GetRow reads a row of kv by its id, tombstones too; CodeNotFound when
// compaction has deleted it or it never was.
func (s *Store) GetRow(ctx context.Context, id int64) (kv KV, err error) {
	ok := false
	err = s.query(ctx, "read row", func(c *conn) error {
		return c.each(`
			SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
			       kv.value, kv.managed_fields, kv.prev_id, kv.request_id
			FROM kv WHERE kv.id = ?`, []any{id}, takeOne(&kv, &ok))
	})
	if err == nil && !ok {
		err = newError(CodeNotFound, "read row %d: there is no such row, or it is compacted", id)
	}
	return kv, err
}

// takeOne scans a row into kv and says so.
func takeOne(kv *KV, ok *bool) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		*ok = true
		return scanKV(rows, kv)
	}
}

// readable says whether the past can be read at a revision, in c's snapshot.
func readable(c *conn, revision int64) error {
	var current, compact int64
	if err := c.get(`SELECT current_revision, compact_revision FROM store`, nil, &current, &compact); err != nil {
		return err
	}
	return inHistory(revision, current, compact)
}

// inHistory checks a revision that somebody asked for.
func inHistory(revision, current, compact int64) error {
	switch {
	case revision > current:
		return newError(CodeFuture, "revision %d has not happened yet, the newest is %d", revision, current)
	case revision < compact:
		return compactedError(revision, compact)
	}
	return nil
}
