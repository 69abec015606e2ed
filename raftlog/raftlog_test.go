package raftlog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// put is an unconditional write of a small value.
func put(key, value string) *sqlstore.Command {
	return &sqlstore.Command{Request: sqlstore.Request{User: "test"},
		Txn: &sqlstore.Txn{Then: []sqlstore.Op{{Type: sqlstore.OpPut, Key: key, Value: []byte(value)}}}}
}

func start(t testing.TB, s *sqlstore.Store, o Options) *Node {
	t.Helper()
	if o.HouseInterval == 0 {
		o.HouseInterval = -1
	}
	n, err := Start(t.Context(), s, o)
	must(t, err)
	t.Cleanup(func() { must(t, n.Stop()) })
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code sqlstore.Code) {
	t.Helper()
	if got := sqlstore.CodeOf(err); got != code {
		t.Fatalf("error %v has code %q, want %q", err, got, code)
	}
}

func rows(t testing.TB, s *sqlstore.Store, query string) string {
	t.Helper()
	var out []string
	must(t, s.Reader().Select(&out, query))
	return strings.Join(out, "\n")
}

func TestALogOfOneMemberIsRows(t *testing.T) {
	s := storetest.Open(t)
	n := start(t, s, Options{})
	for _, cmd := range []*sqlstore.Command{
		put("a", "1"),
		{Txn: &sqlstore.Txn{Then: []sqlstore.Op{{Type: sqlstore.OpDelete, Key: "a"}, {Type: sqlstore.OpDelete, Key: "b"}}}},
		{LeaseGrant: &sqlstore.LeaseGrant{ID: 1, TTL: 9}},
		{Compact: &sqlstore.Compact{Revision: 3}},
	} {
		_, err := n.Propose(t.Context(), cmd)
		must(t, err)
	}
	got := rows(t, s, `SELECT idx || ' ' || term || ' ' || type || ' ' || op || ' ' || key || ' ' || (data IS NULL) FROM raft_log ORDER BY idx`)
	want := "1 1 normal elect  1\n2 1 normal put a 0\n3 1 normal delete and 1 more a 0\n4 1 normal lease grant  0\n5 1 normal compact  0"
	if got != want {
		t.Errorf("raft_log is\n%s\nwant\n%s", got, want)
	}
	if got := rows(t, s, `SELECT member_id || ' ' || incarnation || ' ' || term || ' ' || vote || ' ' || commit_index || ' ' || applied_index || ' ' || conf_state FROM raft_state`); got != `1 1 1 1 5 5 {"voters":[1]}` {
		t.Errorf("raft_state is %s", got)
	}
	if got := rows(t, s, `SELECT CAST(id AS TEXT) FROM request`); got != "2\n3" { // a request has its entry's number
		t.Errorf("request ids are %s", got)
	}
	st := n.Status()
	if st.Leader != 1 || st.Applied != 5 || st.Last != 5 || st.First != 1 || !n.Leader() {
		t.Errorf("status %+v", st)
	}
}

func TestProposalsOfManyCallersEachGetTheirAnswer(t *testing.T) {
	s := storetest.Open(t)
	n := start(t, s, Options{})
	var wg sync.WaitGroup
	for w := range 50 {
		wg.Go(func() {
			for i := range 10 {
				key := fmt.Sprintf("k%d-%d", w, i)
				res, err := n.Propose(context.Background(), put(key, key))
				if err != nil || res.Rows[0].Key != key || res.Rows[0].ModRevision != res.Revision && res.Revision < res.Rows[0].ModRevision {
					t.Errorf("put %s answered %+v, %v", key, res, err)
				}
			}
		})
	}
	wg.Wait()
	if s.Revision() != 501 {
		t.Errorf("revision %d, want 501", s.Revision())
	}
}

// Of many callers that compare with the same revision, one wins.
func TestAComparedWriteIsWonOnce(t *testing.T) {
	s := storetest.Open(t)
	n := start(t, s, Options{})
	var wg sync.WaitGroup
	won := make(chan int, 40)
	for w := range 40 {
		wg.Go(func() {
			cmd := put("k", fmt.Sprint(w))
			cmd.Txn.Compare = []sqlstore.Compare{{Key: "k", Target: sqlstore.CompareMod, Result: sqlstore.Equal}}
			if res, err := n.Propose(context.Background(), cmd); err == nil && res.Succeeded {
				won <- w
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d callers won", len(won))
	}
}

func TestRefusalsOfApplyAreErrors(t *testing.T) {
	n := start(t, storetest.Open(t), Options{MaxCommandBytes: 1000})
	_, err := n.Propose(t.Context(), &sqlstore.Command{LeaseKeep: &sqlstore.LeaseKeep{ID: 5}})
	wantCode(t, err, sqlstore.CodeNotFound)
	_, err = n.Propose(t.Context(), put("k", strings.Repeat("x", 1000)))
	wantCode(t, err, sqlstore.CodeTooLarge)
	_, err = n.Propose(t.Context(), put("k", "fits"))
	must(t, err)
}

func TestACallerThatGaveUpIsNotWaitedFor(t *testing.T) {
	hold, entered := make(chan struct{}), make(chan struct{}, 10)
	armed := false
	s := storetest.OpenWith(t, sqlstore.Options{Faults: &sqlstore.Faults{BeforeCommit: func() error {
		if armed {
			entered <- struct{}{}
			<-hold
		}
		return nil
	}}})
	n := start(t, s, Options{})
	armed = true // the loop is idle: the channel of proposals orders this write before its next read
	first := make(chan error, 1)
	go func() { _, err := n.Propose(context.Background(), put("a", "")); first <- err }()
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() { _, err := n.Propose(ctx, put("b", "")); second <- err }()
	for len(n.proposals) == 0 { // until it is queued behind the commit
		runtime.Gosched()
	}
	cancel()
	if err := <-second; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled proposal: %v", err)
	}
	close(hold)
	must(t, <-first)
	_, err := n.Propose(t.Context(), put("c", ""))
	must(t, err)
	if _, ok, err := s.Get(t.Context(), "b", 0); ok || err != nil {
		t.Errorf("a proposal that was given up before its turn was made (%v)", err)
	}
}

func TestStopAnswersThoseWhoWait(t *testing.T) {
	n := start(t, storetest.Open(t), Options{})
	must(t, n.Stop())
	_, err := n.Propose(t.Context(), put("a", ""))
	wantCode(t, err, sqlstore.CodeClosed)
}

// Raft's promise to a leader's client: what was acknowledged survives a restart, at the same index.
func TestTheLogContinuesAfterARestart(t *testing.T) {
	s := storetest.Open(t)
	for life := 1; life <= 3; life++ {
		n, err := Start(t.Context(), s, Options{HouseInterval: -1})
		must(t, err)
		res, err := n.Propose(t.Context(), put("a", fmt.Sprint(life)))
		must(t, err)
		if want := int64(1 + life); res.Revision != want {
			t.Errorf("life %d writes revision %d, want %d", life, res.Revision, want)
		}
		if st := n.Status(); st.Term != uint64(life) || st.Last != uint64(2*life) {
			t.Errorf("life %d: %+v", life, st)
		}
		must(t, n.Stop())
	}
}

// An entry that is committed but not applied, as after an install or with several members, is applied at the start.
func TestAStartAppliesWhatWasNotApplied(t *testing.T) {
	s := storetest.Open(t)
	var data [][]byte
	for i := range 600 { // more than one read of rows
		d, err := encode(put(fmt.Sprint("k", i), "v"))
		must(t, err)
		data = append(data, d)
	}
	tx, err := s.Begin(t.Context())
	must(t, err)
	for i, d := range data {
		must(t, tx.Exec(`INSERT INTO raft_log (idx, term, type, op, key, data) VALUES (?, 1, 'normal', 'put', ?, ?)`, i+1, fmt.Sprint("k", i), d))
	}
	must(t, tx.Exec(`UPDATE raft_state SET term = 1, commit_index = ?`, len(data)))
	must(t, tx.Commit())
	n := start(t, s, Options{})
	if s.Revision() != 601 || n.Status().Applied != 601 { // and the new leader's own entry
		t.Errorf("revision %d, applied %d; want 601, 601", s.Revision(), n.Status().Applied)
	}
}

func TestTheLogIsTruncatedBehindItsRetention(t *testing.T) {
	s := storetest.Open(t)
	n := start(t, s, Options{RetainLog: 100})
	for i := range 2000 {
		_, err := n.Propose(t.Context(), put("a", fmt.Sprint(i)))
		must(t, err)
	}
	var count int
	must(t, s.Reader().Get(&count, `SELECT count(*) FROM raft_log`))
	if count < 100 || count > 100+truncateStep {
		t.Errorf("%d entries are kept, want 100 to %d", count, 100+truncateStep)
	}
	must(t, n.Stop())
	start(t, s, Options{RetainLog: 100}) // from a truncated log
}

// While another process holds the file writes are refused, reads go on, and nothing is stuck afterwards.
func TestAForeignTransactionMakesProposalsBusy(t *testing.T) {
	s := storetest.OpenWith(t, sqlstore.Options{BusyTimeout: 30 * time.Millisecond})
	n := start(t, s, Options{})
	_, err := n.Propose(t.Context(), put("a", "1"))
	must(t, err)
	other, err := sql.Open("sqlite", "file:"+s.Path())
	must(t, err)
	defer other.Close()
	other.SetMaxOpenConns(1)
	_, err = other.Exec(`BEGIN IMMEDIATE`)
	must(t, err)
	for range 3 {
		_, err = n.Propose(t.Context(), put("a", "2"))
		wantCode(t, err, sqlstore.CodeBusy)
	}
	if kv, ok, err := s.Get(t.Context(), "a", 0); err != nil || !ok || string(kv.Value) != "1" {
		t.Errorf("read while busy: %s, %v", kv.Value, err)
	}
	_, err = other.Exec(`ROLLBACK`)
	must(t, err)
	res, err := n.Propose(t.Context(), put("a", "3"))
	must(t, err)
	if res.Revision != 3 {
		t.Errorf("revision %d, want 3: refused proposals must not be made later", res.Revision)
	}
}
