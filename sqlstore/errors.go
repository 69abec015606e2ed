package sqlstore

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Code says what kind of failure an Error is. The API chooses the HTTP
// status from it, in one place.
type Code string

// The codes.
const (
	CodeCompacted Code = "compacted" // the revision asked for is below compact_revision: 410
	CodeFuture    Code = "future"    // the revision asked for has not happened yet
	CodeNotFound  Code = "not found" // no such lease, or no such row any more
	CodeExists    Code = "exists"    // the lease exists already
	CodeInvalid   Code = "invalid"   // a command or a query that makes no sense
	CodeBusy      Code = "busy"      // another process holds the file past busy_timeout: 503 with Retry-After
	CodeFull      Code = "disk full" // SQLITE_FULL: 507-like, answered as 503; nothing was acknowledged
	CodeCorrupt   Code = "corrupt"   // SQLITE_CORRUPT or SQLITE_NOTADB
	CodeForeign   Code = "foreign"   // a SQLite file, but not kuberow's
	CodeNewer     Code = "newer"     // a schema newer than this binary knows
	CodeLocked    Code = "locked"    // another server has the data directory
	CodeOpen      Code = "open"      // the file or its directory cannot be opened
	CodeClosed    Code = "closed"    // the store was closed
	CodeTooLarge  Code = "too large" // a command over the limit
	CodeInternal  Code = "internal"  // anything else
)

// Error is the one error type of the store. Message says what to do about it.
type Error struct {
	Code    Code
	Message string
	Err     error // the cause, if any
}

// Error joins message and cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf gives the code of the first Error in err's chain, "" when there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// newError makes an Error without a cause.
func newError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// wrap turns what SQLite returned into an Error whose code comes from
// SQLite's result code, never from its text. doing is "verb object".
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) {
		return &Error{Code: e.Code, Message: doing, Err: err}
	}
	e := &Error{Code: CodeInternal, Message: doing, Err: err}
	switch resultClass(err) {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		e.Code, e.Message = CodeBusy, doing+": another process holds a lock on cluster.db; try again, or end that process's transaction"
	case sqlite3.SQLITE_FULL:
		e.Code, e.Message = CodeFull, doing+": no space left for cluster.db; free some, the write was not made"
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		e.Code, e.Message = CodeCorrupt, doing+": cluster.db is damaged; stop the server and restore a snapshot"
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY:
		e.Code, e.Message = CodeOpen, doing+": cluster.db cannot be opened for writing; check that it and its directory belong to this user"
	}
	return e
}

// resultClass is SQLite's primary result code, the low byte of the extended
// one; 0 when err is not SQLite's.
func resultClass(err error) int {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return 0
	}
	return se.Code() & 0xff
}
