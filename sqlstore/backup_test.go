package sqlstore_test

import (
	"path/filepath"
	"testing"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

func TestABackupIsAStoreOfItsMoment(t *testing.T) {
	d := open(t)
	d.do(txn(put("a", "1")))
	dst := filepath.Join(storetest.Dir(t), "cluster.db")
	must(t, d.Backup(t.Context(), dst))
	d.do(txn(put("a", "2")))
	again := &db{Store: storetest.OpenWith(t, sqlstore.Options{Path: dst}), t: t}
	if got := again.all("a", 0); len(got) != 1 || got[0] != "a=1@2/2/1" || again.Applied() != 1 {
		t.Errorf("the copy holds %v, applied %d", got, again.Applied())
	}
	again.do(txn(put("b", "")))
	wantCode(t, d.Backup(t.Context(), dst), sqlstore.CodeExists)
}
