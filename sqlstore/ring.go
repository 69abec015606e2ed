package sqlstore

import (
	"sort"
	"sync"
)

// The ring holds the newest changes in memory, one copy for all watchers. It
// is a suffix of history: every change after floor, whole transactions only.
// Appended by Tx.Commit, trimmed to its bounds at each append; what it no
// longer has is read from kv. Changes in it are shared and never modified.
type ring struct {
	maxBytes int

	mu sync.RWMutex
	// guarded by mu
	changes []*Change // in order of revision and sub
	first   int       // changes[:first] are gone
	bytes   int
	floor   int64 // all changes after this revision are here
}

// ringCount bounds the ring in changes, for changes that are tiny.
const ringCount = 20_000

// newRing makes an empty ring: history up to revision is in kv only.
func newRing(maxBytes int, revision int64) *ring {
	return &ring{maxBytes: maxBytes, floor: revision}
}

// cost is roughly what a change keeps in memory.
func (c *Change) cost() int {
	n := 400 + len(c.Key) + len(c.Value) + len(c.ManagedFields)
	if c.Prev != nil {
		n += len(c.Prev.Value) + len(c.Prev.ManagedFields)
	}
	return n
}

// append adds the changes of a commit and drops the oldest over the bounds.
func (r *ring) append(changes []*Change) {
	if len(changes) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range changes {
		r.changes = append(r.changes, c)
		r.bytes += c.cost()
	}
	for r.first < len(r.changes) && (r.bytes > r.maxBytes || len(r.changes)-r.first > ringCount) {
		r.floor = r.changes[r.first].ModRevision
		for r.first < len(r.changes) && r.changes[r.first].ModRevision == r.floor {
			r.bytes -= r.changes[r.first].cost()
			r.changes[r.first] = nil
			r.first++
		}
	}
	if r.first > len(r.changes)/2 { // move down: each change is moved once on average
		r.changes = append([]*Change(nil), r.changes[r.first:]...)
		r.first = 0
	}
}

// after returns the changes after a revision, at least limit of them when there
// are, and never a part of a transaction; ok is false when the ring does not reach back so far.
func (r *ring) after(revision int64, limit int) (changes []*Change, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if revision < r.floor {
		return nil, false
	}
	have := r.changes[r.first:]
	have = have[sort.Search(len(have), func(i int) bool { return have[i].ModRevision > revision }):]
	n := min(limit, len(have))
	for n > 0 && n < len(have) && have[n].ModRevision == have[n-1].ModRevision {
		n++
	}
	return append([]*Change(nil), have[:n]...), true
}
