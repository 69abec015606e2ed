package tables

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const configMap = `{"metadata":{"name":"c","namespace":"default","creationTimestamp":"2026-01-09T23:59:00Z"},"data":{"a":"1"}}`

// TestCellsTypes: an integer is an integer also in a column of type string, a
// boolean a boolean; rows that kv does not have are missing.
func TestCellsTypes(t *testing.T) {
	s := openStore(t)
	class := s.put(t, write{key: "/registry/priorityclasses/high", value: object(t, "/registry/priorityclasses/high",
		`{metadata: {creationTimestamp: "2026-01-09T23:59:00Z"}, value: 7}`)})
	table, _ := For("scheduling.k8s.io", "priorityclasses")
	got, err := Cells(t.Context(), s, table, []int64{class, 99})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64][]any{class: {"high", int64(7), false, "60s", ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	config := s.put(t, write{key: "/registry/configmaps/default/c", value: configMap})
	table, _ = For("", "configmaps")
	if got, err = Cells(t.Context(), s, table, []int64{config}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int64][]any{config: {"c", int64(1), "60s"}}, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if got, err = Cells(t.Context(), s, table, nil); err != nil || len(got) != 0 {
		t.Errorf("no ids give %v, %v", got, err)
	}
}

// TestCellsOfHistory: an old row shows what it was, a tombstone what it
// deleted, and the list shows neither.
func TestCellsOfHistory(t *testing.T) {
	s := openStore(t)
	const key = "/registry/configmaps/default/c"
	first := s.put(t, write{key: key, value: configMap})
	second := s.put(t, write{key: key, value: `{"metadata":{"name":"c","namespace":"default","creationTimestamp":"2026-01-09T23:59:00Z"},"data":{"a":"1","b":"2"}}`})
	gone := s.put(t, write{key: key})
	table, _ := For("", "configmaps")
	want := map[int64][]any{first: {"c", int64(1), "60s"}, second: {"c", int64(2), "60s"}, gone: {"c", int64(2), "60s"}}
	got, err := Cells(t.Context(), s, table, []int64{first, second, gone})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if _, rows := s.selectAll(t, "configmaps"); len(rows) != 0 {
		t.Errorf("a deleted object is listed: %v", rows)
	}
}

// TestRenderer gives the same cells as Cells, and survives a change of the views.
func TestRenderer(t *testing.T) {
	s := openStore(t)
	id := s.put(t, write{key: "/registry/configmaps/default/c", value: configMap})
	table, _ := For("", "configmaps")
	r := NewRenderer(s.DB)
	for range 2 {
		got, err := r.Cells(t.Context(), table, []int64{id})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[int64][]any{id: {"c", int64(1), "60s"}}, got); diff != "" {
			t.Errorf("cells (-want +got):\n%s", diff)
		}
		s.MustExec("DROP VIEW configmaps_row")
		if err := Install(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestListCells: only a list marks the default StorageClass, and only one.
func TestListCells(t *testing.T) {
	s := openStore(t)
	var ids []int64
	for name, created := range map[string]string{"new": "2026-01-09T00:00:00Z", "old": "2026-01-08T00:00:00Z", "none": "2026-01-09T01:00:00Z"} {
		key := "/registry/storageclasses/" + name
		mark := `annotations: {storageclass.kubernetes.io/is-default-class: "true"}, `
		if name == "none" {
			mark = ""
		}
		ids = append(ids, s.put(t, write{key: key, value: object(t, key, `{metadata: {`+mark+`creationTimestamp: "`+created+`"}}`)}))
	}
	table, _ := For("storage.k8s.io", "storageclasses")
	names := func(cells map[int64][]any, err error) map[string]bool {
		if err != nil {
			t.Fatal(err)
		}
		set := map[string]bool{}
		for _, row := range cells {
			set[row[0].(string)] = true
		}
		return set
	}
	if diff := cmp.Diff(map[string]bool{"new": true, "old": true, "none": true}, names(Cells(t.Context(), s, table, ids))); diff != "" {
		t.Errorf("Cells (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"new (default)": true, "old": true, "none": true}, names(ListCells(t.Context(), s, table, ids))); diff != "" {
		t.Errorf("ListCells (-want +got):\n%s", diff)
	}
}
