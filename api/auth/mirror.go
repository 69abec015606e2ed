package auth

// A Mirror keeps some key ranges of the store in the form that its owner
// wants, at the store's revision. Whoever asks first brings it up to date: the
// changes since the last time are read (they are in memory) and those of the
// ranges handed to the owner. So an answer always counts every write that was
// acknowledged before the question, there is no goroutine, and there is
// nothing to invalidate.
//
//	Sync         brings it up to the revision of now; afterwards, under RLock, the owner reads
//	owner.reset  forget everything: a load follows
//	owner.put    one row as it is now; Version 0 means gone
//
// reset and put are called under the write lock.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"kuberow/sqlstore"
)

// Source is the part of the store that a Mirror reads; *sqlstore.Store is one.
type Source interface {
	Revision() int64
	Range(ctx context.Context, q sqlstore.Query) (sqlstore.Page, error)
	Changes(ctx context.Context, after int64, limit int) ([]*sqlstore.Change, error)
}

// Owner receives what a Mirror reads.
type Owner interface {
	Reset()
	Put(kv *sqlstore.KV)
}

// Mirror follows the store.
type Mirror struct {
	sync.RWMutex // held for reading while the owner's data is read
	source       Source
	owner        Owner
	prefixes     []string
	revision     atomic.Int64 // what the owner has seen; -1 before the first load
}

// NewMirror reads nothing yet; the first Sync does.
func NewMirror(source Source, owner Owner, prefixes ...string) *Mirror {
	m := &Mirror{source: source, owner: owner, prefixes: prefixes}
	m.revision.Store(-1)
	return m
}

// Sync brings the mirror up to the store's revision as it was when Sync was called.
func (m *Mirror) Sync(ctx context.Context) error {
	want := m.source.Revision()
	if m.revision.Load() >= want {
		return nil
	}
	m.Lock()
	defer m.Unlock()
	if m.revision.Load() < 0 {
		return m.load(ctx)
	}
	for at := m.revision.Load(); at < want; {
		changes, err := m.source.Changes(ctx, at, 1000)
		if sqlstore.CodeOf(err) == sqlstore.CodeCompacted {
			return m.load(ctx)
		}
		if err != nil {
			return fmt.Errorf("follow the store: %w", err)
		}
		for _, c := range changes {
			if slices.ContainsFunc(m.prefixes, func(p string) bool { return strings.HasPrefix(c.Key, p) }) {
				m.owner.Put(&c.KV)
			}
		}
		if len(changes) == 0 {
			at = want
		} else {
			at = changes[len(changes)-1].ModRevision
		}
		m.revision.Store(at)
	}
	return nil
}

// load reads the ranges anew, all at one revision.
func (m *Mirror) load(ctx context.Context) error {
	m.owner.Reset()
	var revision int64
	for _, prefix := range m.prefixes {
		page, err := m.source.Range(ctx, sqlstore.Query{From: prefix, To: sqlstore.PrefixEnd(prefix), Revision: revision})
		if err != nil {
			m.revision.Store(-1)
			return fmt.Errorf("mirror %s: %w", prefix, err)
		}
		if revision == 0 {
			revision = page.Revision
		}
		for i := range page.Rows {
			m.owner.Put(&page.Rows[i])
		}
	}
	m.revision.Store(revision)
	return nil
}
