package tables

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestInstallAgain says what a start on an existing file does: nothing, except
// for views whose text changed. schema_version counts every change of the schema.
func TestInstallAgain(t *testing.T) {
	s := openStore(t)
	version := func() (n int) {
		if err := s.Get(&n, "PRAGMA schema_version"); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := version()
	if err := Install(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if after := version(); after != before {
		t.Errorf("an install without news changed the schema: version %d, was %d", after, before)
	}
	s.MustExec("DROP VIEW pods; CREATE VIEW pods AS SELECT 'old' AS text")
	if err := Install(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	have, err := installed(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range all() {
		for _, v := range table.Views {
			if diff := cmp.Diff(v.SQL, have[v.Name]); diff != "" {
				t.Errorf("view %s is not the one of the program (-want +got):\n%s", v.Name, diff)
			}
		}
	}
}

// TestInstallInTransaction takes a transaction of the caller's.
func TestInstallInTransaction(t *testing.T) {
	s := openStore(t)
	s.MustExec("DROP VIEW pods")
	tx := s.MustBegin()
	if err := Install(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec("SELECT * FROM pods"); err == nil {
		t.Error("the view is there although its transaction was rolled back")
	}
}

// TestColumns compares each header with the views it describes.
func TestColumns(t *testing.T) {
	s := openStore(t)
	columns := func(view string) []string {
		rows, err := s.Query("SELECT * FROM " + view + " LIMIT 0")
		if err != nil {
			t.Fatalf("prepare %s: %v", view, err)
		}
		defer rows.Close()
		list, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, table := range All() {
		var declared, cells []string
		if table.Namespaced {
			declared = append(declared, "namespace")
		}
		for _, c := range table.Columns {
			cells = append(cells, c.SQL)
			if !c.Declared() {
				continue
			}
			declared = append(declared, c.SQL)
			if want := columnName(c.Name); c.SQL != want {
				t.Errorf("%s: column of heading %q is %s, want %s", table.Name, c.Name, c.SQL, want)
			}
			if strings.Contains(c.Description, `\n`) || strings.TrimSpace(c.Description) != c.Description {
				t.Errorf("%s.%s: description %q", table.Name, c.SQL, c.Description)
			}
			if !slices.Contains([]string{"string", "integer", "boolean", "date"}, c.Type) {
				t.Errorf("%s.%s: type %q", table.Name, c.SQL, c.Type)
			}
		}
		if diff := cmp.Diff(declared, columns(table.Name)); diff != "" {
			t.Errorf("%s: header and view differ (-header +view):\n%s", table.Name, diff)
		}
		row := columns(table.Name + "_row")
		for _, c := range append(cells, "id") {
			if !slices.Contains(row, c) {
				t.Errorf("%s_row has no column %s", table.Name, c)
			}
		}
		if got, ok := For(table.Group, table.Resource); !ok || got.Name != table.Name {
			t.Errorf("For(%q, %q) = %q, %v", table.Group, table.Resource, got.Name, ok)
		}
	}
	if core, _ := For("", "events"); core.Name != "events" {
		t.Errorf("core events are %q", core.Name)
	}
	if events, _ := For("events.k8s.io", "events"); events.Name != "events" {
		t.Errorf("events.k8s.io events are %q", events.Name)
	}
}

// TestPlans reads the query plans: a list is a range of live and then rows of
// kv by their number; so are rows by id. Both SQLites plan for themselves.
func TestPlans(t *testing.T) {
	s := openStore(t)
	for _, table := range All() {
		for query, first := range map[string]string{
			"SELECT * FROM " + table.Name:                                                                   "SEARCH l USING PRIMARY KEY (key>? AND key<?)",
			"SELECT * FROM " + table.Name + "_row WHERE id = 7":                                             "SEARCH kv USING INTEGER PRIMARY KEY (rowid=?)",
			"SELECT * FROM " + table.Name + "_row WHERE id IN (SELECT value FROM json_each(json_array(7)))": "SEARCH kv USING INTEGER PRIMARY KEY (rowid=?)",
		} {
			for driver, plan := range s.plans(t, query) {
				if !strings.Contains(plan, first) {
					t.Errorf("%s: %s: the plan lacks %q:\n%s", driver, query, first, plan)
				}
				for _, scan := range []string{"SCAN kv", "SCAN prev", "SCAN l\n", "SCAN live"} {
					if strings.Contains(plan+"\n", scan) {
						t.Errorf("%s: %s: the plan has %q:\n%s", driver, query, scan, plan)
					}
				}
			}
		}
	}
}

// plans explains a query with the driver and, when there is one, the stock sqlite3.
func (s *store) plans(t *testing.T, query string) map[string]string {
	t.Helper()
	rows, err := s.Queryx("EXPLAIN QUERY PLAN " + query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var ours strings.Builder
	for rows.Next() {
		cells, err := rows.SliceScan()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&ours, cells[3])
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	plans := map[string]string{"modernc": ours.String()}
	if stock := s.stock(t, "EXPLAIN QUERY PLAN "+query); stock != nil {
		var b strings.Builder
		for _, row := range stock {
			fmt.Fprintln(&b, strings.Join(row, " "))
		}
		plans["sqlite3"] = b.String()
	}
	return plans
}

// TestNoMacroLeft says that what is installed is plain SQL.
func TestNoMacroLeft(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".sql") {
			n++
		}
	}
	if n != len(all()) {
		t.Errorf("%d files, %d tables", n, len(all()))
	}
	for _, table := range all() {
		for _, v := range table.Views {
			if strings.Contains(v.SQL, "{{") || strings.Contains(v.SQL, "}}") || strings.Contains(v.SQL, "%1") {
				t.Errorf("view %s still has a macro:\n%s", v.Name, v.SQL)
			}
		}
	}
}

// TestBadFiles: what a table file may not look like.
func TestBadFiles(t *testing.T) {
	for name, text := range map[string]string{
		"no view":          "-- pods: x\n\nCREATE VIEW pods AS\nSELECT 1;\n",
		"unknown macro":    "-- view: pods\n\nCREATE VIEW pods AS\nSELECT {{nothing}};\n",
		"missing argument": "-- view: pods\n\nCREATE VIEW pods AS\nSELECT {{since}};\n",
		"open macro":       "-- view: pods\n\nCREATE VIEW pods AS\nSELECT {{age};\n",
		"not a view":       "-- view: pods\n\nDROP TABLE kv;\n",
		"four fields":      "-- view: pods\n-- columns: x\n--   name | Name | string | name\n\nCREATE VIEW pods AS\nSELECT 1;\n",
		"bad priority":     "-- view: pods\n-- columns: x\n--   name | Name | string | name | x\n\nCREATE VIEW pods AS\nSELECT 1;\n",
	} {
		if table, err := parse(text); err == nil {
			t.Errorf("%s: parsed as %+v", name, table)
		}
	}
}
