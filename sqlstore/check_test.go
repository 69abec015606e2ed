package sqlstore_test

import (
	"strings"
	"testing"

	"kuberow/sqlstore"
)

// A check that cannot fail checks nothing: each invariant is broken by hand once.
func TestCheckFindsWhatIsBroken(t *testing.T) {
	breaks := []struct{ sentence, by string }{
		{"every foreign key has its row", `INSERT INTO label VALUES ('a', 'b', 'nokey')`},
		{"store, raft_state and sweep have one row each", `DELETE FROM sweep`},
		{"store.current_revision is the newest revision", `UPDATE store SET current_revision = 3`},
		{"store.current_revision is the newest revision", `UPDATE store SET current_revision = 9`},
		{"no revision is missing", `DELETE FROM kv WHERE mod_revision = 3`},
		{"no revision is missing", `DELETE FROM kv WHERE mod_revision = 2`},
		{"within a revision the subs count up", `UPDATE kv SET sub = 5 WHERE mod_revision = 3`},
		{"kv.id counts up with revision and sub", `UPDATE kv SET id = 99 WHERE mod_revision = 2`},
		{"kv.id counts up with revision and sub", `UPDATE store SET last_id = 1`},
		{"version counts a key's changes", `UPDATE kv SET version = 7 WHERE mod_revision = 3`},
		{"version counts a key's changes", `UPDATE kv SET prev_id = 0 WHERE mod_revision = 3`},
		{"version counts a key's changes", `UPDATE kv SET create_revision = 3 WHERE mod_revision = 3`},
		{"version counts a key's changes", `UPDATE kv SET value = NULL WHERE mod_revision = 3`},
		{"version counts a key's changes", `UPDATE kv SET value = 'x' WHERE version = 0`},
		{"live has exactly the keys", `DELETE FROM live WHERE key = 'a'`},
		{"live has exactly the keys", `UPDATE live SET id = 1 WHERE key = 'a'`},
		{"live has exactly the keys", `INSERT INTO live VALUES ('b', 4, '', '', '', '', '', 1)`},
		{"every row of kv and every living key has its request", `DELETE FROM request WHERE revision = 3`},
		{"every row of kv and every living key has its request", `UPDATE live SET create_request_id = 99`},
		{"a cause is older than its effect", `UPDATE request SET cause_revision = 9 WHERE revision = 3`},
		{"a cause is older than its effect", `UPDATE request SET cause_revision = 1 WHERE revision = 3`},
		{"a lease that a living key hangs on exists", `DELETE FROM lease`},
		{"raft_log has no gaps", `INSERT INTO raft_log VALUES (1, 0, 'normal', '', '', NULL), (3, 0, 'normal', '', '', NULL)`},
		{"raft_log has no gaps", `INSERT INTO raft_log VALUES (2, 0, 'normal', '', '', NULL)`},
		{"terms in raft_log never fall", `INSERT INTO raft_log VALUES (1, 5, 'normal', '', '', NULL)`},
		{"snapshot_index <= applied_index", `UPDATE raft_state SET incarnation = 1, commit_index = 99`},
		{"the sweep is not ahead", `UPDATE sweep SET kv_revision = 9`},
	}
	for _, b := range breaks {
		t.Run(b.by, func(t *testing.T) {
			path := t.TempDir() + "/cluster.db"
			s, err := openAt(t, path)
			must(t, err)
			d := &db{Store: s, t: t}
			d.grant(7, 10, 0)
			d.do(txn(leased("a", 7)))
			d.do(txn(leased("a", 7)))
			d.do(txn(put("b", "")))
			d.do(txn(del("b")))
			if problems, err := s.CheckFile(t.Context()); err != nil || len(problems) > 0 {
				t.Fatalf("before: %v, %v", problems, err)
			}
			must(t, s.Close())
			foreign(t, path, b.by).Close()
			s, err = openAt(t, path)
			must(t, err)
			problems, err := s.CheckFile(t.Context())
			must(t, err)
			for _, p := range problems {
				if strings.HasPrefix(p.Invariant, b.sentence) {
					return
				}
			}
			t.Errorf("found %v, want: %s", problems, b.sentence)
		})
	}
	for _, inv := range sqlstore.Invariants() { // integrity_check needs a damaged file: SQLite's own tests do that
		if inv.Sentence == "SQLite finds its file intact" {
			continue
		}
		covered := false
		for _, b := range breaks {
			covered = covered || strings.HasPrefix(inv.Sentence, b.sentence)
		}
		if !covered {
			t.Errorf("nothing breaks: %s", inv.Sentence)
		}
	}
}
