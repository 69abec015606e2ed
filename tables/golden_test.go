package tables

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the golden sections of testdata")

// TestGolden prints the views over the objects of each archive: once with the
// driver that the server has and once with the stock sqlite3, which must agree.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	printed := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, view := range golden(t, file) {
				printed[view] = true
			}
		})
	}
	for _, table := range All() {
		if !printed[table.Name] {
			t.Errorf("testdata has no object for %s", table.Name)
		}
	}
}

// golden checks one archive and returns the views it prints.
func golden(t *testing.T, file string) []string {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := openStore(t)
	want := map[string]string{}
	var views []string
	kept := archive.Files[:0:0]
	for _, f := range archive.Files {
		if query, ok := strings.CutPrefix(f.Name, "SELECT * FROM "); ok {
			want[query] = string(f.Data)
			continue
		}
		kept = append(kept, f)
		s.put(t, write{key: f.Name, value: object(t, f.Name, string(f.Data)), user: "admin", verb: "create"})
		table, _, _ := owner(t, f.Name)
		if !slices.Contains(views, table.Name) {
			views = append(views, table.Name)
		}
	}
	for _, view := range views {
		columns, rows := s.selectAll(t, view)
		got := aligned(columns, rows)
		kept = append(kept, txtar.File{Name: "SELECT * FROM " + view, Data: []byte(got)})
		if diff := cmp.Diff(want[view], got); diff != "" && !*update {
			t.Errorf("SELECT * FROM %s (-want +got):\n%s", view, diff)
		}
		if stock := s.stock(t, "SELECT * FROM "+view); stock != nil {
			if diff := cmp.Diff(rows, stock); diff != "" {
				t.Errorf("%s: stock sqlite3 prints something else (-ours +stock):\n%s", view, diff)
			}
		}
		compareCells(t, s, view, rows)
	}
	if *update {
		archive.Files = kept
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return views
}

// selectAll runs SELECT * FROM view, every cell as text.
func (s *store) selectAll(t *testing.T, view string) (columns []string, all [][]string) {
	t.Helper()
	rows, err := s.Queryx("SELECT * FROM " + view)
	if err != nil {
		t.Fatalf("select from %s: %v", view, err)
	}
	defer rows.Close()
	if columns, err = rows.Columns(); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells, err := rows.SliceScan()
		if err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(cells))
		for i, c := range cells {
			if c == nil {
				t.Errorf("%s: a cell of column %s is NULL", view, columns[i])
			}
			row[i] = fmt.Sprint(c)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return columns, all
}

// stock runs a query with the sqlite3 of the machine, nil when it has none.
func (s *store) stock(t *testing.T, query string) [][]string {
	t.Helper()
	sqlite3, err := exec.LookPath("sqlite3")
	if err != nil {
		return nil
	}
	out, err := exec.Command(sqlite3, "-readonly", "-bail", "-list", "-separator", "\x1f", "-newline", "\x1e", s.path, query).CombinedOutput()
	if err != nil {
		t.Fatalf("sqlite3 %s: %v\n%s", query, err, out)
	}
	var rows [][]string
	for line := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte("\x1e")), []byte("\x1e")) {
		rows = append(rows, strings.Split(string(line), "\x1f"))
	}
	return rows
}

// compareCells checks that Cells, which reads NAME_row, gives what NAME prints.
func compareCells(t *testing.T, s *store, view string, rows [][]string) {
	t.Helper()
	i := slices.IndexFunc(All(), func(t Table) bool { return t.Name == view })
	table := All()[i]
	var ids []int64
	if err := s.Select(&ids, "SELECT id FROM live WHERE key >= ? AND key < ? ORDER BY key", table.Prefix, table.Prefix+"~"); err != nil {
		t.Fatal(err)
	}
	cells, err := ListCells(t.Context(), s, table, ids)
	if err != nil {
		t.Fatal(err)
	}
	if table.Namespaced {
		for i := range rows {
			rows[i] = rows[i][1:]
		}
	}
	// the view sorts by itself, of Cells the caller sorts the rows
	slices.SortStableFunc(ids, func(a, b int64) int { return table.Compare(cells[a], cells[b]) })
	var got [][]string
	for _, id := range ids {
		var row []string
		for i, c := range table.Columns {
			if c.Declared() {
				row = append(row, fmt.Sprint(cells[id][i]))
			}
		}
		got = append(got, row)
	}
	if diff := cmp.Diff(rows, got); diff != "" {
		t.Errorf("%s: Cells and the view differ (-view +cells):\n%s", view, diff)
	}
}

// aligned prints rows as kubectl does, so that a golden file reads like one.
func aligned(columns []string, rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, strings.Join(columns, "\t"))
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
