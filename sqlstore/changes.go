package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// Changes is how a watcher moves on. A watcher is a revision: it asks for the
// changes after it, deals with them, remembers the revision of the last one, and calls
// Wait when there were none. New changes come from the ring, older ones from kv,
// so a slow watcher costs nothing and misses nothing until compaction overtakes it.

// errEnough ends a scan early.
var errEnough = errors.New("enough rows")

// Changes returns changes with a revision above after, in order, all of a
// revision or none of it; limit (1,000 when 0) may be exceeded to that end. Below
// compact_revision the answer is CodeCompacted: the watcher must list again.
func (s *Store) Changes(ctx context.Context, after int64, limit int) ([]*Change, error) {
	if limit <= 0 {
		limit = 1000
	}
	if after < s.CompactRevision() {
		return nil, compactedError(after, s.CompactRevision())
	}
	if changes, ok := s.ring.after(after, limit); ok {
		return changes, nil
	}
	var changes []*Change
	err := s.read(ctx, "read changes", func(c *conn) (err error) {
		changes, err = s.changes(ctx, c, after, limit)
		return err
	})
	return changes, err
}

// changes reads from kv, each row with the one it replaced.
func (s *Store) changes(ctx context.Context, c *conn, after int64, limit int) (changes []*Change, err error) {
	var compact int64
	if err := c.get(`SELECT compact_revision FROM store`, nil, &compact); err != nil {
		return nil, err
	}
	if after < compact { // it was not yet when Changes looked
		return nil, compactedError(after, compact)
	}
	err = c.each(`
		SELECT kv.id, kv.mod_revision, kv.sub, kv.key, kv.create_revision, kv.version, kv.lease,
		       kv.value, kv.managed_fields, kv.prev_id, kv.request_id,
		       p.id, p.mod_revision, p.sub, p.create_revision, p.version, p.lease,
		       p.value, p.managed_fields, p.prev_id, p.request_id
		FROM kv LEFT JOIN kv AS p ON p.id = kv.prev_id
		WHERE kv.mod_revision > ? ORDER BY kv.mod_revision, kv.sub`, []any{after}, func(rows *sql.Rows) error {
		ch, p := &Change{}, &KV{}
		var nums [8]sql.NullInt64
		err := scanMore(rows, &ch.KV, &nums[0], &nums[1], &nums[2], &nums[3], &nums[4], &nums[5], (*content)(&p.Value), (*content)(&p.ManagedFields), &nums[6], &nums[7])
		if err != nil {
			return err
		}
		if n := len(changes); n >= limit && changes[n-1].ModRevision != ch.ModRevision {
			return errEnough
		}
		if nums[0].Valid {
			p.ID, p.ModRevision, p.Sub, p.Key = nums[0].Int64, nums[1].Int64, nums[2].Int64, ch.Key
			p.CreateRevision, p.Version, p.Lease = nums[3].Int64, nums[4].Int64, nums[5].Int64
			p.PrevID, p.RequestID = nums[6].Int64, nums[7].Int64
			ch.Prev = p
		}
		ch.Object = s.objectOf(ch)
		changes = append(changes, ch)
		return ctx.Err()
	})
	return changes, ignoreEnough(err)
}

// objectOf finds out what a change of the past was about.
func (s *Store) objectOf(ch *Change) ObjectRef {
	o := s.resource.of(ch.Key)
	if o.Resource == "" {
		return o
	}
	value := ch.Value
	if ch.Version == 0 && ch.Prev != nil {
		value = ch.Prev.Value
	}
	o.UID = uidOf(value)
	return o
}

// compactedError says what a watcher or reader of the past must do.
func compactedError(revision, compact int64) *Error {
	return newError(CodeCompacted, "revision %d is compacted, history begins at %d; list again", revision, compact)
}
