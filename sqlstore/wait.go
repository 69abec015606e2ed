package sqlstore

import (
	"context"
	"sync"
)

// Waiting for a revision. A broadcast is a channel that is closed at every
// commit and replaced by a new one: any number of watchers wait on it without
// being known to the writer, and none can be missed, since a waiter takes the channel
// before it looks at the revision.

type broadcast struct {
	closed chan struct{} // closed with the store

	mu sync.Mutex
	// guarded by mu
	next chan struct{}
}

func newBroadcast() *broadcast {
	return &broadcast{closed: make(chan struct{}), next: make(chan struct{})}
}

// wait is closed at the next send.
func (b *broadcast) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// send wakes all who wait.
func (b *broadcast) send() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}

// close ends all waiting for good.
func (b *broadcast) close() { close(b.closed) }

// Wait returns when there is a revision above after, at once when there is already.
func (s *Store) Wait(ctx context.Context, after int64) error {
	for {
		next := s.wake.wait()
		if s.Revision() > after {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake.closed:
			return newError(CodeClosed, "wait for revision: the store is closed")
		}
	}
}
