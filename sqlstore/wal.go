package sqlstore

import "os"

// The WAL. Commits go to cluster.db-wal; every 4,000 pages SQLite copies them
// into cluster.db and begins the WAL anew. It cannot do so while some reader's snapshot still
// needs it, so a reader that never ends makes the WAL grow without bound. The
// store's own readers end soon; for a foreign one there is only a warning.
//
// The commit that fills the WAL makes the copy, some tens of milliseconds once in a few
// hundred writes. A goroutine that does it beside the writer was tried and was slower for all: the two
// wait for each other's fsync.

// WALSize is the size of the WAL in bytes.
func (s *Store) WALSize() int64 {
	info, err := os.Stat(s.path + "-wal") // Stat opens no descriptor
	if err != nil {
		return 0
	}
	return info.Size()
}

// WatchWAL warns when the WAL does not get smaller.
func (s *Store) WatchWAL() {
	if size := s.WALSize(); size > s.walWarning {
		s.log.Warn("another process reads cluster.db in one long transaction, so the WAL cannot shrink; end that process", "wal_bytes", size, "path", s.path+"-wal")
	}
}
