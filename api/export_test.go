package api

import (
	"context"
	"database/sql"

	"kuberow/sqlstore"
)

// CarryOut is what a row of the table proposal comes to, for tests that do not wait for the poll.
func (s *Server) CarryOut(ctx context.Context, key string, value sql.NullString) error {
	return s.carryOut(ctx, sqlstore.Proposal{Key: key, Value: value})
}
