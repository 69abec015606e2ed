package sqlstore_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// A model of the store that is too simple to be wrong: all rows ever written,
// in a slice. The fuzzer turns bytes into commands and questions and compares the answers.
type model struct {
	kvs      []sqlstore.KV
	revision int64
	compact  int64
	labels   map[string]labels.Set // of living keys
}

// at is the key space at a revision, by key.
func (m *model) at(revision int64) map[string]sqlstore.KV {
	state := map[string]sqlstore.KV{}
	for _, kv := range m.kvs {
		if kv.ModRevision <= revision {
			if kv.Version == 0 {
				delete(state, kv.Key)
			} else {
				state[kv.Key] = kv
			}
		}
	}
	return state
}

// rangeAt is what Range must answer.
func (m *model) rangeAt(from, to string, revision int64, keep func(key string) bool) []string {
	state, out := m.at(revision), []string{}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		if key >= from && (to == "\x00" || key < to) && keep(key) {
			out = append(out, show(state[key]))
		}
	}
	return out
}

// apply is etcd's transaction.
func (m *model) apply(ops []sqlstore.Op) {
	now, wrote := m.at(m.revision), false
	for _, op := range ops {
		old, lives := now[op.Key]
		kv := sqlstore.KV{Key: op.Key, ModRevision: m.revision + 1}
		switch {
		case op.Type == sqlstore.OpDelete && !lives:
			continue
		case op.Type == sqlstore.OpDelete:
			delete(m.labels, op.Key)
		default:
			kv.Value, kv.Version, kv.CreateRevision = op.Value, old.Version+1, old.CreateRevision
			if !lives {
				kv.CreateRevision = kv.ModRevision
			}
			m.labels[op.Key] = labels.Set{}
			for _, p := range op.Labels {
				m.labels[op.Key][p.Name] = p.Value
			}
		}
		m.kvs = append(m.kvs, kv)
		wrote = true
	}
	if wrote {
		m.revision++
	}
}

// source gives small numbers out of the fuzzer's bytes, zeros when they are used up.
type source struct{ data []byte }

func (s *source) n(below int) int {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % below
}

var fuzzKeys = []string{"a", "a/", "a/b", "a0", "b", "b\xff", "\xff", "é"}
var fuzzValues = []string{"", "1", "07", "99999999999999999999", "web"}

func (s *source) key() string { return fuzzKeys[s.n(len(fuzzKeys))] }

// ops is a branch without a key twice.
func (s *source) ops() (ops []sqlstore.Op) {
	used := map[string]bool{}
	for range 1 + s.n(3) {
		key := s.key()
		if used[key] {
			continue
		}
		used[key] = true
		op := sqlstore.Op{Type: sqlstore.OpPut, Key: key, Value: []byte(fmt.Sprint(s.n(256)))}
		if s.n(3) == 0 {
			op = sqlstore.Op{Type: sqlstore.OpDelete, Key: key}
		}
		for _, name := range []string{"n", "x"} {
			if op.Type == sqlstore.OpPut && s.n(2) == 0 {
				op.Labels = append(op.Labels, sqlstore.Pair{Name: name, Value: fuzzValues[s.n(len(fuzzValues))]})
			}
		}
		ops = append(ops, op)
	}
	return ops
}

// term is a requirement for the store and the same for the real labels package.
func (s *source) term(t testing.TB) (sqlstore.Term, labels.Requirement) {
	name := []string{"n", "x", "none"}[s.n(3)]
	value, other := fuzzValues[s.n(len(fuzzValues))], fuzzValues[s.n(len(fuzzValues))]
	number := []string{"0", "1", "6"}[s.n(3)]
	kinds := []struct {
		op     sqlstore.TermOp
		real   selection.Operator
		values []string
	}{
		{sqlstore.Is, selection.Equals, []string{value}}, {sqlstore.IsNot, selection.NotEquals, []string{value}},
		{sqlstore.In, selection.In, []string{value, other}}, {sqlstore.NotIn, selection.NotIn, []string{value, other}},
		{sqlstore.Exists, selection.Exists, nil}, {sqlstore.NotExists, selection.DoesNotExist, nil},
		{sqlstore.GreaterThan, selection.GreaterThan, []string{number}}, {sqlstore.LessThan, selection.LessThan, []string{number}},
	}
	k := kinds[s.n(len(kinds))]
	real, err := labels.NewRequirement(name, k.real, k.values)
	if err != nil {
		t.Fatal(err)
	}
	return sqlstore.Term{Name: name, Op: k.op, Values: k.values}, *real
}

// run plays data against a store and a model.
func run(t testing.TB, data []byte) {
	d := &db{Store: storetest.OpenWith(t, sqlstore.Options{RingBytes: 3000}), t: t}
	m := &model{revision: 1, labels: map[string]labels.Set{}}
	for s := (&source{data}); len(s.data) > 0; {
		switch s.n(8) {
		case 0:
			if to := m.compact + 1 + int64(s.n(3)); to <= m.revision {
				m.compact = to
				d.compact(to)
			}
		case 1:
			if _, err := d.StepCompaction(t.Context(), 1+s.n(4)); err != nil {
				t.Fatal(err)
			}
		default:
			ops := s.ops()
			m.apply(ops)
			if res := d.do(txn(ops...)); res.Err != nil || res.Revision != m.revision {
				t.Fatalf("transaction answered %+v, the model is at %d", res, m.revision)
			}
		}
		compare(t, d, m, s)
	}
	d.sweep(3)
}

// compare asks both one question of each kind.
func compare(t testing.TB, d *db, m *model, s *source) {
	revision := max(m.compact, 1, m.revision-int64(s.n(6)))
	from := s.key()
	to := []string{"\x00", sqlstore.PrefixEnd(from), "b"}[s.n(3)]
	page, err := d.Range(t.Context(), sqlstore.Query{From: from, To: to, Revision: revision})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m.rangeAt(from, to, revision, func(string) bool { return true }), shows(page.Rows)); diff != "" {
		t.Fatalf("range %q to %q at %d: %s", from, to, revision, diff)
	}
	term, real := s.term(t)
	second, real2 := s.term(t)
	page, err = d.Range(t.Context(), sqlstore.Query{From: from, To: to, Terms: []sqlstore.Term{term, second}})
	if err != nil {
		t.Fatal(err)
	}
	want := m.rangeAt(from, to, m.revision, func(key string) bool { return real.Matches(m.labels[key]) && real2.Matches(m.labels[key]) })
	if diff := cmp.Diff(want, shows(page.Rows)); diff != "" {
		t.Fatalf("select %v, %v: %s", term, second, diff)
	}
	changes, err := d.Changes(t.Context(), revision, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var got, wantChanges []string
	for _, c := range changes {
		got = append(got, show(c.KV))
	}
	for _, kv := range m.kvs {
		if kv.ModRevision > revision {
			wantChanges = append(wantChanges, show(kv))
		}
	}
	if diff := cmp.Diff(wantChanges, got); diff != "" {
		t.Fatalf("changes after %d: %s", revision, diff)
	}
}

func FuzzStoreAgainstModel(f *testing.F) {
	f.Add([]byte{7, 2, 0, 9, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 2000 {
			t.Skip("long enough")
		}
		run(t, data)
	})
}

func TestStoreAgreesWithAModel(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 4000)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { run(t, data) })
	}
}
