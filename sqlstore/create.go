package sqlstore

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jmoiron/sqlx"
)

// Creating the file. Nobody has written anything to it yet, so nothing is
// synced on the way, which would take longer than all the rest of a first start.
// The end is synced: the file with its tables, and the directory with the file's name. From
// then on every COMMIT is.

// createFile makes an empty file a store.
func (s *Store) createFile(ctx context.Context, clusterID int64) error {
	_, err := s.writer.c.ExecContext(ctx, `PRAGMA synchronous = OFF; PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL`)
	if err != nil {
		return err
	}
	if err := create(ctx, s.writer.c, clusterID); err != nil || s.faults.NoSync {
		return err
	}
	if _, err := s.writer.c.ExecContext(ctx, `PRAGMA synchronous = FULL`); err != nil {
		return err
	}
	var busy, frames, copied int64 // copies the tables from the WAL into the file, and syncs both
	if err := s.writer.get(`PRAGMA wal_checkpoint(TRUNCATE)`, nil, &busy, &frames, &copied); err != nil {
		return err
	}
	if busy != 0 {
		return newError(CodeBusy, "another process reads the new file; try again")
	}
	return syncDirectory(filepath.Dir(s.path))
}

// syncDirectory makes the names in a directory durable.
func syncDirectory(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
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
