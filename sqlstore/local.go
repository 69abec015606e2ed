package sqlstore

import (
	"context"
	"database/sql"

	"github.com/jmoiron/sqlx"
)

// What belongs to this member and does not go through Raft: its views, the
// pinned clock, and the door for other processes, the table proposal. Nothing
// here may touch a replicated table.

// Execer is a transaction on the writer's connection.
type Execer interface {
	sqlx.QueryerContext
	sqlx.ExecerContext
}

// Write runs do in one transaction on the writer's connection, which commits when do returns nil.
func (s *Store) Write(ctx context.Context, do func(db Execer) error) error {
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(struct { // hides the connection's own BeginTxx: a transaction is open
		sqlx.QueryerContext
		sqlx.ExecerContext
	}{s.writer.c, s.writer.c}); err != nil {
		return wrap("write local rows", err)
	}
	return tx.Commit()
}

// DataVersion changes whenever another connection, which for this purpose
// means another process, has committed to the file. Comparing two answers is cheap
// enough to do several times a second; it is how a new proposal is noticed.
func (s *Store) DataVersion(context.Context) (version int64, err error) {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed {
		return 0, newError(CodeClosed, "read data version: the store is closed")
	}
	return version, wrap("read data version", s.writer.get(`PRAGMA data_version`, nil, &version))
}

// Proposal is a pending row of the table proposal.
type Proposal struct {
	ID    int64          `db:"id"`
	Key   string         `db:"key"`
	Value sql.NullString `db:"value"` // not Valid: delete the key
}

// How a proposal ends.
const (
	ProposalDone    = "done"
	ProposalRefused = "refused"
)

// Proposals reads the wishes of other processes that nobody has dealt with, in their order.
func (s *Store) Proposals(ctx context.Context, limit int) (ps []Proposal, err error) {
	err = s.query(ctx, "read proposals", func(c *conn) error {
		return c.each(`SELECT id, key, value FROM proposal WHERE status = 'pending' ORDER BY id LIMIT ?`, []any{limit}, func(rows *sql.Rows) error {
			var p Proposal
			err := rows.Scan(&p.ID, &p.Key, &p.Value)
			ps = append(ps, p)
			return err
		})
	})
	return ps, err
}

// FinishProposal writes the outcome of a proposal for the process that made it.
func (s *Store) FinishProposal(ctx context.Context, id int64, status, reason string) error {
	return s.Write(ctx, func(db Execer) error {
		_, err := db.ExecContext(ctx, `UPDATE proposal SET status = ?, error = nullif(?, '') WHERE id = ?`, status, reason, id)
		return err
	})
}
