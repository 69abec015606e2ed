package sqlstore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

func openAt(t testing.TB, path string) (*sqlstore.Store, error) {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), sqlstore.Options{Path: path, ClusterID: 1})
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// foreign opens the file as another program would.
func foreign(t testing.TB, path string, statements ...string) *sql.DB {
	t.Helper()
	other, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	other.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = other.Close() })
	for _, st := range statements {
		if _, err := other.Exec(st); err != nil {
			t.Fatalf("%s: %v", st, err)
		}
	}
	return other
}

func TestTheSchemaIsEmbeddedAsItIs(t *testing.T) {
	root, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if string(root) != sqlstore.Schema {
		t.Error("sqlstore/schema.sql differs from schema.sql: run make generate")
	}
}

// A path is a path: relative, with spaces, with what a URL would take for a query.
func TestAnyPathCanBeOpened(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"plain", ".hidden", "with space", "a?mode=memory", "50%25", "x#y", "c:"} {
		path := filepath.Join(dir, "cluster.db")
		if _, err := openAt(t, path); err != nil {
			t.Errorf("%q: %v", path, err)
		} else if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%q: the database is not there: %v", path, err)
		}
	}
}

func TestOpeningWhatIsNotOursSaysWhatToDo(t *testing.T) {
	tests := []struct {
		name  string
		make  func(t *testing.T, path string)
		code  sqlstore.Code
		words string
	}{
		{"a directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, sqlstore.CodeOpen, "directory"},
		{"no database", func(t *testing.T, path string) {
			must(t, os.WriteFile(path, []byte(strings.Repeat("hello\n", 1000)), 0o600))
		}, sqlstore.CodeForeign, "not a SQLite database"},
		{"another program's database", func(t *testing.T, path string) { foreign(t, path, `CREATE TABLE kine (id)`) }, sqlstore.CodeForeign, "another program"},
		{"another application_id", func(t *testing.T, path string) { foreign(t, path, `PRAGMA application_id = 7`, `CREATE TABLE kv (id)`) }, sqlstore.CodeForeign, "0x7"},
		{"a newer schema", func(t *testing.T, path string) {
			s, err := openAt(t, path)
			must(t, err)
			must(t, s.Close())
			foreign(t, path, `PRAGMA user_version = 99`)
		}, sqlstore.CodeNewer, "version 99"},
		{"a parent that is a file", func(t *testing.T, path string) {
			must(t, os.Remove(filepath.Dir(path)))
			must(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		}, sqlstore.CodeOpen, "--data-dir"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data", "cluster.db")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			test.make(t, path)
			before, _ := os.ReadFile(path)
			_, err := openAt(t, path)
			wantCode(t, err, test.code)
			if !strings.Contains(err.Error(), test.words) {
				t.Errorf("error %q does not say %q", err, test.words)
			}
			after, _ := os.ReadFile(path)
			if string(before) != string(after) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestASecondServerIsRefused(t *testing.T) {
	d := open(t)
	_, err := openAt(t, d.Path())
	wantCode(t, err, sqlstore.CodeLocked)
	must(t, d.Close())
	s, err := openAt(t, d.Path())
	must(t, err)
	must(t, s.Close())
}

func TestTheFileIsPrivateAndMarked(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "")))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(d.Path() + suffix)
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("cluster.db%s has mode %v", suffix, info.Mode())
		}
	}
	for pragma, want := range map[string]int64{"application_id": sqlstore.ApplicationID, "user_version": sqlstore.SchemaVersion, "auto_vacuum": 2} {
		var got int64
		must(t, d.Reader().Get(&got, `PRAGMA `+pragma))
		if got != want {
			t.Errorf("%s is %d, want %d", pragma, got, want)
		}
	}
}

// An acknowledgement is worth what the fsync before it is: only tests may do without.
func TestCommitsAreSynced(t *testing.T) {
	s, err := openAt(t, filepath.Join(t.TempDir(), "cluster.db"))
	must(t, err)
	pragmas := map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"}
	must(t, s.Write(t.Context(), func(db sqlstore.Execer) error {
		for name, want := range pragmas {
			var got string
			must(t, sqlx.GetContext(t.Context(), db, &got, `PRAGMA `+name))
			if got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		return nil
	}))
}

func TestReadersCannotWrite(t *testing.T) {
	d := open(t)
	if _, err := d.Reader().Exec(`DELETE FROM kv`); err == nil {
		t.Error("a reader deleted rows")
	}
}

func TestAFileFromACrashedCreationIsTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	must(t, os.WriteFile(path, nil, 0o600))
	s, err := openAt(t, path)
	must(t, err)
	if s.Revision() != 1 {
		t.Errorf("revision %d, want 1", s.Revision())
	}
}

func TestTheStoreOpensAgainAsItWas(t *testing.T) {
	path := filepath.Join(storetest.Dir(t), "cluster.db")
	s, err := openAt(t, path)
	must(t, err)
	d := &db{Store: s, t: t}
	op := put("/registry/pods/ns/p", `{"metadata":{"uid":"u"}}`)
	op.Object = sqlstore.ObjectRef{Resource: "pods", Namespace: "ns", Name: "p", UID: "u"}
	d.do(txn(op))
	d.do(txn(del(op.Key)))
	want := d.changes(1, 0)
	must(t, s.Close())
	again := &db{Store: storetest.OpenWith(t, sqlstore.Options{Path: path}), t: t}
	if got := again.changes(1, 0); len(got) != 2 || got[1] != want[1] {
		t.Errorf("changes %v, want %v", got, want)
	}
	if again.Revision() != 3 || again.Applied() != 2 {
		t.Errorf("revision %d, applied %d; want 3, 2", again.Revision(), again.Applied())
	}
	if got := again.do(txn(put("b", ""))).Rows[0]; got.ID != 3 || got.ModRevision != 4 {
		t.Errorf("next row %+v", got)
	}
}

func TestAnotherProcessThatWritesMakesTheStoreBusyNotBroken(t *testing.T) {
	d := &db{Store: storetest.OpenWith(t, sqlstore.Options{BusyTimeout: 20 * time.Millisecond}), t: t}
	d.do(txn(put("a", "1")))
	other := foreign(t, d.Path(), `BEGIN IMMEDIATE`)
	_, err := d.try(txn(put("a", "2")))
	wantCode(t, err, sqlstore.CodeBusy)
	if got := d.all("a", 0); len(got) != 1 || got[0] != "a=1@2/2/1" { // reads go on
		t.Errorf("read while busy: %v", got)
	}
	_, err = other.Exec(`ROLLBACK`)
	must(t, err)
	d.do(txn(put("a", "3")))
	if d.Revision() != 3 {
		t.Errorf("revision %d, want 3", d.Revision())
	}
}

func TestADiskThatIsFullRefusesAndRecovers(t *testing.T) {
	d := &db{Store: storetest.OpenWith(t, sqlstore.Options{Faults: &sqlstore.Faults{MaxPages: 60}}), t: t}
	revision := int64(1)
	for range 200 {
		_, err := d.try(txn(put("a", strings.Repeat("x", 20_000))))
		if err != nil {
			wantCode(t, err, sqlstore.CodeFull)
			if d.Revision() != revision {
				t.Errorf("revision %d after the failure, want %d", d.Revision(), revision)
			}
			d.do(txn(put("b", "small"))) // what fits still goes
			return
		}
		revision++
	}
	t.Error("the disk never filled")
}

func TestADamagedFileIsSaidToBeDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cluster.db")
	s, err := openAt(t, path)
	must(t, err)
	d := &db{Store: s, t: t}
	for range 20 {
		d.do(txn(put("a", strings.Repeat("x", 3000))))
	}
	must(t, s.Close())
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	info, err := f.Stat()
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("\xa5", int(info.Size())-8192)), 8192) // all but the first two pages
	must(t, err)
	must(t, f.Close())
	_, err = openAt(t, path)
	wantCode(t, err, sqlstore.CodeCorrupt)
	if !strings.Contains(err.Error(), "restore") {
		t.Errorf("error %q does not say what to do", err)
	}
}
