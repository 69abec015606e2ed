package raftlog

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"kuberow/sqlstore"
)

// storage is Raft's view of raft_log and raft_state: the rows, and in memory the
// bounds of the log and its newest entries. Used by the loop only.
//
// Raft reads through raft.Storage; the loop writes through append, save and truncate, inside
// a Tx. Reads go to committed rows, so an entry that is not committed yet
// must be in tail: append puts it there, and trim runs only between transactions. When a
// transaction fails, the storage is thrown away and loaded again.
//
//	snapshot_index   first        tail[0]                  last
//	-------|-----------|-------------|-----------------------|
//	deleted       rows only          rows, and in memory
type storage struct {
	db      reader
	hard    *pb.HardState
	conf    *pb.ConfState
	applied uint64

	snapshotIndex, snapshotTerm uint64 // the entry before the first
	last, lastTerm              uint64 // the newest entry; the snapshot's when the log is empty

	tail []*pb.Entry // the newest entries, without a gap
}

// reader runs a query on committed rows.
type reader interface {
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
	GetContext(ctx context.Context, dest any, query string, args ...any) error
}

// tailEntries is how many applied entries stay in the tail, for members that are a little behind.
const tailEntries = 64

// entryRow is a row of raft_log.
type entryRow struct {
	Idx  int64  `db:"idx"`
	Term int64  `db:"term"`
	Type string `db:"type"`
	Data []byte `db:"data"`
}

// confState is raft_state.conf_state as JSON.
type confState struct {
	Voters         []uint64 `json:"voters"`
	Learners       []uint64 `json:"learners,omitempty"`
	VotersOutgoing []uint64 `json:"votersOutgoing,omitempty"`
	LearnersNext   []uint64 `json:"learnersNext,omitempty"`
	AutoLeave      bool     `json:"autoLeave,omitempty"`
}

// load reads the member's state and the bounds of its log.
func load(ctx context.Context, db reader) (s *storage, member uint64, incarnation uint64, err error) {
	var row struct {
		Member        uint64 `db:"member_id"`
		Incarnation   uint64 `db:"incarnation"`
		Term          uint64 `db:"term"`
		Vote          uint64 `db:"vote"`
		Commit        uint64 `db:"commit_index"`
		Applied       uint64 `db:"applied_index"`
		SnapshotIndex uint64 `db:"snapshot_index"`
		SnapshotTerm  uint64 `db:"snapshot_term"`
		Conf          string `db:"conf_state"`
	}
	err = db.GetContext(ctx, &row, `SELECT member_id, incarnation, term, vote, commit_index, applied_index, snapshot_index, snapshot_term, conf_state FROM raft_state`)
	if err != nil {
		return nil, 0, 0, fmt.Errorf("read raft state: %w", err)
	}
	var conf confState
	if err := json.Unmarshal([]byte(row.Conf), &conf); err != nil {
		return nil, 0, 0, fmt.Errorf("read raft_state.conf_state: %w", err)
	}
	s = &storage{
		db:            db,
		hard:          &pb.HardState{Term: &row.Term, Vote: &row.Vote, Commit: &row.Commit},
		conf:          &pb.ConfState{Voters: conf.Voters, Learners: conf.Learners, VotersOutgoing: conf.VotersOutgoing, LearnersNext: conf.LearnersNext, AutoLeave: &conf.AutoLeave},
		applied:       row.Applied,
		snapshotIndex: row.SnapshotIndex, snapshotTerm: row.SnapshotTerm,
		last: row.SnapshotIndex, lastTerm: row.SnapshotTerm,
	}
	var newest []entryRow
	if err := db.SelectContext(ctx, &newest, `SELECT idx, term, type, data FROM raft_log ORDER BY idx DESC LIMIT 1`); err != nil {
		return nil, 0, 0, fmt.Errorf("read raft log: %w", err)
	}
	if len(newest) > 0 {
		s.last, s.lastTerm = uint64(newest[0].Idx), uint64(newest[0].Term)
	}
	return s, row.Member, row.Incarnation, nil
}

// InitialState is raft.Storage's.
func (s *storage) InitialState() (*pb.HardState, *pb.ConfState, error) { return s.hard, s.conf, nil }

// FirstIndex is raft.Storage's.
func (s *storage) FirstIndex() (uint64, error) { return s.snapshotIndex + 1, nil }

// LastIndex is raft.Storage's.
func (s *storage) LastIndex() (uint64, error) { return s.last, nil }

// Term is raft.Storage's.
func (s *storage) Term(i uint64) (uint64, error) {
	switch {
	case i == s.snapshotIndex:
		return s.snapshotTerm, nil
	case i < s.snapshotIndex:
		return 0, raft.ErrCompacted
	case i > s.last:
		return 0, raft.ErrUnavailable
	case i == s.last:
		return s.lastTerm, nil
	case len(s.tail) > 0 && i >= s.tail[0].GetIndex():
		return s.tail[i-s.tail[0].GetIndex()].GetTerm(), nil
	}
	var term uint64
	if err := s.db.GetContext(context.Background(), &term, `SELECT term FROM raft_log WHERE idx = ?`, int64(i)); err != nil {
		return 0, fmt.Errorf("read term of entry %d: %w", i, err)
	}
	return term, nil
}

// Entries is raft.Storage's: [lo, hi), at least one, no more bytes than maxSize.
func (s *storage) Entries(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	switch {
	case lo <= s.snapshotIndex:
		return nil, raft.ErrCompacted
	case hi > s.last+1:
		return nil, raft.ErrUnavailable
	}
	var out []*pb.Entry
	if len(s.tail) == 0 || lo < s.tail[0].GetIndex() {
		end := hi
		if len(s.tail) > 0 {
			end = min(hi, s.tail[0].GetIndex())
		}
		rows, err := s.rows(lo, end, maxSize)
		if err != nil {
			return nil, err
		}
		out = rows
	}
	next := lo + uint64(len(out))
	if len(s.tail) > 0 && next >= s.tail[0].GetIndex() && next < hi {
		base := s.tail[0].GetIndex()
		out = append(out, s.tail[next-base:hi-base]...)
	}
	return limitSize(out, maxSize), nil
}

// rows reads entries that are not in memory, a bounded number at a time.
func (s *storage) rows(lo, hi, maxSize uint64) ([]*pb.Entry, error) {
	var rows []entryRow
	err := s.db.SelectContext(context.Background(), &rows,
		`SELECT idx, term, type, data FROM raft_log WHERE idx >= ? AND idx < ? ORDER BY idx LIMIT 256`, int64(lo), int64(min(hi, math.MaxInt64)))
	if err != nil {
		return nil, fmt.Errorf("read entries from %d: %w", lo, err)
	}
	out := make([]*pb.Entry, 0, len(rows))
	for _, r := range rows {
		index, term := uint64(r.Idx), uint64(r.Term)
		if index != lo+uint64(len(out)) {
			return nil, raft.ErrUnavailable // a gap: `kuberow check` names it
		}
		out = append(out, &pb.Entry{Index: &index, Term: &term, Type: entryType(r.Type), Data: r.Data})
	}
	if len(out) == 0 {
		return nil, raft.ErrUnavailable
	}
	return limitSize(out, maxSize), nil
}

// limitSize cuts entries to maxSize bytes of data, but not to none.
func limitSize(entries []*pb.Entry, maxSize uint64) []*pb.Entry {
	var size uint64
	for i, e := range entries {
		size += uint64(len(e.GetData()) + 24)
		if i > 0 && size > maxSize {
			return entries[:i:i]
		}
	}
	return entries
}

// Snapshot is raft.Storage's. A leader asks for one to send to a member that lags
// behind the start of the log; with one voter there is none.
func (s *storage) Snapshot() (*pb.Snapshot, error) {
	return nil, raft.ErrSnapshotTemporarilyUnavailable
}

// append writes entries; those that it has from their index on were never
// committed and go. gist says what raft_log.op and key are.
func (s *storage) append(tx *sqlstore.Tx, entries []*pb.Entry, gist func(*pb.Entry) (op, key string)) error {
	if len(entries) == 0 {
		return nil
	}
	first := entries[0].GetIndex()
	if first <= s.last {
		if err := tx.Exec(`DELETE FROM raft_log WHERE idx >= ?`, int64(first)); err != nil {
			return err
		}
		keep := 0
		for keep < len(s.tail) && s.tail[keep].GetIndex() < first {
			keep++
		}
		s.tail = s.tail[:keep:keep]
	}
	for _, e := range entries {
		op, key := gist(e)
		err := tx.Exec(`INSERT INTO raft_log (idx, term, type, op, key, data) VALUES (?, ?, ?, ?, ?, ?)`,
			int64(e.GetIndex()), int64(e.GetTerm()), typeName(e.GetType()), op, key, nullable(e.GetData()))
		if err != nil {
			return err
		}
		s.tail = append(s.tail, e)
	}
	newest := entries[len(entries)-1]
	s.last, s.lastTerm = newest.GetIndex(), newest.GetTerm()
	return nil
}

// save writes the hard state.
func (s *storage) save(tx *sqlstore.Tx, h *pb.HardState) error {
	s.hard = h
	return tx.Exec(`UPDATE raft_state SET term = ?, vote = ?, commit_index = ?`, int64(h.GetTerm()), int64(h.GetVote()), int64(h.GetCommit()))
}

// truncate deletes up to step entries from the front as long as more than
// keep stay behind the applied index.
func (s *storage) truncate(tx *sqlstore.Tx, applied, keep, step uint64) error {
	if applied < s.snapshotIndex+keep+step {
		return nil
	}
	to := s.snapshotIndex + step
	term, err := s.Term(to)
	if err != nil {
		return err
	}
	if err := tx.Exec(`DELETE FROM raft_log WHERE idx <= ?`, int64(to)); err != nil {
		return err
	}
	s.snapshotIndex, s.snapshotTerm = to, term
	return tx.Exec(`UPDATE raft_state SET snapshot_index = ?, snapshot_term = ?`, int64(to), int64(term))
}

// trim forgets entries of the tail that are applied. Only between transactions.
func (s *storage) trim(applied uint64) {
	if len(s.tail) <= 2*tailEntries {
		return
	}
	cut := len(s.tail) - tailEntries
	for cut > 0 && s.tail[cut-1].GetIndex() > applied {
		cut--
	}
	s.tail = append([]*pb.Entry(nil), s.tail[cut:]...)
}

// nullable stores an empty entry as NULL.
func nullable(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	return data
}

// typeName is raft_log.type.
func typeName(t pb.EntryType) string {
	switch t {
	case pb.EntryType_EntryConfChange:
		return "conf"
	case pb.EntryType_EntryConfChangeV2:
		return "conf v2"
	}
	return "normal"
}

// entryType is typeName's inverse.
func entryType(name string) *pb.EntryType {
	switch name {
	case "conf":
		return pb.EntryType_EntryConfChange.Enum()
	case "conf v2":
		return pb.EntryType_EntryConfChangeV2.Enum()
	}
	return pb.EntryType_EntryNormal.Enum()
}
