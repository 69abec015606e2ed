package tables

// A scratch store for tests: the tables of schema.sql in a real file, filled
// from txtar archives whose file names are keys.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite"
	"sigs.k8s.io/yaml"
)

// pinned is where the clock of a scratch store stands.
var pinned = time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC)

// store is a scratch store.
type store struct {
	*sqlx.DB
	path   string
	nextID int64
}

// openStore makes an empty store with all views installed.
func openStore(t testing.TB) *store {
	t.Helper()
	schema, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cluster.db")
	db := sqlx.MustConnect("sqlite", path+"?_pragma=synchronous(off)")
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	db.MustExec(string(schema))
	if err := Install(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	db.MustExec("INSERT INTO clock_pin VALUES (?)", pinned.Unix())
	for _, table := range All() {
		db.MustExec("INSERT INTO resource VALUES (?, ?, ?)", table.Prefix, table.Group, table.Resource)
	}
	return &store{DB: db, path: path}
}

// write is one change in a scratch store.
type write struct {
	key, value   string // no value deletes
	user, verb   string
	cause        int64 // kv.id of the change it reacts to
	causeRemoved bool  // the row of the cause is compacted
}

// put writes one change and returns its kv.id, which is also its revision.
func (s *store) put(t testing.TB, w write) int64 {
	t.Helper()
	s.nextID++
	id := s.nextID
	var prev, version int64
	s.Get(&prev, "SELECT id FROM live WHERE key = ?", w.key)
	s.Get(&version, "SELECT version FROM kv WHERE id = ?", prev)
	version++
	value := any(w.value)
	if w.value == "" {
		value, version = nil, 0
	}
	at := pinned.Add(time.Duration(id) * time.Second)
	s.MustExec("INSERT INTO request VALUES (?, ?, ?, ?, ?, 'test', ?, '/path', ?, ?)",
		id, id, w.key, at.UnixNano(), w.user, w.verb, w.cause, w.cause)
	s.MustExec(`INSERT INTO kv (id, mod_revision, sub, key, create_revision, version, lease, value, prev_id, request_id)
		VALUES (?, ?, 0, ?, ?, ?, 0, ?, ?, ?)`, id, id, w.key, id, version, value, prev, id)
	switch {
	case w.value == "":
		s.MustExec("DELETE FROM live WHERE key = ?", w.key)
	case prev != 0:
		s.MustExec("UPDATE live SET id = ? WHERE key = ?", id, w.key)
	default:
		table, namespace, name := owner(t, w.key)
		s.MustExec("INSERT INTO live VALUES (?, ?, ?, ?, ?, ?, '', ?)", w.key, id, table.Group, table.Resource, namespace, name, id)
	}
	return id
}

// owner finds the table of a key, and the object's namespace and name.
func owner(t testing.TB, key string) (table Table, namespace, name string) {
	t.Helper()
	for _, table := range All() {
		if rest, ok := strings.CutPrefix(key, table.Prefix); ok {
			if !table.Namespaced {
				return table, "", rest
			}
			namespace, name, _ := strings.Cut(rest, "/")
			return table, namespace, name
		}
	}
	t.Fatalf("no table for key %s", key)
	return Table{}, "", ""
}

// object completes an object of a test with its name, as JSON.
func object(t testing.TB, key, text string) string {
	t.Helper()
	var o map[string]any
	if err := yaml.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("parse %s: %v", key, err)
	}
	_, namespace, name := owner(t, key)
	metadata := o["metadata"].(map[string]any)
	metadata["name"] = name
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
