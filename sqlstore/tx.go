package sqlstore

import "context"

// A Tx is one SQLite transaction of the one writer. raftlog opens it, appends
// log entries with Exec, applies committed commands with Apply, and commits
// all of it at once. Then, and only then, may it answer those who proposed.
//
//	Begin      takes the write lock and BEGIN IMMEDIATE; CodeBusy when another process writes
//	Apply      any number of times, index by index
//	Commit     COMMIT with fsync; memory follows; watchers wake
//	Rollback   instead of Commit: nothing has happened
//
// After an error of Apply, Exec or Commit the Tx is spent: it can only be rolled back.
type Tx struct {
	s       *Store
	st      state // becomes s.state at commit
	changes []*Change
	seen    []resourceRow // prefixes new in this transaction
	err     error         // the first failure of SQLite
	done    bool
}

// Begin starts a transaction. It waits for a Tx or a step of the sweep
// that is under way, and up to BusyTimeout for another process.
func (s *Store) Begin(ctx context.Context) (*Tx, error) {
	s.write.Lock()
	if s.closed {
		s.write.Unlock()
		return nil, newError(CodeClosed, "begin transaction: the store is closed")
	}
	if err := ctx.Err(); err != nil {
		s.write.Unlock()
		return nil, err
	}
	if err := s.writer.exec(`BEGIN IMMEDIATE`); err != nil {
		s.write.Unlock()
		return nil, wrap("begin transaction", err)
	}
	return &Tx{s: s, st: s.state}, nil
}

// Exec runs one statement inside the transaction: raftlog's rows.
func (tx *Tx) Exec(query string, args ...any) error {
	if tx.err == nil {
		tx.fail("write row", tx.s.writer.exec(query, args...))
	}
	return tx.err
}

// fail keeps the first failure.
func (tx *Tx) fail(doing string, err error) bool {
	if err != nil && tx.err == nil {
		tx.err = wrap(doing, err)
	}
	return tx.err != nil
}

// Err is the first failure of SQLite in this transaction; with one, Commit will not.
func (tx *Tx) Err() error { return tx.err }

// Applied is the index of the last command applied in or before the transaction.
func (tx *Tx) Applied() uint64 { return tx.st.applied }

// Commit writes the counters, commits, and lets memory and watchers follow.
// On an error the transaction was rolled back.
func (tx *Tx) Commit() error {
	tx.saveState()
	if tx.err == nil && tx.s.faults.BeforeCommit != nil {
		tx.fail("commit transaction", tx.s.faults.BeforeCommit())
	}
	if tx.err == nil {
		tx.fail("commit transaction", tx.s.writer.exec(`COMMIT`)) // the commit point: durable when it returns
	}
	if tx.err != nil {
		err := tx.err
		tx.Rollback()
		return err
	}
	if tx.s.faults.AfterCommit != nil {
		tx.s.faults.AfterCommit()
	}
	s := tx.s
	moved := tx.st.revision != s.state.revision
	s.state = tx.st
	s.resource.add(tx.seen)
	s.compact.Store(tx.st.compact)
	s.ring.append(tx.changes)
	s.revision.Store(tx.st.revision)
	tx.done = true
	s.write.Unlock()
	if moved {
		s.wake.send()
	}
	return nil
}

// saveState writes what the transaction changed of the counters.
func (tx *Tx) saveState() {
	old := tx.s.state
	if tx.st.revision != old.revision || tx.st.compact != old.compact || tx.st.lastID != old.lastID {
		_ = tx.Exec(`UPDATE store SET current_revision = ?, compact_revision = ?, last_id = ?`,
			tx.st.revision, tx.st.compact, tx.st.lastID)
	}
	if tx.st.applied != old.applied {
		_ = tx.Exec(`UPDATE raft_state SET applied_index = ?`, int64(tx.st.applied))
	}
}

// Rollback ends the transaction without a trace. It may follow Commit.
func (tx *Tx) Rollback() {
	if tx.done {
		return
	}
	tx.done = true
	// SQLite may have rolled back by itself, on a full disk for one: then this fails, and rightly.
	_ = tx.s.writer.exec(`ROLLBACK`)
	tx.s.write.Unlock()
}
