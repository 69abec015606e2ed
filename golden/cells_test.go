package golden

import (
	"encoding/json"
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
		out, err := exec.Command(sqlite, "-json", database, sql).CombinedOutput()
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
	kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	kubectl("wait", "--for=condition=Ready", "pod/bare", "--timeout=60s")
	query(`INSERT INTO clock_pin(now) VALUES (unixepoch() + 4000)`)

	kinds, cells := 0, 0
	for _, table := range tables.All() {
		rows := query(`SELECT * FROM "` + table.Name + `"`)
		if len(rows) == 0 || table.Resource == "" {
			continue
		}
		resource := table.Resource
		if table.Group != "" {
			resource += "." + table.Group
		}
		printed := parseTable(kubectl("get", resource, "-A", "-o", "wide"))
		if len(printed) != len(rows) {
			t.Errorf("%s: kubectl prints %d rows, SQL gives %d", resource, len(printed), len(rows))
			continue
		}
		kinds++
		for i, row := range rows {
			for heading, got := range printed[i] {
				want := printable(row[columnName(heading)])
				if got != want {
					t.Errorf("%s row %d %s: kubectl %q, SQL %q", resource, i, heading, got, want)
				}
				cells++
			}
		}
	}
	t.Logf("%d kinds, %d cells", kinds, cells)
	if kinds < 25 {
		t.Errorf("only %d kinds have rows: the session should make more", kinds)
	}
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
