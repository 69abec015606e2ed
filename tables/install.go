package tables

// Installing: every view of this package is compared with the text that the
// file has, and made again where they differ. The common start changes nothing
// and costs one query. A view may name a view that does not exist yet, so the
// order in which they are made is free.

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"
)

// DB is where views are installed: a *sqlx.DB, in which Install opens a
// transaction of its own, or a connection or transaction of the caller's.
type DB interface {
	sqlx.QueryerContext
	sqlx.ExecerContext
}

// beginner is a DB that can open the transaction which Install wants.
type beginner interface {
	BeginTxx(ctx context.Context, opts *sql.TxOptions) (*sqlx.Tx, error)
}

// Install makes the views of all tables, and clock, object, history and why.
func Install(ctx context.Context, db DB) error {
	return install(ctx, db, all())
}

// Remove drops the views of one table, for a custom resource that is no more.
func Remove(ctx context.Context, db DB, t Table) error {
	for _, v := range slices.Backward(t.Views) {
		if _, err := db.ExecContext(ctx, "DROP VIEW IF EXISTS "+quote(v.Name)); err != nil {
			return fmt.Errorf("drop view %s: %w", v.Name, err)
		}
	}
	return nil
}

func install(ctx context.Context, db DB, tables []Table) error {
	have, err := installed(ctx, db)
	if err != nil {
		return err
	}
	script := script(tables, have)
	if script == "" {
		return nil
	}
	b, ok := db.(beginner)
	if !ok {
		if _, err := db.ExecContext(ctx, script); err != nil {
			return fmt.Errorf("create views: %w", err)
		}
		return nil
	}
	tx, err := b.BeginTxx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin to create views: %w", err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return fmt.Errorf("create views: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit views: %w", err)
	}
	return nil
}

// installed returns the text of the views that the file has.
func installed(ctx context.Context, db sqlx.QueryerContext) (map[string]string, error) {
	rows, err := db.QueryContext(ctx, "SELECT name, sql FROM sqlite_schema WHERE type = 'view'")
	if err != nil {
		return nil, fmt.Errorf("read installed views: %w", err)
	}
	defer rows.Close()
	have := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, fmt.Errorf("read installed view: %w", err)
		}
		have[name] = text
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read installed views: %w", err)
	}
	return have, nil
}

// script is what has to run so that the file has the views of tables: one text,
// since each statement sent by itself costs a round through the driver.
func script(tables []Table, have map[string]string) string {
	var s strings.Builder
	for _, t := range tables {
		for _, v := range t.Views {
			old, ok := have[v.Name]
			if ok && old == v.SQL {
				continue
			}
			if ok {
				fmt.Fprintf(&s, "DROP VIEW %s;\n", quote(v.Name))
			}
			s.WriteString(v.SQL)
			s.WriteString(";\n")
		}
	}
	return s.String()
}

// quote makes an SQL identifier of any name.
func quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
