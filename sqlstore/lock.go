package sqlstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// One server per file. The lock is a flock on a file of its own next to the
// database, never on the database: closing any descriptor of cluster.db that
// SQLite did not open would drop SQLite's POSIX locks, and then another
// process that closes the file deletes the WAL under the server. The kernel
// releases a flock when its holder dies, so there is nothing to clean up after a crash.

// lockFile names the lock of the database at path: cluster.lock for cluster.db.
func lockFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".lock"
}

// takeLock locks name or says who has it. The holder's pid is in the file
// for that message only.
func takeLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &Error{CodeOpen, fmt.Sprintf("open lock file %s: check that its directory belongs to this user", name), err}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &Error{CodeOpen, "lock " + name, err}
		}
		var holder [32]byte
		n, _ := f.ReadAt(holder[:], 0)
		return nil, newError(CodeLocked, "another server (process %s) is running on %s; stop it, or choose another --data-dir",
			strings.TrimSpace(string(holder[:n])), filepath.Dir(name))
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}
