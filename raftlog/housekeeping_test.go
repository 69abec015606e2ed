package raftlog

import (
	"fmt"
	"testing"
	"time"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// clock is moved by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestLeasesExpireThroughTheLog(t *testing.T) {
	s, c := storetest.Open(t), &clock{time.Unix(100, 0)}
	n := start(t, s, Options{Clock: c})
	_, err := n.Propose(t.Context(), &sqlstore.Command{LeaseGrant: &sqlstore.LeaseGrant{ID: 7, TTL: 10, At: c.now.UnixNano()}})
	must(t, err)
	cmd := put("event", "x")
	cmd.Txn.Then[0].Lease = 7
	_, err = n.Propose(t.Context(), cmd)
	must(t, err)
	c.now = c.now.Add(9 * time.Second)
	must(t, n.ExpireLeases(t.Context()))
	if _, ok, _ := s.Get(t.Context(), "event", 0); !ok {
		t.Error("the key is gone before its time")
	}
	c.now = c.now.Add(time.Second)
	must(t, n.ExpireLeases(t.Context()))
	if _, ok, _ := s.Get(t.Context(), "event", 0); ok {
		t.Error("the key outlives its lease")
	}
	if got := rows(t, s, `SELECT op FROM raft_log ORDER BY idx DESC LIMIT 1`); got != "lease expire" {
		t.Errorf("the log ends with %s", got)
	}
	if got := rows(t, s, `SELECT user || ' ' || agent || ' ' || verb FROM request ORDER BY id DESC LIMIT 1`); got != "system:apiserver lease expire" {
		t.Errorf("the deletion was asked for by %s", got)
	}
	must(t, n.ExpireLeases(t.Context())) // nothing is due any more
}

func TestHistoryIsCompactedByItself(t *testing.T) {
	s := storetest.Open(t)
	n := start(t, s, Options{RetainRevisions: 50, HouseInterval: time.Millisecond})
	for i := range 200 {
		_, err := n.Propose(t.Context(), put("a", fmt.Sprint(i)))
		must(t, err)
	}
	swept := func() (done bool) {
		must(t, s.Reader().Get(&done, `SELECT compact_revision >= 145 AND kv_revision = compact_revision AND request_revision = kv_revision FROM store, sweep`))
		return done
	}
	for deadline := time.Now().Add(20 * time.Second); !swept(); {
		if time.Now().After(deadline) {
			t.Fatalf("not compacted: compact_revision %d, revision %d", s.CompactRevision(), s.Revision())
		}
	}
	must(t, n.Stop())
	var kept int64
	must(t, s.Reader().Get(&kept, `SELECT count(*) FROM kv`))
	if want := s.Revision() - s.CompactRevision() + 1; kept != want {
		t.Errorf("%d rows are left, want %d", kept, want)
	}
}
