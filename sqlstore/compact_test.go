package sqlstore_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// sweep runs the deletion to its end in steps of n rows, checking the file after each.
func (d *db) sweep(n int) {
	d.t.Helper()
	for {
		left, err := d.StepCompaction(d.t.Context(), n)
		if err != nil {
			d.t.Fatal(err)
		}
		if left == sqlstore.SweepDone {
			return
		}
		storetest.Check(d.t, d.Store)
	}
}

func (d *db) compact(revision int64) *sqlstore.Result {
	return d.do(&sqlstore.Command{Compact: &sqlstore.Compact{Revision: revision}})
}

func (d *db) rows(query string) (out []string) {
	d.t.Helper()
	if err := d.Reader().Select(&out, query); err != nil {
		d.t.Fatal(err)
	}
	return out
}

func TestCompactionRefusesThePastAndKeepsThePresent(t *testing.T) {
	for _, step := range []int{1, 2, 100} {
		t.Run(fmt.Sprint("in steps of ", step), func(t *testing.T) {
			d := open(t)
			d.do(txn(put("a", "1"), put("b", "1"))) // 2
			d.do(txn(put("a", "2"), del("b")))      // 3
			d.do(txn(put("c", "1")))                // 4
			d.do(txn(del("a")))                     // 5
			d.do(txn(put("c", "2"), put("b", "2"))) // 6
			before := d.all("", 4)
			if res := d.compact(4); res.Err != nil || d.CompactRevision() != 4 {
				t.Fatalf("compact: %v, at %d", res.Err, d.CompactRevision())
			}
			d.sweep(step)
			_, err := d.Range(t.Context(), sqlstore.Query{From: "a", Revision: 3})
			wantCode(t, err, sqlstore.CodeCompacted)
			_, _, err = d.Get(t.Context(), "a", 3)
			wantCode(t, err, sqlstore.CodeCompacted)
			if diff := cmp.Diff(before, d.all("", 4)); diff != "" {
				t.Errorf("at the compact revision: %s", diff)
			}
			if diff := cmp.Diff([]string{"b=2@6/6/1", "c=2@6/4/2"}, d.all("", 0)); diff != "" {
				t.Errorf("now: %s", diff)
			}
			want := []string{"a2", "c1", "a0", "c2", "b1"} // a's deletion and what it deleted are above 4
			if diff := cmp.Diff(want, d.rows(`SELECT key || version FROM kv ORDER BY id`)); diff != "" {
				t.Error(diff)
			}
			wantCode(t, d.compact(4).Err, sqlstore.CodeCompacted)
			wantCode(t, d.compact(9).Err, sqlstore.CodeFuture)
			d.compact(6)
			d.sweep(step)
			if diff := cmp.Diff([]string{"c2", "b1"}, d.rows(`SELECT key || version FROM kv ORDER BY id`)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// `why` of what exists must lead back to who began it, however old that is.
func TestCompactionKeepsTheRequestsThatTheLivingReach(t *testing.T) {
	caused := func(by int64, ops ...sqlstore.Op) *sqlstore.Command {
		cmd := txn(ops...)
		cmd.Request.Cause = sqlstore.Cause{Revision: by}
		return cmd
	}
	d := open(t)
	d.do(txn(put("deployment", "1")))           // 2, a person
	d.do(caused(2, put("replicaset", "1")))     // 3
	d.do(txn(put("deployment", "2")))           // 4
	d.do(caused(3, put("pod", "1")))            // 5
	d.do(caused(5, put("pod", "2")))            // 6
	d.do(txn(put("gone", "1")))                 // 7
	d.do(caused(7, put("gone", "2")))           // 8
	d.do(caused(8, del("gone")))                // 9
	d.do(caused(6, put("pod", "3")))            // 10
	d.do(txn(put("deployment", "3")))           // 11
	d.do(txn(del("replicaset"), put("x", "1"))) // 12
	d.compact(12)
	d.sweep(2)
	want := []string{"2", "3", "5", "6", "10", "11", "12"} // 4 was replaced; 7, 8, 9 are about nothing that lives
	if diff := cmp.Diff(want, d.rows(`SELECT CAST(revision AS TEXT) FROM request ORDER BY revision`)); diff != "" {
		t.Error(diff)
	}
	d.do(txn(del("pod"))) // 13
	d.compact(13)
	d.sweep(3)
	want = []string{"2", "11", "12"} // 2 created the deployment that lives
	if diff := cmp.Diff(want, d.rows(`SELECT CAST(revision AS TEXT) FROM request ORDER BY revision`)); diff != "" {
		t.Error(diff)
	}
}

// A controller may be slower than compaction: a cause that is gone is not written down as if it were there.
func TestACauseThatIsCompactedIsDropped(t *testing.T) {
	d := open(t)
	living := d.do(txn(put("living", "1"))).Rows[0]
	old := d.do(txn(put("old", "1"))).Rows[0]
	d.do(txn(put("old", "2")))
	d.compact(d.Revision())
	d.sweep(10)
	for cause, want := range map[sqlstore.Cause]string{
		{Revision: living.ModRevision, ID: living.ID}: fmt.Sprint(living.ModRevision),
		{Revision: old.ModRevision, ID: old.ID}:       "0",
		{Revision: 1, ID: 0}:                          "0",
		{Revision: 1000, ID: 7}:                       "0",
	} {
		cmd := txn(put("effect", "1"))
		cmd.Request.Cause = cause
		d.do(cmd)
		if got := d.rows(`SELECT CAST(cause_revision AS TEXT) FROM request ORDER BY id DESC LIMIT 1`); got[0] != want {
			t.Errorf("cause %+v is kept as %s, want %s", cause, got[0], want)
		}
	}
}

func TestRetentionDoesNotCountHeartbeats(t *testing.T) {
	d := open(t)
	beat := func() { d.do(txn(put("/registry/leases/kube-node-lease/node-1", ""))) }
	status := func() {
		cmd := txn(put("/registry/minions/node-1", ""))
		cmd.Request.Path = "/api/v1/nodes/node-1/status"
		d.do(cmd)
	}
	retention := func() int64 {
		t.Helper()
		revision, err := d.RetentionRevision(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	for range 10 {
		d.do(txn(put("a", "")))
		beat()
	}
	status()
	if got := retention(); got != 0 {
		t.Errorf("with 10 real writes the retention is %d, want 0", got)
	}
	for range 2 {
		d.do(txn(put("a", "")))
	}
	// Writes at revisions 2, 4, ..., 20 and 23, 24: the newest ten begin at 6.
	if got := retention(); got != 4 {
		t.Errorf("with 12 real writes the retention is %d, want 4", got)
	}
	for range 30 {
		beat()
	}
	d.compact(24)
	if got := retention(); got != 0 {
		t.Errorf("with 30 heartbeats the retention is %d, want 0", got)
	}
	for range 3 {
		beat()
	}
	if got, want := retention(), d.Revision()-30; got != want { // not without bound
		t.Errorf("with 33 heartbeats the retention is %d, want %d", got, want)
	}
}

func TestTheFileShrinksAfterASweep(t *testing.T) {
	d := open(t)
	big := string(make([]byte, 60_000))
	for range 150 {
		d.do(txn(put("a", big)))
	}
	pages := func() (n int64) {
		if err := d.Reader().Get(&n, `PRAGMA page_count`); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := pages()
	d.compact(d.Revision())
	d.sweep(20)
	if after := pages(); after >= before*3/4 {
		t.Errorf("%d pages before the sweep, %d after", before, after)
	}
}
