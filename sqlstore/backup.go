package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
)

// Copies of the file. A copy is made through SQLite's backup API and never by
// reading cluster.db: the newest commits are in the WAL, and closing a
// descriptor of the file would drop SQLite's locks (see lock.go).

// backuper is what the driver's connections can do.
type backuper interface {
	NewBackup(dst string) (*sqlite.Backup, error)
}

// Backup copies the whole file as of one moment to dst, which must not exist.
// Writes go on meanwhile; the copy is one snapshot, so it holds the WAL until it is done.
func (s *Store) Backup(ctx context.Context, dst string) error {
	doing := "copy database to " + dst
	f, err := os.OpenFile(dst, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return newError(CodeExists, "%s: the file exists already; choose another name", doing)
	}
	if err != nil {
		return &Error{CodeOpen, doing, err}
	}
	if err := f.Close(); err != nil {
		return &Error{CodeOpen, doing, err}
	}
	if err := s.copyTo(ctx, dst); err != nil {
		_ = os.Remove(dst) // half a copy would look like a whole one
		return wrap(doing, err)
	}
	return nil
}

// copyTo runs the backup on a connection of its own.
func (s *Store) copyTo(ctx context.Context, dst string) error {
	c, err := s.rdb.Connx(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Raw(func(driverConn any) error {
		b, ok := driverConn.(backuper)
		if !ok {
			return fmt.Errorf("the driver %T cannot make backups", driverConn)
		}
		backup, err := b.NewBackup(dsn(dst, 0, "rw"))
		if err != nil {
			return err
		}
		_, err = backup.Step(-1) // all pages in one read transaction
		return errors.Join(err, backup.Finish())
	})
}
