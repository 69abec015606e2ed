package sqlstore

import (
	"context"

	"github.com/jmoiron/sqlx"
)

// Views belong to the member, not to the log: they are made outside of apply,
// by package tables, on the writer's connection and between two transactions.

// WithWriter lends the writer's connection to f, which may change what belongs
// to the member alone: views and clock_pin. No Tx is under way meanwhile.
func (s *Store) WithWriter(ctx context.Context, f func(ctx context.Context, db *sqlx.Conn) error) error {
	s.write.Lock()
	defer s.write.Unlock()
	if s.closed {
		return newError(CodeClosed, "change views: the store is closed")
	}
	return f(ctx, s.writer.c)
}
