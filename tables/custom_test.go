package tables

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cronTab is a definition with one column for each type and form of path.
var cronTab = Definition{
	Group: "stable.example.com", Resource: "crontabs", Prefix: "/registry/stable.example.com/crontabs/", Namespaced: true,
	Columns: []CustomColumn{
		{Name: "Spec", Type: "string", JSONPath: ".spec.cron", Description: "The spec"},
		{Name: "Replicas", Type: "integer", JSONPath: ".spec.replicas", Priority: 1},
		{Name: "Load", Type: "number", JSONPath: ".status.load"},
		{Name: "Paused", Type: "boolean", JSONPath: ".spec.paused"},
		{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
		{Name: "First", Type: "string", JSONPath: ".spec.list[0]"},
		{Name: "Last", Type: "string", JSONPath: ".spec.list[-1]"},
		{Name: "Label", Type: "string", JSONPath: `.metadata.labels.example\.com/a`},
		{Name: "Label!", Type: "string", JSONPath: `.metadata.labels['example.com/a']`},
		{Name: "Map", Type: "string", JSONPath: ".spec.map"},
		{Name: "Seen", Type: "date", JSONPath: ".status.seen"},
		{Name: "Whole", Type: "string", JSONPath: "."},
		{Name: "Null", Type: "string", JSONPath: ".spec.null"},
		{Name: "Odd", Type: "string", JSONPath: ".spec..everything"},
		{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
	},
}

// putCustom writes a custom object; owner() knows built-in prefixes only.
func putCustom(t *testing.T, s *store, d Definition, name, value string) int64 {
	t.Helper()
	s.nextID++
	id, key := s.nextID, d.Prefix+"default/"+name
	s.MustExec("INSERT INTO kv VALUES (?, ?, 0, ?, ?, 1, 0, ?, NULL, 0, ?)", id, id, key, id, value, id)
	s.MustExec("INSERT INTO live VALUES (?, ?, ?, ?, 'default', ?, '', ?)", key, id, d.Group, d.Resource, name, id)
	return id
}

func TestCustom(t *testing.T) {
	s := openStore(t)
	table, err := InstallOne(t.Context(), s, cronTab)
	if err != nil {
		t.Fatal(err)
	}
	full := putCustom(t, s, cronTab, "full", `{"metadata":{"name":"full","namespace":"default","creationTimestamp":"2026-01-09T23:59:00Z","labels":{"example.com/a":"b"}},
		"spec":{"cron":"* * * * *","replicas":2,"paused":true,"list":["x","y","z"],"map":{"k":[1,true]},"null":null},
		"status":{"load":1.5,"seen":"2026-01-09T23:00:00Z","conditions":["odd",{"type":"Other","status":"False"},{"type":"Ready","status":"True"}]}}`)
	empty := putCustom(t, s, cronTab, "empty", `{"metadata":{"name":"empty","namespace":"default","creationTimestamp":"2026-01-09T23:59:00Z"}}`)
	wrong := putCustom(t, s, cronTab, "wrong", `{"metadata":{"name":"wrong","namespace":"default","creationTimestamp":"2026-01-09T23:59:00Z"},
		"spec":{"cron":7,"replicas":"two","paused":"yes","list":{"a":1}},"status":{"load":true,"seen":"soon","conditions":{}}}`)
	got, err := Cells(t.Context(), s, table, []int64{full, empty, wrong})
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64][]any{
		full:  {"full", "* * * * *", int64(2), 1.5, true, "True", "x", "z", "b", "b", `{"k":[1,true]}`, "60m", nil, "<no value>", nil, "60s"},
		empty: {"empty", nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, "60s"},
		wrong: {"wrong", "7", nil, nil, nil, nil, nil, nil, nil, nil, nil, "<invalid>", nil, nil, nil, "60s"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.SQL)
	}
	if diff := cmp.Diff([]string{"name", "spec", "replicas", "load", "paused", "ready", "first", "last", "label", "label_2", "map", "seen", "whole", "null", "odd", "age"}, names); diff != "" {
		t.Errorf("columns (-want +got):\n%s", diff)
	}
	if c := table.Columns[2]; c.Description != "Custom resource definition column (in JSONPath format): .spec.replicas" || c.Priority != 1 {
		t.Errorf("column replicas is %+v", c)
	}
	if stock := s.stock(t, "SELECT namespace, name, replicas, paused, ready FROM crontabs"); stock != nil {
		want := [][]string{{"default", "empty", "", "", ""}, {"default", "full", "2", "true", "True"}, {"default", "wrong", "", "", ""}}
		if diff := cmp.Diff(want, stock); diff != "" {
			t.Errorf("stock sqlite3 (-want +got):\n%s", diff)
		}
	}
}

// TestCustomNames: a plural that is taken, by a kind of ours or by another
// group, gives way; the same definition again does not.
func TestCustomNames(t *testing.T) {
	s := openStore(t)
	install := func(d Definition) Table {
		t.Helper()
		table, err := InstallOne(t.Context(), s, d)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Exec(fmt.Sprintf("SELECT * FROM %q", table.Name)); err != nil {
			t.Errorf("select from %s: %v", table.Name, err)
		}
		return table
	}
	other := cronTab
	other.Group, other.Prefix, other.Columns = "other.example.com", "/registry/other.example.com/crontabs/", nil
	service := Definition{Group: "serving.example.com", Resource: "services", Prefix: "/registry/serving.example.com/services/"}
	for _, step := range []struct {
		d    Definition
		want string
	}{
		{cronTab, "crontabs"},
		{other, "crontabs.other.example.com"},
		{cronTab, "crontabs"},
		{other, "crontabs.other.example.com"},
		{service, "services.serving.example.com"},
	} {
		if got := install(step.d).Name; got != step.want {
			t.Errorf("table of %s.%s is %s, want %s", step.d.Resource, step.d.Group, got, step.want)
		}
	}
	table := install(other)
	if err := Remove(t.Context(), s, table); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(`SELECT * FROM "crontabs.other.example.com"`); err == nil {
		t.Error("a removed view is still there")
	}
	if def := table.Columns[len(table.Columns)-1]; def.Name != "Age" || def.Type != "date" {
		t.Errorf("a definition without columns has %+v", def)
	}
}
