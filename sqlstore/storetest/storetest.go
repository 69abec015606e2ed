// Package storetest opens a real store for a test and checks its file at the end.
//
// Purpose: every test that opens a store ends with the invariants that `kuberow
// check` runs, whatever else it was about. Why this shape: a helper with a
// Cleanup cannot be forgotten. The hardest part: on a failure the
// database is what one wants to look at, so it is kept outside of the test's
// own directory and its path is printed. Nothing can be lost: the files are the test's.
package storetest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"kuberow/sqlstore"
)

// Open opens a new store that lasts as long as the test.
func Open(t testing.TB) *sqlstore.Store {
	t.Helper()
	return OpenWith(t, sqlstore.Options{})
}

// OpenWith is Open with options; an empty Path is a new file. Except in a
// benchmark the file is not synced, which makes tests several times faster
// and only matters to a machine that loses power.
func OpenWith(t testing.TB, o sqlstore.Options) *sqlstore.Store {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(Dir(t), "cluster.db")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.ClusterID == 0 {
		o.ClusterID = 1
	}
	if _, bench := t.(*testing.B); !bench {
		faults := sqlstore.Faults{}
		if o.Faults != nil {
			faults = *o.Faults
		}
		faults.NoSync = true
		o.Faults = &faults
	}
	s, err := sqlstore.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		Check(t, s)
		if err := s.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	return s
}

// Check fails the test when the store's file breaks an invariant. A store
// that the test has closed is opened again for it.
func Check(t testing.TB, s *sqlstore.Store) {
	t.Helper()
	ctx := t.Context()
	if ctx.Err() != nil { // in a Cleanup the test's own context has ended
		ctx = context.Background()
	}
	problems, err := s.CheckFile(ctx)
	if sqlstore.CodeOf(err) == sqlstore.CodeClosed {
		again, openErr := sqlstore.Open(ctx, sqlstore.Options{Path: s.Path()})
		if openErr != nil {
			t.Errorf("open store again to check it: %v", openErr)
			return
		}
		defer again.Close()
		problems, err = again.CheckFile(ctx)
	}
	if err != nil {
		t.Errorf("check store: %v", err)
	}
	for _, p := range problems {
		t.Errorf("check store: %s", p)
	}
}

// Dir is a directory that is removed at the end of a test that passed and
// kept, and named, when it failed.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kuberow-store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the database is kept: %s", filepath.Join(dir, "cluster.db"))
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}
