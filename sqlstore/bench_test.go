package sqlstore_test

import (
	"fmt"
	"strings"
	"testing"

	"kuberow/sqlstore"
)

// What apply costs a row, with the index tables; commits are grouped as
// raftlog groups them.

// eventOp puts an object with as many fields and labels as an Event has.
func eventOp(i int, value string) sqlstore.Op {
	op := put(fmt.Sprintf("/registry/events/default/web.%08x", i), value)
	for _, name := range []string{"involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
		"involvedObject.namespace", "involvedObject.resourceVersion", "involvedObject.uid", "metadata.name", "metadata.namespace",
		"reason", "reportingComponent", "source", "type"} {
		op.Fields = append(op.Fields, sqlstore.Pair{Name: name, Value: fmt.Sprint("value-", i)})
	}
	return op
}

func benchmarkApply(b *testing.B, op func(i int) sqlstore.Op) {
	d := open(b)
	const group = 64
	index := d.Applied()
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += group {
		tx, err := d.Begin(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for j := i; j < min(i+group, b.N); j++ {
			index++
			if res := tx.Apply(index, txn(op(j))); res.Err != nil {
				b.Fatal(res.Err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplyEvent creates: a row of kv, one of live, thirteen of field.
func BenchmarkApplyEvent(b *testing.B) {
	value := `{"kind":"Event","message":"` + strings.Repeat("m", 900) + `"}`
	benchmarkApply(b, func(i int) sqlstore.Op { return eventOp(i, value) })
}

// BenchmarkApplyUpdate changes an object whose fields and labels stay.
func BenchmarkApplyUpdate(b *testing.B) {
	value := `{"kind":"Event","message":"` + strings.Repeat("m", 900) + `"}`
	benchmarkApply(b, func(i int) sqlstore.Op { return eventOp(0, value[:len(value)-2]+fmt.Sprint(i)+`"}`) })
}
