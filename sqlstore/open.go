package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
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
	WALWarning  int64         // a WAL of more bytes is worth a warning; 64 MB when 0
	Faults      *Faults       // test seams
}

// Faults are seams for tests: what may happen at each step of durability.
type Faults struct {
	BeforeCommit func() error // runs before COMMIT; an error makes the commit fail
	AfterCommit  func()       // runs after COMMIT, before anybody learns of it
	MaxPages     int64        // PRAGMA max_page_count: a disk that is full
	NoSync       bool         // PRAGMA synchronous = OFF: for tests, which no power cut hits; a killed process loses nothing
}

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
	if o.WALWarning == 0 {
		o.WALWarning = 64 << 20
	}
	if err := prepareFile(o.Path); err != nil {
		return nil, err
	}
	lock, err := takeLock(lockFile(o.Path))
	if err != nil {
		return nil, err
	}
	s := &Store{path: o.Path, log: o.Logger, lock: lock, walWarning: o.WALWarning, pool: newPool(), wake: newBroadcast()}
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
		if err := s.createFile(ctx, o.ClusterID); err != nil {
			return wrap("create database "+s.path, err)
		}
	}
	if err := s.setPragmas(ctx); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return wrap("read database "+s.path, err)
	}
	s.ring = newRing(o.RingBytes, s.state.revision)
	// Two sets of reading connections: a View of a controller lasts for a whole
	// step, and must not keep the store's own short reads waiting.
	for _, db := range []**sqlx.DB{&s.rdb, &s.views} {
		if *db, err = sqlx.Open("sqlite", dsn(s.path, o.BusyTimeout, "ro", "query_only(1)", "cache_size(-2000)")); err != nil {
			return wrap("open database for reading", err)
		}
		(*db).SetMaxIdleConns(readers)     // kept through a burst: a new one parses all views
		(*db).SetConnMaxIdleTime(idleTime) // and given back after it
	}
	s.views.SetMaxOpenConns(readers)
	return nil
}

// setPragmas sets what holds for the connection (the WAL mode: for the file).
// A checkpoint each 4,000 pages keeps the WAL near 16 MB; after a burst it is cut back to 32 MB.
func (s *Store) setPragmas(ctx context.Context) error {
	sync := "FULL"
	if s.faults.NoSync {
		sync = "OFF"
	}
	pragmas := `PRAGMA synchronous = ` + sync + `; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
		PRAGMA cache_size = -8000; PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 33554432;`
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
	err = c.GetContext(ctx, &tables, `SELECT count(*) FROM sqlite_schema`)
	if err == nil {
		err = c.GetContext(ctx, &app, `PRAGMA application_id`)
	}
	if err == nil {
		err = c.GetContext(ctx, &version, `PRAGMA user_version`)
	}
	switch {
	case resultClass(err) == sqlite3.SQLITE_NOTADB:
		return false, &Error{CodeForeign, fmt.Sprintf("%s is not a SQLite database, or its first page is damaged; move it away or choose another --data-dir", path), err}
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
