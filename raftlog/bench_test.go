package raftlog

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// An object of the size of a pod.
var podValue = []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","uid":"u"},"spec":{"x":"` + strings.Repeat("y", 2000) + `"}}`)
var podManaged = []byte(`[{"manager":"kubectl","fieldsV1":"` + strings.Repeat("f", 900) + `"}]`)

func startNode(t testing.TB, o Options) (*sqlstore.Store, *Node) {
	t.Helper()
	s := storetest.Open(t)
	n, err := Start(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop() })
	return s, n
}

func putPod(name string) *sqlstore.Command {
	key := "/registry/pods/default/" + name
	return &sqlstore.Command{
		Request: sqlstore.Request{At: 1, User: "u", Agent: "a", Verb: "create", Path: "/api/v1/namespaces/default/pods"},
		Txn: &sqlstore.Txn{
			Compare: []sqlstore.Compare{{Key: key, Target: sqlstore.CompareMod, Result: sqlstore.Equal}},
			Then: []sqlstore.Op{{Type: sqlstore.OpPut, Key: key, Value: podValue, ManagedFields: podManaged,
				Object: sqlstore.ObjectRef{Resource: "pods", Namespace: "default", Name: name, UID: "uid-" + name},
				Labels: []sqlstore.Pair{{Name: "app", Value: "web"}, {Name: "pod-template-hash", Value: "abc"}},
				Fields: []sqlstore.Pair{{Name: "spec.nodeName", Value: "node-1"}, {Name: "status.phase", Value: "Pending"}},
				Owners: []string{"rs-uid"},
			}},
		},
	}
}

func BenchmarkPut(b *testing.B) {
	_, n := startNode(b, Options{HouseInterval: -1})
	for i := 0; b.Loop(); i++ {
		if _, err := n.Propose(b.Context(), putPod(fmt.Sprint("p", i))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

func BenchmarkPutGroups(b *testing.B) {
	_, n := startNode(b, Options{HouseInterval: -1})
	var id atomic.Int64
	b.SetParallelism(64) // times GOMAXPROCS
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := n.Propose(b.Context(), putPod(fmt.Sprint("p", id.Add(1)))); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
}

func BenchmarkGet(b *testing.B) {
	s, n := startNode(b, Options{HouseInterval: -1})
	if _, err := n.Propose(b.Context(), putPod("p")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok, err := s.Get(b.Context(), "/registry/pods/default/p", 0); err != nil || !ok {
			b.Fatal(err)
		}
	}
}

func BenchmarkList1000(b *testing.B) {
	s, n := startNode(b, Options{HouseInterval: -1})
	for i := range 1000 {
		if _, err := n.Propose(b.Context(), putPod(fmt.Sprint("p", i))); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		page, err := s.Range(b.Context(), sqlstore.Query{From: "/registry/pods/", To: sqlstore.PrefixEnd("/registry/pods/")})
		if err != nil || len(page.Rows) != 1000 {
			b.Fatal(err, len(page.Rows))
		}
	}
}

func BenchmarkOpenAndStart(b *testing.B) {
	var total time.Duration
	for b.Loop() {
		begin := time.Now()
		_, n := startNode(b, Options{HouseInterval: -1})
		total += time.Since(begin)
		_ = n.Stop()
	}
}

func BenchmarkChanges(b *testing.B) {
	s, n := startNode(b, Options{HouseInterval: -1})
	for i := range 1000 {
		if _, err := n.Propose(b.Context(), putPod(fmt.Sprint("p", i))); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		changes, err := s.Changes(b.Context(), 1, 2000)
		if err != nil || len(changes) != 1000 {
			b.Fatal(err, len(changes))
		}
	}
}
