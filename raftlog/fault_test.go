package raftlog

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// A commit that fails: nobody is told that it worked, nothing of it is there, and the next one works, in this life and the next.
func TestAFailedCommitIsForgotten(t *testing.T) {
	broken := errors.New("the disk is on fire")
	var fail bool // written and read by the loop's turn and by this test in between
	var mu sync.Mutex
	s := storetest.OpenWith(t, sqlstore.Options{Faults: &sqlstore.Faults{BeforeCommit: func() error {
		mu.Lock()
		defer mu.Unlock()
		if fail {
			return broken
		}
		return nil
	}}})
	set := func(to bool) { mu.Lock(); fail = to; mu.Unlock() }
	n := start(t, s, Options{})
	for i := range 5 {
		set(true)
		_, err := n.Propose(t.Context(), put("lost", fmt.Sprint(i)))
		if !errors.Is(err, broken) {
			t.Fatalf("a failed commit answered %v", err)
		}
		set(false)
		res, err := n.Propose(t.Context(), put("kept", fmt.Sprint(i)))
		must(t, err)
		if want := int64(i + 2); res.Revision != want {
			t.Errorf("revision %d, want %d", res.Revision, want)
		}
	}
	if _, ok, err := s.Get(t.Context(), "lost", 0); ok || err != nil {
		t.Errorf("what failed is there (%v)", err)
	}
	must(t, n.Stop())
	start(t, s, Options{})
}

func TestAFullDiskIsSaidAndSurvived(t *testing.T) {
	s := storetest.OpenWith(t, sqlstore.Options{Faults: &sqlstore.Faults{MaxPages: 120}})
	n := start(t, s, Options{})
	acked := 0
	for {
		_, err := n.Propose(t.Context(), put(fmt.Sprint("big", acked), strings.Repeat("x", 30_000)))
		if err != nil {
			wantCode(t, err, sqlstore.CodeFull)
			break
		}
		if acked++; acked > 100 {
			t.Fatal("the disk never filled")
		}
	}
	_, err := n.Propose(t.Context(), put("small", "x"))
	must(t, err)
	count, err := s.Count(t.Context(), "big", sqlstore.PrefixEnd("big"))
	must(t, err)
	if int(count) != acked {
		t.Errorf("%d objects, %d were acknowledged", count, acked)
	}
}
