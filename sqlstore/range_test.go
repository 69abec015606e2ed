package sqlstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
)

func TestRangeIsInKeyOrderAndHasItsEnds(t *testing.T) {
	d := open(t)
	d.do(txn(put("b", ""), put("a/2", ""), put("a/1", ""), put("a", ""), put("a0", ""), put("ä", ""), put("\xff\xff", "")))
	tests := []struct {
		name string
		q    sqlstore.Query
		want []string
	}{
		{"single key", sqlstore.Query{From: "a"}, []string{"a"}},
		{"single key that is not", sqlstore.Query{From: "c"}, nil},
		{"prefix", sqlstore.Query{From: "a/", To: sqlstore.PrefixEnd("a/")}, []string{"a/1", "a/2"}},
		{"half open", sqlstore.Query{From: "a", To: "b"}, []string{"a", "a/1", "a/2", "a0"}},
		{"everything", sqlstore.Query{To: sqlstore.PrefixEnd("")}, []string{"a", "a/1", "a/2", "a0", "b", "ä", "\xff\xff"}},
		{"prefix of 0xff", sqlstore.Query{From: "\xff", To: sqlstore.PrefixEnd("\xff")}, []string{"\xff\xff"}},
		{"empty range", sqlstore.Query{From: "b", To: "a"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := d.Range(t.Context(), test.q)
			if err != nil {
				t.Fatal(err)
			}
			var keys []string
			for _, r := range page.Rows {
				keys = append(keys, r.Key)
			}
			if diff := cmp.Diff(test.want, keys); diff != "" {
				t.Error(diff)
			}
			if test.q.To != "" {
				if n, err := d.Count(t.Context(), test.q.From, test.q.To); err != nil || n != int64(len(test.want)) {
					t.Errorf("Count = %d, %v; want %d", n, err, len(test.want))
				}
			}
		})
	}
}

func TestRangeAtAnOldRevisionShowsThePast(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1"), put("b", "1"))) // 2
	d.do(txn(put("a", "2")))                // 3
	d.do(txn(del("b")))                     // 4
	d.do(txn(put("b", "2"), put("c", "1"))) // 5
	d.do(txn(put("z", "1")))                // 6, so that 5 is the past
	past := map[int64][]string{
		1: {},
		2: {"a=1@2/2/1", "b=1@2/2/1"},
		3: {"a=2@3/2/2", "b=1@2/2/1"},
		4: {"a=2@3/2/2"},
		5: {"a=2@3/2/2", "b=2@5/5/1", "c=1@5/5/1"},
	}
	for revision, want := range past {
		if diff := cmp.Diff(want, d.all("", revision)); diff != "" {
			t.Errorf("at revision %d: %s", revision, diff)
		}
		for _, key := range []string{"a", "b", "c"} {
			kv, ok, err := d.Get(t.Context(), key, revision)
			if err != nil {
				t.Fatal(err)
			}
			inRange := false
			for _, w := range want {
				inRange = inRange || ok && w == show(kv)
			}
			if ok != inRange {
				t.Errorf("Get %s at %d gives %s, the range has %v", key, revision, show(kv), want)
			}
		}
	}
	_, err := d.Range(t.Context(), sqlstore.Query{From: "a", Revision: 7})
	wantCode(t, err, sqlstore.CodeFuture)
	_, _, err = d.Get(t.Context(), "a", 7)
	wantCode(t, err, sqlstore.CodeFuture)
}

// A big list is read in pages, all at the revision of the first, whatever is written meanwhile.
func TestPagesContinueAtTheirRevision(t *testing.T) {
	d := open(t)
	for i := range 10 {
		d.do(txn(put(fmt.Sprint("k", i), "old")))
	}
	q := sqlstore.Query{From: "k", To: sqlstore.PrefixEnd("k"), Limit: 4, Count: true}
	var got []string
	var left []int64
	for {
		page, err := d.Range(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Rows {
			got = append(got, r.Key+string(r.Value))
		}
		left = append(left, page.Remaining)
		if !page.More {
			break
		}
		d.do(txn(put("k8", "new"), del("k9"), put("k55", "new")))
		q.From, q.Revision = sqlstore.KeyAfter(page.Rows[len(page.Rows)-1].Key), page.Revision
	}
	want := []string{"k0old", "k1old", "k2old", "k3old", "k4old", "k5old", "k6old", "k7old", "k8old", "k9old"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int64{6, 2, 0}, left); diff != "" {
		t.Error(diff)
	}
}

func TestKeysOnlyLeavesValuesOut(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	page, err := d.Range(t.Context(), sqlstore.Query{From: "a", KeysOnly: true})
	if err != nil || len(page.Rows) != 1 || page.Rows[0].Value != nil || page.Rows[0].Version != 1 {
		t.Errorf("page %+v, %v", page, err)
	}
}

func TestOldRangesUseTheIndexInOrder(t *testing.T) {
	d := open(t)
	var plan []struct {
		ID, Parent, Notused int
		Detail              string
	}
	query, args := sqlstore.PastQuery(sqlstore.Query{From: "a", To: "b", Revision: 9})
	err := d.Reader().Select(&plan, `EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plan {
		if strings.Contains(p.Detail, "TEMP B-TREE") {
			t.Errorf("the plan sorts: %+v", plan)
		}
	}
}

// Readers and the writer never wait for each other, and a reader sees all of a transaction or nothing.
func TestARangeIsOfOneMoment(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "0"), put("b", "0")))
	stop, readers := make(chan struct{}), make(chan error, 3)
	for range cap(readers) {
		go func() {
			for {
				page, err := d.Range(context.Background(), sqlstore.Query{From: "a", To: "c"})
				switch {
				case err != nil:
				case len(page.Rows) != 2 || page.Rows[0].ModRevision != page.Rows[1].ModRevision || page.Rows[0].ModRevision != page.Revision:
					err = fmt.Errorf("at revision %d: %v", page.Revision, shows(page.Rows))
				}
				select {
				case <-stop:
					readers <- err
					return
				default:
				}
				if err != nil {
					readers <- err
					return
				}
			}
		}()
	}
	for i := range 300 {
		d.do(txn(put("a", fmt.Sprint(i)), put("b", fmt.Sprint(i))))
	}
	close(stop)
	for range cap(readers) {
		if err := <-readers; err != nil {
			t.Error(err)
		}
	}
}
