package sqlstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// A foreign reader that never ends keeps the WAL from shrinking: writes go on, and the log says why the disk fills.
func TestAForeignReaderThatPinsTheWALIsNamed(t *testing.T) {
	var log bytes.Buffer
	d := &db{Store: storetest.OpenWith(t, sqlstore.Options{WALWarning: 1 << 20, Logger: slog.New(slog.NewTextHandler(&log, nil))}), t: t}
	d.do(txn(put("a", "")))
	d.WatchWAL()
	if log.Len() != 0 {
		t.Errorf("a warning too early: %s", log.String())
	}
	other := foreign(t, d.Path(), `BEGIN`)
	var n int
	must(t, other.QueryRow(`SELECT count(*) FROM kv`).Scan(&n))
	for range 30 {
		d.do(txn(put("a", strings.Repeat("x", 50_000))))
	}
	d.WatchWAL()
	if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "wal_bytes=") {
		t.Errorf("no warning at %d bytes: %s", d.WALSize(), log.String())
	}
}

// SQLite's own checkpoints, made by the commit that fills it, keep the WAL small.
func TestTheWALStaysSmallUnderLoad(t *testing.T) {
	d := open(t)
	var largest int64
	for range 3000 {
		d.do(txn(put("a", strings.Repeat("x", 3000))))
		largest = max(largest, d.WALSize())
	}
	if largest > 2*4000*4200 {
		t.Errorf("the WAL grew to %d bytes", largest)
	}
}
