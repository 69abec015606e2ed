package sqlstore

import (
	"errors"
	"fmt"
)

// Code says what kind of failure an Error is. The API chooses the HTTP
// status from it, in one place.
type Code string

// The codes.
const (
	CodeCompacted Code = "compacted" // the revision asked for is below compact_revision: 410
	CodeFuture    Code = "future"    // the revision asked for has not happened yet
	CodeNotFound  Code = "not found" // no such lease
	CodeExists    Code = "exists"    // the lease exists already
	CodeBusy      Code = "busy"      // another process holds the file past busy_timeout: 503 with Retry-After
	CodeFull      Code = "disk full" // SQLITE_FULL: 507-like, answered as 503; nothing was acknowledged
	CodeCorrupt   Code = "corrupt"   // SQLITE_CORRUPT or SQLITE_NOTADB
	CodeForeign   Code = "foreign"   // a SQLite file, but not kuberow's
	CodeNewer     Code = "newer"     // a schema newer than this binary knows
	CodeLocked    Code = "locked"    // another server has the data directory
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
