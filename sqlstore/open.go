package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
)

// Opening. The order matters: take the lock, so that nobody else is at it;
// look at the file without changing it, so that a foreign file stays as it is;
// then create the tables, in one transaction together with application_id
// and user_version, so that a crash leaves an empty file or a whole one; then
// the readers. The file is touched through SQLite only.

// Options say how to open a store. Path is required.
type Options struct {
	Path        string        // cluster.db; its directory is made when missing
	Logger      *slog.Logger  // slog.Default() when nil
	BusyTimeout time.Duration // how long a write waits for another process's transaction; 5 s when 0
	ClusterID   int64         // names a new cluster; random when 0
	RingBytes   int           // memory for the newest changes; 8 MB when 0
	Faults      *Faults       // test seams
}

// Faults are seams for tests: what may happen at each step of durability.
type Faults struct {
	BeforeCommit func() error // runs before COMMIT; an error makes the commit fail
	AfterCommit  func()       // runs after COMMIT, before anybody learns of it
	MaxPages     int64        // PRAGMA max_page_count: a disk that is full
}

// Store is an open cluster.db.
type Store struct {
	path   string
	log    *slog.Logger
	lock   *os.File
	faults Faults

	wdb  *sqlx.DB // holds the writer's connection
	rdb  *sqlx.DB // read-only connections
	pool chan *conn

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

// readers is how many connections the store's own reads share; two cores
// make more of them pointless.
const readers = 4

// Open opens the store at o.Path, creating it when there is none.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.RingBytes == 0 {
		o.RingBytes = 8 << 20
	}
	if err := prepareFile(o.Path); err != nil {
		return nil, err
	}
	lock, err := takeLock(lockFile(o.Path))
	if err != nil {
		return nil, err
	}
	s := &Store{path: o.Path, log: o.Logger, lock: lock, pool: make(chan *conn, readers), wake: newBroadcast()}
	s.swept.Store(-1)
	if o.Faults != nil {
		s.faults = *o.Faults
	}
	if err := s.open(ctx, o); err != nil {
		_ = s.closeAll()
		return nil, err
	}
	return s, nil
}

// prepareFile makes the directory and, mode 0600, the empty file, since
// SQLite would give it the umask's mode; its WAL then inherits it. Only a
// file that did not exist is opened here: nobody can have locks on it yet.
func prepareFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &Error{CodeOpen, "create data directory: choose another --data-dir", err}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return f.Close()
	}
	info, statErr := os.Stat(path)
	switch {
	case statErr == nil && info.IsDir():
		return newError(CodeOpen, "open database %s: it is a directory; move it away or choose another --data-dir", path)
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return &Error{CodeOpen, "create database: check that the data directory belongs to this user", err}
}

// open does the work of Open; what it opened, closeAll closes.
func (s *Store) open(ctx context.Context, o Options) (err error) {
	if s.wdb, err = sqlx.Open("sqlite", dsn(s.path, o.BusyTimeout, "rw")); err != nil {
		return wrap("open database "+s.path, err)
	}
	s.wdb.SetMaxOpenConns(1)
	_, _ = sqlite.Fdatasync(true) // as distributions build SQLite: as durable as fsync, without waiting for timestamps
	if s.writer, err = newConn(s.wdb); err != nil {
		return wrap("open database "+s.path, err)
	}
	isNew, err := inspect(ctx, s.writer.c, s.path)
	if err != nil {
		return err
	}
	if isNew {
		if _, err := s.writer.c.ExecContext(ctx, `PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL`); err != nil {
			return wrap("create database "+s.path, err)
		}
	}
	if err := s.setPragmas(ctx); err != nil {
		return err
	}
	if isNew {
		if err := create(ctx, s.writer.c, o.ClusterID); err != nil {
			return wrap("create database "+s.path, err)
		}
	}
	if err := s.load(); err != nil {
		return wrap("read database "+s.path, err)
	}
	s.ring = newRing(o.RingBytes, s.state.revision)
	if s.rdb, err = sqlx.Open("sqlite", dsn(s.path, o.BusyTimeout, "ro", "query_only(1)", "cache_size(-4000)")); err != nil {
		return wrap("open database for reading", err)
	}
	s.rdb.SetMaxOpenConns(readers * 3)
	s.rdb.SetMaxIdleConns(readers)
	for range readers {
		s.pool <- nil // connected at first use: a start should not wait for four connections
	}
	return nil
}

// setPragmas sets what holds for the connection (the WAL mode: for the file).
// A checkpoint each 4,000 pages keeps the WAL near 16 MB; after a burst it is cut back to 32 MB.
func (s *Store) setPragmas(ctx context.Context) error {
	pragmas := `PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8000;
		PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432;`
	if s.faults.MaxPages > 0 {
		pragmas += fmt.Sprintf(`PRAGMA max_page_count = %d;`, s.faults.MaxPages)
	}
	if _, err := s.writer.c.ExecContext(ctx, pragmas); err != nil {
		return wrap("set pragmas of "+s.path, err)
	}
	return nil
}

// inspect says whether the file is empty, and refuses what is not ours. It
// only reads.
func inspect(ctx context.Context, c *sqlx.Conn, path string) (isNew bool, err error) {
	var app, version, tables int64
	err = errors.Join(
		c.GetContext(ctx, &tables, `SELECT count(*) FROM sqlite_schema`),
		c.GetContext(ctx, &app, `PRAGMA application_id`),
		c.GetContext(ctx, &version, `PRAGMA user_version`))
	switch {
	case CodeOf(wrap("", err)) == CodeCorrupt:
		return false, &Error{CodeForeign, fmt.Sprintf("%s is not a SQLite database, or a damaged one; move it away or choose another --data-dir", path), err}
	case err != nil:
		return false, wrap("read database "+path, err)
	case tables == 0 && app == 0:
		return true, nil
	case app != ApplicationID:
		return false, newError(CodeForeign, "%s is a SQLite database of another program (application_id %#x); choose another --data-dir", path, app)
	case version > SchemaVersion:
		return false, newError(CodeNewer, "%s has schema version %d, this kuberow knows %d; run the newer kuberow that wrote it", path, version, SchemaVersion)
	case version < SchemaVersion:
		return false, newError(CodeForeign, "%s has schema version %d, older than any release wrote; choose another --data-dir", path, version)
	}
	return false, nil
}

// create makes the tables and their single rows in one transaction.
func create(ctx context.Context, c *sqlx.Conn, clusterID int64) error {
	if clusterID == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:])
		clusterID = int64(binary.BigEndian.Uint64(b[:])>>1) | 1
	}
	tx, err := c.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, Schema+fmt.Sprintf(`
		PRAGMA application_id = %d;
		PRAGMA user_version = %d;
		INSERT INTO store (one, cluster_id, schema_version, current_revision, compact_revision, last_id) VALUES (1, %d, %d, 1, 0, 0);
		INSERT INTO raft_state (one, member_id, incarnation, term, vote, commit_index, applied_index, snapshot_index, snapshot_term, conf_state)
		VALUES (1, 1, 0, 0, 0, 0, 0, 0, 0, '{"voters":[1]}');
		INSERT INTO raft_member (id, name, peer_url, learner) VALUES (1, 'default', '', 0);
		INSERT INTO sweep (one, kv_revision, request_revision, request_cursor) VALUES (1, 0, 0, 0);`,
		ApplicationID, SchemaVersion, clusterID, SchemaVersion))
	if err != nil {
		return err
	}
	return tx.Commit()
}

// load reads the counters into memory.
func (s *Store) load() error {
	var st state
	err := s.writer.get(`SELECT current_revision, compact_revision, last_id, applied_index FROM store, raft_state`, nil,
		&st.revision, &st.compact, &st.lastID, &st.applied)
	if err != nil {
		return err
	}
	s.state = st
	s.revision.Store(st.revision)
	s.compact.Store(st.compact)
	s.resource, err = loadResources(s.writer)
	return err
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

// Reader is a pool of read-only connections, for the views.
func (s *Store) Reader() *sqlx.DB { return s.rdb }

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
	for range readers { // wait for the reads that are under way
		if c := <-s.pool; c != nil {
			_ = c.close()
		}
	}
	close(s.pool)
	return s.closeAll()
}

// closeAll closes what open opened, the lock last.
func (s *Store) closeAll() error {
	var errs []error
	if s.rdb != nil {
		errs = append(errs, s.rdb.Close())
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
