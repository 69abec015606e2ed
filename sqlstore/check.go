package sqlstore

import (
	"context"
	"fmt"

	"github.com/jmoiron/sqlx"
)

// Check: the invariants of schema.sql as queries. Each looks for rows that
// break a sentence and names them; a clean file gives none. `kuberow check` runs
// them, and so does every test that opened a store. They read only, so they may run beside a server, in
// one snapshot, and a stock sqlite3 can run each of them by hand.

// Problem is one row that breaks an invariant.
type Problem struct {
	Invariant string // the sentence that does not hold
	Detail    string // where
}

// String is for people.
func (p Problem) String() string { return p.Invariant + ": " + p.Detail }

// An Invariant is a sentence and the query for what breaks it: one text column.
type Invariant struct {
	Sentence string
	Query    string
}

// perInvariant bounds what is reported of each.
const perInvariant = 10

// Check runs all Invariants over db, which may be a *sqlx.DB, Conn or Tx.
func Check(ctx context.Context, db sqlx.QueryerContext) ([]Problem, error) {
	var problems []Problem
	for _, inv := range Invariants() {
		var details []string
		query := fmt.Sprintf(`SELECT * FROM (%s) LIMIT %d`, inv.Query, perInvariant)
		if err := sqlx.SelectContext(ctx, db, &details, query); err != nil {
			return problems, wrap("check that "+inv.Sentence, err)
		}
		for _, d := range details {
			problems = append(problems, Problem{inv.Sentence, d})
		}
	}
	return problems, nil
}

// CheckFile is Check of this store, in one snapshot.
func (s *Store) CheckFile(ctx context.Context) ([]Problem, error) {
	select {
	case <-s.wake.closed:
		return nil, newError(CodeClosed, "check file: the store is closed")
	default:
	}
	tx, err := s.rdb.BeginTxx(ctx, nil)
	if err != nil {
		return nil, wrap("check file", err)
	}
	defer tx.Rollback()
	return Check(ctx, tx)
}

// Invariants are the sentences that hold of every file between two transactions.
func Invariants() []Invariant {
	return []Invariant{
		{"SQLite finds its file intact",
			`SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
		{"every foreign key has its row",
			`SELECT "table" || ' row ' || coalesce(rowid, '?') || ' has no ' || parent FROM pragma_foreign_key_check`},
		{"store, raft_state and sweep have one row each",
			`SELECT 'store ' || s || ', raft_state ' || r || ', sweep ' || w FROM (SELECT (SELECT count(*) FROM store) s,
			(SELECT count(*) FROM raft_state) r, (SELECT count(*) FROM sweep) w) WHERE s <> 1 OR r <> 1 OR w <> 1`},
		{"store.current_revision is the newest revision and compact_revision is not above it",
			`SELECT 'current ' || current_revision || ', compact ' || compact_revision || ', newest row ' || newest
			FROM (SELECT current_revision, compact_revision, coalesce((SELECT max(mod_revision) FROM kv), 1) AS newest FROM store)
			WHERE compact_revision > current_revision OR newest > current_revision
			OR current_revision > max(newest, compact_revision, 1)`},
		{"no revision is missing between compact_revision and current_revision",
			`SELECT 'after revision ' || mod_revision || ' comes ' || next FROM (
			SELECT mod_revision, lead(mod_revision) OVER (ORDER BY mod_revision) AS next FROM (SELECT DISTINCT mod_revision FROM kv))
			WHERE next > mod_revision + 1 AND next > (SELECT compact_revision FROM store) + 1
			UNION ALL SELECT 'history begins at ' || first FROM (SELECT min(mod_revision) AS first FROM kv)
			WHERE first > max(2, (SELECT compact_revision FROM store) + 1)`},
		{"within a revision the subs count up from 0",
			`SELECT 'revision ' || mod_revision FROM kv WHERE mod_revision > (SELECT compact_revision FROM store)
			GROUP BY mod_revision HAVING min(sub) <> 0 OR max(sub) <> count(*) - 1`},
		{"kv.id counts up with revision and sub, and store.last_id is not below it",
			`SELECT 'row ' || id || ' after ' || before FROM (
			SELECT id, lag(id) OVER (ORDER BY mod_revision, sub) AS before FROM kv) WHERE before >= id
			UNION ALL SELECT 'row ' || id || ' above last_id' FROM kv WHERE id > (SELECT last_id FROM store)`},
		{"version counts a key's changes since create_revision, and prev_id names the row before",
			`SELECT 'row ' || id || ' of ' || key FROM (
			SELECT kv.*, lag(id) OVER k AS was_id, lag(version) OVER k AS was_version, lag(create_revision) OVER k AS was_create
			FROM kv WINDOW k AS (PARTITION BY key ORDER BY mod_revision))
			WHERE CASE
			WHEN version = 0 THEN create_revision <> 0 OR value IS NOT NULL OR prev_id = 0 OR (was_id IS NOT NULL AND (was_version = 0 OR prev_id <> was_id))
			WHEN version = 1 THEN create_revision <> mod_revision OR prev_id <> 0 OR value IS NULL OR was_version <> 0
			WHEN was_id IS NULL THEN mod_revision > (SELECT compact_revision FROM store) OR create_revision >= mod_revision OR prev_id = 0 OR value IS NULL
			ELSE version <> was_version + 1 OR create_revision <> was_create OR prev_id <> was_id OR value IS NULL END`},
		{"live has exactly the keys whose newest row is no tombstone, pointing at it",
			`SELECT 'key ' || key || ' newest row ' || id || ', live row ' || coalesce(live_id, 'none') FROM (
			SELECT kv.key, kv.id, kv.version, live.id AS live_id FROM kv LEFT JOIN live ON live.key = kv.key
			WHERE kv.mod_revision = (SELECT max(mod_revision) FROM kv AS n WHERE n.key = kv.key))
			WHERE (version > 0 AND live_id IS NOT id) OR (version = 0 AND live_id IS NOT NULL)
			UNION ALL SELECT 'key ' || key || ' has no row ' || id FROM live WHERE id NOT IN (SELECT id FROM kv)`},
		{"every row of kv and every living key has its request",
			`SELECT 'row ' || kv.id || ' of ' || kv.key FROM kv LEFT JOIN request AS q ON q.id = kv.request_id
			WHERE q.id IS NULL OR q.revision <> kv.mod_revision
			UNION ALL SELECT 'key ' || key || ' created by request ' || create_request_id FROM live
			WHERE create_request_id NOT IN (SELECT id FROM request)`},
		{"a cause is older than its effect and its request is kept",
			`SELECT 'request ' || id || ' of revision ' || revision || ' caused by ' || cause_revision FROM request AS e
			WHERE cause_revision <> 0 AND (cause_revision >= revision
			OR NOT EXISTS (SELECT 1 FROM request AS c WHERE c.revision = e.cause_revision))`},
		{"a lease that a living key hangs on exists",
			`SELECT 'key ' || live.key || ' lease ' || kv.lease FROM live JOIN kv ON kv.id = live.id
			WHERE kv.lease <> 0 AND kv.lease NOT IN (SELECT id FROM lease)`},
		{"raft_log has no gaps and begins after raft_state.snapshot_index",
			`SELECT 'after entry ' || idx || ' comes ' || next FROM (SELECT idx, lead(idx) OVER (ORDER BY idx) AS next FROM raft_log) WHERE next <> idx + 1
			UNION ALL SELECT 'first entry ' || first || ', snapshot_index ' || snapshot_index FROM raft_state, (SELECT min(idx) AS first FROM raft_log)
			WHERE first <> snapshot_index + 1`},
		{"terms in raft_log never fall, and none is above raft_state.term",
			`SELECT 'entry ' || idx FROM (SELECT idx, term, lead(term) OVER (ORDER BY idx) AS next FROM raft_log)
			WHERE next < term OR term > (SELECT term FROM raft_state)`},
		{"snapshot_index <= applied_index <= commit_index <= the last entry",
			`SELECT 'snapshot ' || snapshot_index || ', applied ' || applied_index || ', commit ' || commit_index || ', last ' || last
			FROM (SELECT *, coalesce((SELECT max(idx) FROM raft_log), snapshot_index) AS last FROM raft_state)
			WHERE incarnation > 0 AND NOT (snapshot_index <= applied_index AND applied_index <= commit_index AND commit_index <= last)`},
		{"the sweep is not ahead of compact_revision",
			`SELECT 'kv ' || kv_revision || ', request ' || request_revision FROM sweep
			WHERE kv_revision > (SELECT compact_revision FROM store) OR request_revision > kv_revision`},
	}
}
