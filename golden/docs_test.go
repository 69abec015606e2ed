package golden

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"kuberow/sqlstore/storetest"
	"kuberow/tables"
)

// TestDocsNameWhatIsThere fails when a page of docs names a file or a function
// that has moved: `file.go` must exist, and `file.go` `Name` must be declared in it.
func TestDocsNameWhatIsThere(t *testing.T) {
	root := ".."
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	file := regexp.MustCompile("`([a-z0-9_/.]+\\.(?:go|sql))`((?:\\s+`[A-Za-z]+`)?)")
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range file.FindAllStringSubmatch(string(text), -1) {
			source, err := os.ReadFile(filepath.Join(root, m[1]))
			if err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
				continue
			}
			name := strings.Trim(strings.TrimSpace(m[2]), "`")
			if name != "" && !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+name+`\b`).Match(source) {
				t.Errorf("%s names %s in %s, which does not declare it", page, name, m[1])
			}
		}
	}
}

// TestReadmeQueriesRun runs the queries of the README's tour on a new store.
func TestReadmeQueriesRun(t *testing.T) {
	store := storetest.Open(t)
	ctx := context.Background()
	if err := store.WithWriter(ctx, func(ctx context.Context, db *sqlx.Conn) error { return tables.Install(ctx, db) }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?ms)^(SELECT .*?);$`).FindAllStringSubmatch(string(text), -1) {
		rows, err := store.Reader().QueryxContext(ctx, m[1])
		if err != nil {
			t.Errorf("%s\n%v", m[1], err)
			continue
		}
		rows.Close()
		n++
	}
	if n < 6 {
		t.Errorf("%d queries found in the README: the tour has more", n)
	}
}
