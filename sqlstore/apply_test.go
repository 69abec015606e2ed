package sqlstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
)

// etcd: the empty store is at revision 1, the first write makes 2.
func TestRevisionsBeginAtOneAndCountTransactions(t *testing.T) {
	d := open(t)
	if d.Revision() != 1 {
		t.Fatalf("empty store at revision %d, want 1", d.Revision())
	}
	d.do(txn(put("a", "1")))
	d.do(txn(put("a", "2"), put("b", "1")))
	d.do(txn(del("a")))
	d.do(txn(put("a", "3")))
	if d.Revision() != 5 {
		t.Fatalf("revision %d after four transactions, want 5", d.Revision())
	}
	want := []string{"a=3@5/5/1", "b=1@3/3/1"}
	if diff := cmp.Diff(want, d.all("", 0)); diff != "" {
		t.Error(diff)
	}
}

func TestSubRevisionsCountWithinATransaction(t *testing.T) {
	d := open(t)
	res := d.do(txn(put("a", "1"), put("b", "1"), del("none"), put("c", "1")))
	var subs []int64
	for _, r := range res.Rows {
		subs = append(subs, r.Sub)
	}
	if diff := cmp.Diff([]int64{0, 1, 0, 2}, subs); diff != "" { // the delete wrote no row
		t.Error(diff)
	}
	if got := show(res.Rows[2]); got != "none" {
		t.Errorf("delete of a key that does not live wrote %s", got)
	}
}

func TestRowsPointAtWhatTheyReplaced(t *testing.T) {
	d := open(t)
	first := d.do(txn(put("a", "1"))).Rows[0]
	second := d.do(txn(put("a", "2")))
	third := d.do(txn(del("a"))).Rows[0]
	again := d.do(txn(put("a", "3"))).Rows[0]
	if second.Rows[0].PrevID != first.ID || third.PrevID != second.Rows[0].ID || again.PrevID != 0 {
		t.Errorf("prev ids %d, %d, %d; want %d, %d, 0", second.Rows[0].PrevID, third.PrevID, again.PrevID, first.ID, second.Rows[0].ID)
	}
	if got := show(second.Prev[0]); got != "a=1@2/2/1" {
		t.Errorf("Result.Prev is %s", got)
	}
	if third.Version != 0 || third.Value != nil {
		t.Errorf("tombstone is %+v", third)
	}
}

func TestCompare(t *testing.T) {
	c := func(key string, target sqlstore.CompareTarget, result sqlstore.CompareResult, n int64, value string) sqlstore.Compare {
		return sqlstore.Compare{Key: key, Target: target, Result: result, Int: n, Value: []byte(value)}
	}
	// a: value v2, mod 3, create 2, version 2, lease 9. "no" does not live.
	tests := []struct {
		name string
		cmp  sqlstore.Compare
		want bool
	}{
		{"mod equal", c("a", sqlstore.CompareMod, sqlstore.Equal, 3, ""), true},
		{"mod of an older revision", c("a", sqlstore.CompareMod, sqlstore.Equal, 2, ""), false},
		{"mod not equal", c("a", sqlstore.CompareMod, sqlstore.NotEqual, 2, ""), true},
		{"mod greater", c("a", sqlstore.CompareMod, sqlstore.Greater, 2, ""), true},
		{"mod not greater than itself", c("a", sqlstore.CompareMod, sqlstore.Greater, 3, ""), false},
		{"mod less", c("a", sqlstore.CompareMod, sqlstore.Less, 4, ""), true},
		{"create equal", c("a", sqlstore.CompareCreate, sqlstore.Equal, 2, ""), true},
		{"version equal", c("a", sqlstore.CompareVersion, sqlstore.Equal, 2, ""), true},
		{"lease equal", c("a", sqlstore.CompareLease, sqlstore.Equal, 9, ""), true},
		{"value equal", c("a", sqlstore.CompareValue, sqlstore.Equal, 0, "v2"), true},
		{"value less", c("a", sqlstore.CompareValue, sqlstore.Less, 0, "v3"), true},
		{"value not equal", c("a", sqlstore.CompareValue, sqlstore.NotEqual, 0, "v2"), false},
		{"a missing key has mod 0", c("no", sqlstore.CompareMod, sqlstore.Equal, 0, ""), true},
		{"a missing key has version 0", c("no", sqlstore.CompareVersion, sqlstore.Greater, 0, ""), false},
		{"a missing key has no value to be equal", c("no", sqlstore.CompareValue, sqlstore.Equal, 0, ""), false},
		{"nor to be different", c("no", sqlstore.CompareValue, sqlstore.NotEqual, 0, "x"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := open(t)
			d.do(&sqlstore.Command{LeaseGrant: &sqlstore.LeaseGrant{ID: 9, TTL: 60}})
			d.do(txn(put("a", "v1")))
			op := put("a", "v2")
			op.Lease = 9
			d.do(txn(op))
			res := d.do(&sqlstore.Command{Txn: &sqlstore.Txn{
				Compare: []sqlstore.Compare{test.cmp}, Then: []sqlstore.Op{put("then", "")}, Else: []sqlstore.Op{put("else", "")}}})
			if res.Succeeded != test.want {
				t.Errorf("Succeeded = %v, want %v", res.Succeeded, test.want)
			}
			branch := map[bool]string{true: "then", false: "else"}[test.want]
			if len(res.Rows) != 1 || res.Rows[0].Key != branch {
				t.Errorf("wrote %v, want key %s", shows(res.Rows), branch)
			}
		})
	}
}

// A failed compare is an answer: it says what the keys hold now.
func TestFailedCompareAnswersWithTheCurrentRows(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	res := d.do(&sqlstore.Command{Txn: &sqlstore.Txn{
		Compare: []sqlstore.Compare{{Key: "a", Target: sqlstore.CompareMod, Result: sqlstore.Equal, Int: 99}, {Key: "b", Target: sqlstore.CompareMod, Result: sqlstore.Equal}},
		Then:    []sqlstore.Op{put("a", "2")}}})
	if diff := cmp.Diff([]string{"a=1@2/2/1", "none"}, shows(res.Current)); diff != "" {
		t.Error(diff)
	}
	if res.Succeeded || res.Err != nil || d.Revision() != 2 {
		t.Errorf("succeeded %v, err %v, revision %d; want a refusal at revision 2", res.Succeeded, res.Err, d.Revision())
	}
}

func TestATransactionThatWritesNothingLeavesNoTrace(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	for _, cmd := range []*sqlstore.Command{txn(), txn(del("b")), {LeaseGrant: &sqlstore.LeaseGrant{ID: 1, TTL: 1}}} {
		if res := d.do(cmd); res.Err != nil || res.Revision != 2 {
			t.Errorf("result %+v, want revision 2", res)
		}
	}
	var requests int
	if err := d.Reader().Get(&requests, `SELECT count(*) FROM request`); err != nil || requests != 1 {
		t.Errorf("%d request rows (%v), want 1", requests, err)
	}
}

func TestRefusedCommandsWriteNothing(t *testing.T) {
	leased := put("b", "1")
	leased.Lease = 77
	tests := map[string]struct {
		cmd  *sqlstore.Command
		code sqlstore.Code
	}{
		"a key twice":          {txn(put("a", "1"), put("a", "2")), sqlstore.CodeInvalid},
		"an empty key":         {txn(put("", "1")), sqlstore.CodeInvalid},
		"a lease that is not":  {txn(put("a", "1"), leased), sqlstore.CodeNotFound},
		"an unknown operation": {txn(sqlstore.Op{Type: 9, Key: "a"}), sqlstore.CodeInvalid},
		"an unknown target":    {&sqlstore.Command{Txn: &sqlstore.Txn{Compare: []sqlstore.Compare{{Key: "a", Target: 99, Result: 1}}}}, sqlstore.CodeInvalid},
		"nothing at all":       {&sqlstore.Command{}, sqlstore.CodeInvalid},
		"a future compaction":  {&sqlstore.Command{Compact: &sqlstore.Compact{Revision: 5}}, sqlstore.CodeFuture},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := open(t)
			wantCode(t, d.do(test.cmd).Err, test.code)
			if rows := d.all("", 0); len(rows) != 0 || d.Revision() != 1 {
				t.Errorf("rows %v at revision %d, want none at 1", rows, d.Revision())
			}
			if d.Applied() != 1 { // a refusal is an outcome: the log moves on
				t.Errorf("applied %d, want 1", d.Applied())
			}
		})
	}
}

func TestApplyingAnIndexTwiceIsRefused(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	wantCode(t, tx.Apply(1, txn(put("a", "2"))).Err, sqlstore.CodeInternal)
}

func TestRollbackLeavesMemoryAndFileAsTheyWere(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	tx, err := d.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.Apply(2, txn(put("a", "2"), put("b", "2")))
	tx.Rollback()
	changes, err := d.Changes(t.Context(), 1, 10)
	if err != nil || len(changes) != 1 || d.Revision() != 2 || d.Applied() != 1 {
		t.Errorf("%d changes, revision %d, applied %d (%v); want 1, 2, 1", len(changes), d.Revision(), d.Applied(), err)
	}
	if got := d.do(txn(put("b", "1"))).Rows[0].ID; got != 2 {
		t.Errorf("next row has id %d, want 2", got)
	}
}

// Every member applies the same log to the same rows, row numbers included.
func TestApplyIsDeterministic(t *testing.T) {
	dump := func() []string {
		d := open(t)
		d.do(&sqlstore.Command{LeaseGrant: &sqlstore.LeaseGrant{TTL: 60}})
		for i := range 5 {
			op := put("/registry/pods/default/a", `{"metadata":{"uid":"u"}}`)
			op.Object = sqlstore.ObjectRef{Resource: "pods", Namespace: "default", Name: "a", UID: "u"}
			op.Labels = []sqlstore.Pair{{Name: "x", Value: string(rune('0' + i))}, {Name: "y", Value: "1"}}
			op.Owners = []string{"o2", "o1"}
			d.do(txn(op, put("b", "1"), del("none")))
		}
		var out []string
		err := d.Reader().Select(&out, `
			SELECT 'kv ' || id || mod_revision || sub || key || request_id || prev_id FROM kv
			UNION ALL SELECT 'label ' || name || value || key FROM label UNION ALL SELECT 'owner ' || uid || key FROM owner
			UNION ALL SELECT 'request ' || id || revision || key FROM request UNION ALL SELECT 'lease ' || id FROM lease
			UNION ALL SELECT 'resource ' || prefix || resource FROM resource`)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	one := dump()
	if diff := cmp.Diff(one, dump()); diff != "" || len(one) != 10+2+2+5+1+1 {
		t.Errorf("%d rows: %s", len(one), diff)
	}
}

func TestValuesOfAnyBytesComeBackUnchanged(t *testing.T) {
	d := open(t)
	kinds := map[string]string{"text": "text", "": "text", `{"a":"ü"}`: "text", "\xff\xfe": "blob", "a\x00b": "blob", "k8s\x00\n\x0c": "blob"}
	for value, kind := range kinds {
		d.do(txn(put("k\xff/"+value, value)))
		kv, ok, err := d.Get(t.Context(), "k\xff/"+value, 0)
		if err != nil || !ok || string(kv.Value) != value {
			t.Errorf("put %q, got %q (%v, %v)", value, kv.Value, ok, err)
		}
		var got string
		if err := d.Reader().Get(&got, `SELECT typeof(value) FROM kv WHERE id = ?`, kv.ID); err != nil || got != kind {
			t.Errorf("value %q is stored as %s (%v), want %s", value, got, err, kind)
		}
	}
}

func TestRequestSaysWhoAndWhy(t *testing.T) {
	d := open(t)
	cmd := txn(put("a", "1"), put("b", "1"))
	d.do(cmd)
	caused := txn(put("c", "1"))
	caused.Request = sqlstore.Request{At: 5, User: "u\x00\xff", Agent: "ag", Verb: "create", Path: "/p", Cause: sqlstore.Cause{Revision: 2, ID: 1}}
	d.do(caused)
	var got []struct {
		ID, Revision, At             int64
		Key, User, Agent, Verb, Path string
		CauseRevision                int64 `db:"cause_revision"`
		CauseID                      int64 `db:"cause_id"`
	}
	if err := d.Reader().Select(&got, `SELECT * FROM request ORDER BY id`); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Key != "a" || got[0].Revision != 2 || got[0].User != "test" {
		t.Errorf("requests %+v", got)
	}
	if r := got[1]; r.At != 5 || r.User != "u\uFFFD\uFFFD" || r.Agent != "ag" || r.Verb != "create" || r.Path != "/p" || r.CauseRevision != 2 || r.CauseID != 1 {
		t.Errorf("request %+v", r)
	}
}
