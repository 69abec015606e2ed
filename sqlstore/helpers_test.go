package sqlstore_test

import (
	"context"
	"fmt"
	"testing"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// A db is a store without a Raft log: its tests commit one command at a time, at the next index.
type db struct {
	*sqlstore.Store
	t     testing.TB
	index uint64
}

func open(t testing.TB) *db {
	t.Helper()
	return &db{Store: storetest.Open(t), t: t}
}

// do applies and commits one command.
func (d *db) do(cmd *sqlstore.Command) *sqlstore.Result {
	d.t.Helper()
	res, err := d.try(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	return res
}

func (d *db) try(cmd *sqlstore.Command) (*sqlstore.Result, error) {
	tx, err := d.Begin(context.Background())
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	d.index = tx.Applied() + 1
	res := tx.Apply(d.index, cmd)
	return res, tx.Commit()
}

// txn is a command with nothing but writes.
func txn(ops ...sqlstore.Op) *sqlstore.Command {
	return &sqlstore.Command{Request: sqlstore.Request{User: "test"}, Txn: &sqlstore.Txn{Then: ops}}
}

func put(key, value string) sqlstore.Op {
	return sqlstore.Op{Type: sqlstore.OpPut, Key: key, Value: []byte(value)}
}

func del(key string) sqlstore.Op { return sqlstore.Op{Type: sqlstore.OpDelete, Key: key} }

// show is a row as tests write it down: key=value@mod/create/version.
func show(kv sqlstore.KV) string {
	if kv.ModRevision == 0 {
		return "none"
	}
	return fmt.Sprintf("%s=%s@%d/%d/%d", kv.Key, kv.Value, kv.ModRevision, kv.CreateRevision, kv.Version)
}

func shows(rows []sqlstore.KV) []string {
	out := []string{}
	for _, r := range rows {
		out = append(out, show(r))
	}
	return out
}

// all reads a whole range.
func (d *db) all(prefix string, revision int64, terms ...sqlstore.Term) []string {
	d.t.Helper()
	page, err := d.Range(d.t.Context(), sqlstore.Query{From: prefix, To: sqlstore.PrefixEnd(prefix), Revision: revision, Terms: terms})
	if err != nil {
		d.t.Fatal(err)
	}
	return shows(page.Rows)
}

// wantCode fails unless err has the code.
func wantCode(t testing.TB, err error, code sqlstore.Code) {
	t.Helper()
	if got := sqlstore.CodeOf(err); got != code {
		t.Fatalf("error %v has code %q, want %q", err, got, code)
	}
}
