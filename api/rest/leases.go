package rest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"kuberow/sqlstore"
)

// Objects that live for a while only (events) are put under a lease, as a real
// API server does in etcd. One lease serves all that is written within a
// minute, so that the log does not fill with grants; it lives that much longer.
type leases struct {
	rest *REST

	mu    sync.Mutex
	id    int64
	ttl   time.Duration
	until time.Time // objects written before this may use id
}

const leaseReuse = time.Minute

// forTTL gives a lease that lasts at least ttl from now.
func (l *leases) forTTL(ctx context.Context, ttl time.Duration, now time.Time) (int64, error) {
	if ttl <= 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id != 0 && l.ttl == ttl && now.Before(l.until) {
		return l.id, nil
	}
	at := l.rest.Clock()
	res, err := l.rest.Proposer.Propose(ctx, &sqlstore.Command{
		Request:    sqlstore.Request{At: at.UnixNano(), User: "system:apiserver", Verb: "lease"},
		LeaseGrant: &sqlstore.LeaseGrant{TTL: int64((ttl + leaseReuse) / time.Second), At: at.UnixNano()},
	})
	if err == nil {
		err = res.Err
	}
	if err != nil {
		return 0, fmt.Errorf("grant lease of %s: %w", ttl, err)
	}
	l.id, l.ttl, l.until = res.LeaseID, ttl, now.Add(leaseReuse)
	return l.id, nil
}

// forget drops a lease that somebody revoked before its time; the next write grants another.
func (l *leases) forget(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.id == id {
		l.id = 0
	}
}
