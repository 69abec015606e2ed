package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// eachSource opens a store whose ring holds everything, or next to nothing: then history comes from kv. Both must answer alike.
func eachSource(t *testing.T, test func(t *testing.T, d *db)) {
	for name, bytes := range map[string]int{"from memory": 1 << 20, "from rows": 1} {
		t.Run(name, func(t *testing.T) {
			test(t, &db{Store: storetest.OpenWith(t, sqlstore.Options{RingBytes: bytes}), t: t})
		})
	}
}

func (d *db) changes(after int64, limit int) []string {
	d.t.Helper()
	changes, err := d.Changes(d.t.Context(), after, limit)
	if err != nil {
		d.t.Fatal(err)
	}
	out := []string{}
	for _, c := range changes {
		prev := "none"
		if c.Prev != nil {
			prev = show(*c.Prev)
		}
		out = append(out, fmt.Sprintf("%s was %s: %s/%s %s %s", show(c.KV), prev, c.Object.Group, c.Object.Resource, c.Object.Name, c.Object.UID))
	}
	return out
}

func TestChangesGiveRowsWithWhatTheyReplaced(t *testing.T) {
	eachSource(t, func(t *testing.T, d *db) {
		op := put("/registry/deployments/ns/d", `{"metadata":{"uid":"u1"}}`)
		op.Object = sqlstore.ObjectRef{Group: "apps", Resource: "deployments", Namespace: "ns", Name: "d", UID: "u1"}
		node := put("/registry/minions/n", `{}`)
		node.Object = sqlstore.ObjectRef{Resource: "nodes", Name: "n"}
		d.do(txn(op, node))
		d.do(txn(del(op.Key), put("etcd", "x")))
		v := `/registry/deployments/ns/d={"metadata":{"uid":"u1"}}@2/2/1`
		want := []string{
			v + " was none: apps/deployments d u1",
			"/registry/minions/n={}@2/2/1 was none: /nodes n ",
			"/registry/deployments/ns/d=@3/0/0 was " + v + ": apps/deployments d u1",
			"etcd=x@3/3/1 was none: /  ",
		}
		if diff := cmp.Diff(want, d.changes(1, 0)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want[2:], d.changes(2, 0)); diff != "" {
			t.Error(diff)
		}
		if got := d.changes(3, 0); len(got) != 0 {
			t.Errorf("after the newest revision: %v", got)
		}
	})
}

func TestChangesAreNeverCutInsideARevision(t *testing.T) {
	eachSource(t, func(t *testing.T, d *db) {
		for range 5 {
			d.do(txn(put("a", ""), put("b", ""), put("c", "")))
		}
		for limit, want := range map[int]int{1: 3, 3: 3, 4: 6, 100: 15} {
			if got := len(d.changes(1, limit)); got != want {
				t.Errorf("limit %d gave %d changes, want %d", limit, got, want)
			}
		}
	})
}

func TestChangesBelowCompactRevisionAreRefused(t *testing.T) {
	eachSource(t, func(t *testing.T, d *db) {
		for range 5 {
			d.do(txn(put("a", "")))
		}
		d.do(&sqlstore.Command{Compact: &sqlstore.Compact{Revision: 4}})
		_, err := d.Changes(t.Context(), 3, 10)
		wantCode(t, err, sqlstore.CodeCompacted)
		if got := len(d.changes(4, 10)); got != 2 {
			t.Errorf("%d changes after the compact revision, want 2", got)
		}
	})
}

func TestRingKeepsWholeTransactionsWithinItsBytes(t *testing.T) {
	d := &db{Store: storetest.OpenWith(t, sqlstore.Options{RingBytes: 5000}), t: t}
	for i := range 50 {
		d.do(txn(put(fmt.Sprint("a", i), "x"), put(fmt.Sprint("b", i), "y")))
	}
	all := d.changes(1, 1000)
	if len(all) != 100 {
		t.Fatalf("%d changes, want 100", len(all))
	}
	for after := int64(1); after <= 51; after++ { // part of these come from memory, the rest from rows
		if diff := cmp.Diff(all[(after-1)*2:], d.changes(after, 1000)); diff != "" {
			t.Errorf("after %d: %s", after, diff)
		}
	}
}

func TestWaitReturnsWhenTheRevisionIsThere(t *testing.T) {
	d := open(t)
	if err := d.Wait(t.Context(), 0); err != nil { // revision 1 is there
		t.Error(err)
	}
	woken := make(chan error, 20)
	for range cap(woken) {
		go func() { woken <- d.Wait(context.Background(), 2) }()
	}
	d.do(txn(put("a", ""))) // 2: not yet
	d.do(txn(put("a", ""))) // 3
	for range cap(woken) {
		if err := <-woken; err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Wait(ctx, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with an ended context: %v", err)
	}
}

func TestCloseEndsWaitingAndReading(t *testing.T) {
	d := open(t)
	done := make(chan error)
	go func() { done <- d.Wait(context.Background(), 99) }()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-done, sqlstore.CodeClosed)
	_, err := d.Range(t.Context(), sqlstore.Query{From: "a"})
	wantCode(t, err, sqlstore.CodeClosed)
	_, err = d.Begin(t.Context())
	wantCode(t, err, sqlstore.CodeClosed)
}
