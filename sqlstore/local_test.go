package sqlstore_test

import (
	"errors"
	"testing"

	"kuberow/sqlstore"
)

func TestAnotherProcessProposesThroughItsTable(t *testing.T) {
	d := open(t)
	version := func() int64 {
		v, err := d.DataVersion(t.Context())
		must(t, err)
		return v
	}
	before := version()
	d.do(txn(put("a", "")))
	if version() != before {
		t.Error("the store's own commit changed the data version")
	}
	foreign(t, d.Path(), `INSERT INTO proposal (key, value) VALUES ('/registry/configmaps/default/c', '{}')`, `INSERT INTO proposal (key) VALUES ('k')`)
	if version() == before {
		t.Error("another process's commit did not change the data version")
	}
	ps, err := d.Proposals(t.Context(), 10)
	must(t, err)
	if len(ps) != 2 || ps[0].Value.String != "{}" || ps[1].Value.Valid {
		t.Fatalf("proposals %+v", ps)
	}
	must(t, d.FinishProposal(t.Context(), ps[0].ID, sqlstore.ProposalDone, ""))
	must(t, d.FinishProposal(t.Context(), ps[1].ID, sqlstore.ProposalRefused, "no such kind"))
	if got := d.rows(`SELECT status || ' ' || coalesce(error, '-') FROM proposal ORDER BY id`); got[0] != "done -" || got[1] != "refused no such kind" {
		t.Errorf("outcomes %v", got)
	}
	if ps, err = d.Proposals(t.Context(), 10); err != nil || len(ps) != 0 {
		t.Errorf("still pending: %v, %v", ps, err)
	}
}

func TestLocalWritesAreAllOrNothing(t *testing.T) {
	d := open(t)
	stop := errors.New("stop")
	err := d.Write(t.Context(), func(db sqlstore.Execer) error {
		if _, err := db.ExecContext(t.Context(), `INSERT INTO clock_pin VALUES (1); CREATE VIEW v AS SELECT 1`); err != nil {
			return err
		}
		return stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("Write returned %v", err)
	}
	if got := d.rows(`SELECT CAST(now AS TEXT) FROM clock_pin UNION ALL SELECT name FROM sqlite_schema WHERE type = 'view'`); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}
