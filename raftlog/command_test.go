package raftlog

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kuberow/sqlstore"
)

// full is a command with everything in it.
func full() *sqlstore.Command {
	return &sqlstore.Command{
		ID:      sqlstore.CommandID{Member: 1, Incarnation: 2, Seq: 300},
		Request: sqlstore.Request{At: 1 << 60, User: "u", Agent: "a", Verb: "v", Path: "/p", Cause: sqlstore.Cause{Revision: 5, ID: 6}},
		Txn: &sqlstore.Txn{
			Compare: []sqlstore.Compare{{Key: "k", Target: sqlstore.CompareValue, Result: sqlstore.Less, Int: -1, Value: []byte{0, 255}}},
			Then: []sqlstore.Op{{Type: sqlstore.OpPut, Key: "k", Value: []byte("{}"), ManagedFields: []byte("[]"), Lease: 3,
				Object: sqlstore.ObjectRef{Group: "g", Resource: "r", Namespace: "ns", Name: "n", UID: "u"},
				Labels: []sqlstore.Pair{{Name: "a", Value: "b"}}, Fields: []sqlstore.Pair{{Name: "c", Value: ""}}, Owners: []string{"o"}}},
			Else: []sqlstore.Op{{Type: sqlstore.OpDelete, Key: "k"}},
		},
		LeaseGrant:  &sqlstore.LeaseGrant{ID: 1, TTL: 2, At: 3},
		LeaseRevoke: &sqlstore.LeaseRevoke{ID: 1, Expired: true, At: 3},
		LeaseKeep:   &sqlstore.LeaseKeep{ID: 1, At: 3},
		Compact:     &sqlstore.Compact{Revision: 9},
	}
}

// What a member applies as it proposed it, another one decodes: they must be the same command.
var same = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(sqlstore.CommandID{})}

func TestACommandSurvivesTheLog(t *testing.T) {
	data, err := encode(full())
	must(t, err)
	got, err := Decode(data)
	must(t, err)
	if diff := cmp.Diff(full(), got, same); diff != "" {
		t.Error(diff)
	}
	if id, ok := peekID(data); !ok || id != full().ID {
		t.Errorf("peekID gives %v, %v", id, ok)
	}
}

// What claims to be longer than it is costs its refusal, and nothing that lasts.
func TestDamagedCommandsLeaveNoMemory(t *testing.T) {
	damaged := []byte("\x87\xdb\xff\x7f\xff\xff") // a map of seven, the first name of four gigabytes
	inUse := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse
	}
	before := inUse()
	for range 100 {
		if _, err := Decode(damaged); err == nil {
			t.Fatal("it was read")
		}
		if _, ok := peekID(damaged); ok {
			t.Fatal("it has an ID")
		}
	}
	if after := inUse(); after > before+16<<20 {
		t.Errorf("%d MB of heap are kept", (after-before)>>20)
	}
}

func FuzzDecode(f *testing.F) {
	data, err := encode(full())
	must(f, err)
	f.Add(data)
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xdf}, 5))
	f.Fuzz(func(t *testing.T, data []byte) {
		id, peeked := peekID(data)
		cmd, err := Decode(data)
		if err != nil {
			return
		}
		gist(cmd)
		again, err := encode(cmd)
		must(t, err)
		back, err := Decode(again)
		must(t, err)
		if diff := cmp.Diff(cmd, back, same); diff != "" {
			t.Error(diff)
		}
		if again2, ok := peekID(again); !ok || again2 != cmd.ID {
			t.Errorf("peekID of what encode wrote gives %v %v, want %v", again2, ok, cmd.ID)
		}
		_, _ = id, peeked
	})
}
