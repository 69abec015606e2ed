package sqlstore

import (
	"context"
	"database/sql"
	"net/url"
	"time"

	"github.com/jmoiron/sqlx"
	_ "modernc.org/sqlite" // the driver
)

// A conn is one SQLite connection with its prepared statements. The writer
// is one conn for the life of the store; readers come from a small pool. A
// conn serves one goroutine at a time, whoever holds it.
//
// Statements run without a context on purpose: the driver would start a
// goroutine for each call that could be cancelled, which costs more than the
// call. Reads of many rows look at their context between rows.
type conn struct {
	c     *sqlx.Conn
	stmts map[string]*sql.Stmt
}

// maxStatements bounds a conn's prepared statements: selectors of any shape
// make new ones.
const maxStatements = 200

// dsn is how the file is opened. A reader cannot write, not even by mistake. The path is
// opaque to the URL: a relative one would otherwise begin with the name of a host.
func dsn(path string, busy time.Duration, mode string, pragmas ...string) string {
	q := url.Values{"mode": {mode}, "_busy_timeout": {itoa(busy.Milliseconds())}, "_pragma": pragmas}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// newConn takes a connection out of db for good.
func newConn(db *sqlx.DB) (*conn, error) {
	c, err := db.Connx(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[string]*sql.Stmt{}}, nil
}

// stmt prepares query once.
func (c *conn) stmt(query string) (*sql.Stmt, error) {
	if st, ok := c.stmts[query]; ok {
		return st, nil
	}
	if len(c.stmts) >= maxStatements {
		c.forget()
	}
	st, err := c.c.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	c.stmts[query] = st
	return st, nil
}

// forget closes all prepared statements.
func (c *conn) forget() {
	for query, st := range c.stmts {
		_ = st.Close()
		delete(c.stmts, query)
	}
}

// exec runs a statement that returns nothing.
func (c *conn) exec(query string, args ...any) error {
	st, err := c.stmt(query)
	if err != nil {
		return err
	}
	_, err = st.Exec(args...)
	return err
}

// get scans the one row of query into dest; sql.ErrNoRows when there is none.
func (c *conn) get(query string, args []any, dest ...any) error {
	st, err := c.stmt(query)
	if err != nil {
		return err
	}
	return st.QueryRow(args...).Scan(dest...)
}

// each calls row for every row of query until it returns an error.
func (c *conn) each(query string, args []any, row func(*sql.Rows) error) error {
	st, err := c.stmt(query)
	if err != nil {
		return err
	}
	rows, err := st.Query(args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// close gives the connection up.
func (c *conn) close() error {
	c.forget()
	return c.c.Close()
}
