package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kuberow/tables"
)

// TestKubectlAndSQLPrintTheSameCells is promise 2 of the README: for every kind
// that has objects after a session, kubectl get -A -o wide and the view in stock
// sqlite3 agree cell by cell, the clock pinned.
func TestKubectlAndSQLPrintTheSameCells(t *testing.T) {
	sqlite, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("no sqlite3 on this machine")
	}
	k := newKilled(t)
	k.start()
	defer k.kill()
	database := filepath.Join(k.dir, "cluster.db")
	kubectl := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(os.Getenv("KUBECTL"), args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(k.dir, "kubeconfig"), "HOME="+t.TempDir())
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("kubectl %v: %v", args, err)
		}
		return string(out)
	}
	query := func(sql string) []map[string]any {
		t.Helper()
		out, err := exec.Command(sqlite, "-json", "-cmd", ".timeout 5000", database, sql).CombinedOutput()
		if err != nil {
			t.Fatalf("sqlite3 %s: %v\n%s", sql, err, out)
		}
		var rows []map[string]any
		if len(out) == 0 {
			return nil
		}
		if err := json.Unmarshal(out, &rows); err != nil {
			t.Fatalf("sqlite3 %s: %v\n%s", sql, err, out)
		}
		return rows
	}
	kubectl("apply", "-f", "testdata/session.yaml")
	kubectl("certificate", "approve", "jane")
	kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	kubectl("wait", "--for=condition=Ready", "pod/bare", "--timeout=60s")
	kubectl("wait", "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "pod/crash", "--timeout=60s")
	kubectl("cordon", "node-1")
	kubectl("delete", "pod", "waiting", "--wait=false")
	query(`INSERT INTO clock_pin(now) VALUES (unixepoch() + 4000)`)

	kinds, cells := 0, 0
	for _, table := range tables.All() {
		for _, r := range table.Resources {
			k.eventually(table.Name, func() error { // a row that changes between the two reads is read again
				rows := query(`SELECT * FROM "` + table.Name + `"`)
				if len(rows) == 0 {
					return nil
				}
				n, err := compareCells(table, parseTable(kubectl("get", qualified(r), "-A", "-o", "wide")), rows)
				if err == nil {
					kinds++
					cells += n
				}
				return err
			})
		}
	}
	t.Logf("%d kinds, %d cells", kinds, cells)
	if kinds < 55 {
		t.Errorf("only %d kinds have rows: the session should make more", kinds)
	}
}

// qualified names a resource for kubectl, which may know two of the name.
func qualified(r tables.Resource) string {
	if r.Group == "" {
		return r.Resource
	}
	return r.Resource + "." + r.Group
}

// compareCells compares what kubectl printed with the rows of the view: the same
// rows in the same order, the same columns, the same cells.
func compareCells(table tables.Table, printed []map[string]string, rows []map[string]any) (cells int, err error) {
	if len(printed) != len(rows) {
		return 0, fmt.Errorf("kubectl prints %d rows, SQL gives %d", len(printed), len(rows))
	}
	for i, row := range rows {
		for _, column := range table.Columns {
			if heading := strings.ToUpper(column.Name); column.Declared() && !hasKey(printed[i], heading) {
				err = errors.Join(err, fmt.Errorf("kubectl prints no column %s", heading))
			}
		}
		for heading, got := range printed[i] {
			want, there := row[columnName(heading)]
			if !there || got != printable(want) {
				err = errors.Join(err, fmt.Errorf("row %d %s: kubectl %q, SQL %q", i, heading, got, printable(want)))
			}
			cells++
		}
	}
	return cells, err
}

func hasKey(m map[string]string, key string) bool {
	_, there := m[key]
	return there
}

var notInName = regexp.MustCompile(`[^a-z0-9 ]`)

// columnName is the rule that the README gives for view columns.
func columnName(heading string) string {
	return strings.ReplaceAll(notInName.ReplaceAllString(strings.ToLower(heading), ""), " ", "_")
}

// printable is how kubectl prints a cell: nothing for null, the first line of a text.
func printable(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return fmt.Sprintf("%.0f", v)
	case string:
		if line, _, more := strings.Cut(v, "\n"); more {
			return line + "..."
		}
		return strings.TrimSpace(v)
	default:
		return fmt.Sprint(v)
	}
}

var gap = regexp.MustCompile(` {2,}`)

// parseTable cuts kubectl's output at the places where its headings begin.
func parseTable(text string) []map[string]string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var starts []int
	var headings []string
	at := 0
	for _, h := range gap.Split(strings.TrimRight(lines[0], " "), -1) {
		at = strings.Index(lines[0][at:], h) + at
		starts, headings = append(starts, at), append(headings, h)
		at += len(h)
	}
	var rows []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		runes := []rune(line)
		for i, h := range headings {
			end := len(runes)
			if i+1 < len(starts) && starts[i+1] < end {
				end = starts[i+1]
			}
			if starts[i] < end {
				row[h] = strings.TrimSpace(string(runes[starts[i]:end]))
			} else {
				row[h] = ""
			}
		}
		rows = append(rows, row)
	}
	return rows
}
