package sqlstore

import (
	"context"
	"database/sql"
	"errors"
)

// The sweep deletes what compaction gave up, a few rows at a time between
// the commits of the log, so that no write waits long. It is each member's own
// work and needs no agreement: nobody may read what it deletes.
//
// kv first, upward. A row is in the way when the next row of its key is at or
// below compact_revision too; that next row names it in prev_id. So the pass looks at
// the rows between where it stopped and compact_revision, and deletes what each
// one replaced; a tombstone goes as well. What stays at or below compact_revision
// is what a read at exactly compact_revision would see.
//
// Then request, downward. A request must stay while a row it wrote is there, while a
// key it created lives, or while a request that it caused is there. Causes are
// older than their effects, so on the way from new to old the effects have
// been decided before their cause is looked at: one pass deletes whole chains.

// SweepDone is what StepCompaction answers when nothing is left to delete.
const SweepDone = 0

// sweepState is the row of sweep.
type sweepState struct {
	kv, request, cursor int64
}

// StepCompaction looks at up to limit old rows, deletes what compaction
// allows, and says how many it looked at: SweepDone when all is done.
func (s *Store) StepCompaction(ctx context.Context, limit int) (int, error) {
	if s.swept.Load() == s.CompactRevision() { // the usual case takes no lock
		return SweepDone, nil
	}
	tx, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	var sw sweepState
	err = s.writer.get(`SELECT kv_revision, request_revision, request_cursor FROM sweep`, nil, &sw.kv, &sw.request, &sw.cursor)
	if err != nil {
		return 0, wrap("read sweep", err)
	}
	n := 0
	switch {
	case sw.kv < tx.st.compact:
		n, err = tx.sweepKV(&sw, limit)
	case sw.request < sw.kv:
		n, err = tx.sweepRequests(&sw, limit)
	default:
		s.swept.Store(tx.st.compact)
		return SweepDone, nil
	}
	if err != nil {
		return 0, wrap("delete compacted rows", err)
	}
	err = s.writer.exec(`UPDATE sweep SET kv_revision = ?, request_revision = ?, request_cursor = ?`, sw.kv, sw.request, sw.cursor)
	if err != nil {
		return 0, wrap("write sweep", err)
	}
	if err := tx.shrink(); err != nil {
		return 0, wrap("shrink file", err)
	}
	return n + 1, tx.Commit()
}

// sweepKV deletes what the next rows replaced.
func (tx *Tx) sweepKV(sw *sweepState, limit int) (n int, err error) {
	type candidate struct{ id, revision, version, prev int64 }
	var rows []candidate
	w := tx.s.writer
	err = w.each(`SELECT id, mod_revision, version, prev_id FROM kv WHERE mod_revision > ? AND mod_revision <= ? ORDER BY mod_revision, sub`,
		[]any{sw.kv, tx.st.compact}, func(r *sql.Rows) error {
			var c candidate
			if err := r.Scan(&c.id, &c.revision, &c.version, &c.prev); err != nil {
				return err
			}
			if len(rows) >= limit && rows[len(rows)-1].revision != c.revision {
				return errEnough
			}
			rows = append(rows, c)
			return nil
		})
	full := errors.Is(err, errEnough)
	if err != nil && !full {
		return 0, err
	}
	for _, c := range rows {
		if c.prev != 0 {
			if err := w.exec(`DELETE FROM kv WHERE id = ?`, c.prev); err != nil {
				return 0, err
			}
		}
		if c.version == 0 {
			if err := w.exec(`DELETE FROM kv WHERE id = ?`, c.id); err != nil {
				return 0, err
			}
		}
	}
	sw.kv, sw.cursor = tx.st.compact, 0 // there are more requests to look at: that pass begins anew
	if full {
		sw.kv = rows[len(rows)-1].revision
	}
	return len(rows), nil
}

// sweepRequests deletes requests that nothing can reach any more, below the cursor.
func (tx *Tx) sweepRequests(sw *sweepState, limit int) (n int, err error) {
	w := tx.s.writer
	if sw.cursor == 0 {
		sw.cursor = sw.kv + 1
	}
	last := int64(0)
	err = w.each(`SELECT revision FROM request WHERE revision < ? ORDER BY revision DESC LIMIT ?`, []any{sw.cursor, limit}, func(r *sql.Rows) error {
		n++
		return r.Scan(&last)
	})
	if err != nil {
		return 0, err
	}
	if n == 0 {
		sw.request, sw.cursor = sw.kv, 0
		return 0, nil
	}
	// One by one and from new to old, as a deletion may free the next one.
	for next := sw.cursor; next > last; {
		var id int64
		if err := w.get(`SELECT id, revision FROM request WHERE revision < ? ORDER BY revision DESC LIMIT 1`, []any{next}, &id, &next); err != nil {
			return 0, err
		}
		err := w.exec(`
			DELETE FROM request WHERE id = ?1
			AND NOT EXISTS (SELECT 1 FROM kv WHERE mod_revision = ?2)
			AND NOT EXISTS (SELECT 1 FROM live WHERE create_request_id = ?1)
			AND NOT EXISTS (SELECT 1 FROM request AS effect WHERE effect.cause_revision = ?2 AND effect.cause_revision <> 0)`, id, next)
		if err != nil {
			return 0, err
		}
	}
	sw.cursor = last
	return n, nil
}

// shrink gives free pages back to the file system when they are many: more
// than a quarter of the file and 4 MB. What remains free is used again by the next rows.
func (tx *Tx) shrink() error {
	var free, all int64
	if err := tx.s.writer.get(`SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count`, nil, &free, &all); err != nil {
		return err
	}
	if free < 1024 || free < all/4 {
		return nil
	}
	return tx.s.writer.each(`PRAGMA incremental_vacuum(200)`, nil, func(*sql.Rows) error { return nil })
}
