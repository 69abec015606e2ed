package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// The store while it is open: what is kept in memory, who may touch it, and the end of it.

// Store is an open cluster.db.
type Store struct {
	path   string
	log    *slog.Logger
	lock   *os.File
	faults Faults

	walWarning int64 // bytes

	wdb   *sqlx.DB // holds the writer's connection
	rdb   *sqlx.DB // read-only connections, those of pool among them
	pool  *pool
	views *sqlx.DB // read-only connections of Reader

	revision atomic.Int64 // = state.revision, for readers without the lock
	compact  atomic.Int64 // = state.compact
	swept    atomic.Int64 // the compact_revision for which nothing is left to delete

	ring     *ring
	resource *resources
	wake     *broadcast

	write sync.Mutex // held by a Tx and by the sweep: one writer at a time
	// guarded by write
	writer *conn
	state  state
	closed bool
}

// state is what the writer knows of the counters; a Tx works on a copy that
// replaces it at commit.
type state struct {
	revision int64  // store.current_revision
	compact  int64  // store.compact_revision
	lastID   int64  // store.last_id
	applied  uint64 // raft_state.applied_index
}

// Path is the file's name.
func (s *Store) Path() string { return s.path }

// Revision is the newest revision that is committed.
func (s *Store) Revision() int64 { return s.revision.Load() }

// CompactRevision is the revision below which history is refused.
func (s *Store) CompactRevision() int64 { return s.compact.Load() }

// Applied is the raft index up to which the key space holds the log.
func (s *Store) Applied() uint64 {
	s.write.Lock()
	defer s.write.Unlock()
	return s.state.applied
}

// ClusterID is the number that names the cluster.
func (s *Store) ClusterID(ctx context.Context) (id int64, err error) {
	err = s.query(ctx, "read cluster id", func(c *conn) error { return c.get(`SELECT cluster_id FROM store`, nil, &id) })
	return id, err
}

// Reader is a pool of a few read-only connections, for the views. Who holds
// one must not wait for another.
func (s *Store) Reader() *sqlx.DB { return s.views }

// Close waits for the transaction that is under way, wakes all waiters with
// CodeClosed and gives the file up. The last connection that closes
// checkpoints the WAL.
func (s *Store) Close() error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.wake.close()
	s.pool.close() // waits for the reads that are under way
	return s.closeAll()
}

// closeAll closes what open opened, the lock last.
func (s *Store) closeAll() error {
	var errs []error
	for _, db := range []*sqlx.DB{s.rdb, s.views} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.writer != nil {
		errs = append(errs, s.writer.close())
	}
	if s.wdb != nil {
		errs = append(errs, s.wdb.Close())
	}
	errs = append(errs, s.lock.Close())
	return errors.Join(errs...)
}
