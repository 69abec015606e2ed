package tables

// Cells: from kv rows to the cells of a Table answer. One query renders a batch
// of rows; the ids travel as one JSON array, so the statement is the same for
// any number of them.

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"
)

// Cells renders kv rows by id: for each the cells of t.Columns in their order,
// an integer as int64, a number as float64, a boolean as bool, text as string,
// NULL as nil. An id that kv does not have is missing in the answer. The time
// is that of the view clock.
func Cells(ctx context.Context, q sqlx.QueryerContext, t Table, ids []int64) (map[int64][]any, error) {
	list, err := idList(t, ids)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, t.rowQuery(), list)
	return collect(t, rows, err)
}

// CellsOf renders an object that is in no row, given as the JSON text that
// kv.value would have: what a dry run made, or a bookmark's empty one. The
// view's own text does it, with the one row put in kv's place.
func CellsOf(ctx context.Context, q sqlx.QueryerContext, t Table, value string) ([]any, error) {
	object, err := objectBody()
	if err != nil {
		return nil, err
	}
	row, err := t.rowBody()
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, "WITH kv(id, version, prev_id, value) AS (SELECT 0, 1, NULL, ?), object AS ("+object+
		") SELECT id, "+t.columnList("")+" FROM ("+row+")", value)
	cells, err := collect(t, rows, err)
	return cells[0], err
}

// rowBody is the query of NAME_row.
func (t Table) rowBody() (string, error) {
	for _, v := range t.Views {
		if v.Name == t.Name+"_row" {
			return v.body()
		}
	}
	return "", fmt.Errorf("render %s: it has no view of rows", t.Name)
}

// objectBody is the query of the view object.
func objectBody() (string, error) {
	for _, t := range all() {
		for _, v := range t.Views {
			if v.Name == "object" {
				return v.body()
			}
		}
	}
	return "", errors.New("there is no view object")
}

// body is the query that the view is a name for.
func (v View) body() (string, error) {
	_, body, ok := strings.Cut(v.SQL, " AS\n")
	if !ok {
		return "", fmt.Errorf("view %s: no query", v.Name)
	}
	return strings.TrimSuffix(strings.TrimSpace(body), ";"), nil
}

// ListCells is Cells for the answer to a list: where upstream marks a name in a
// list and not elsewhere (the default StorageClass), so does this. The rows
// must live.
func ListCells(ctx context.Context, q sqlx.QueryerContext, t Table, ids []int64) (map[int64][]any, error) {
	if !t.ListName {
		return Cells(ctx, q, t, ids)
	}
	list, err := idList(t, ids)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, t.listQuery(), list)
	return collect(t, rows, err)
}

// Renderer is Cells with prepared statements, for who renders single rows again
// and again: a watch. Compiling a view costs as much as rendering ten rows.
type Renderer struct {
	db *sqlx.DB

	mu    sync.Mutex
	stmts map[string]*sql.Stmt // by query text, so a changed custom table gets a new one
}

// NewRenderer makes a Renderer over a pool of readers. Close it before the pool.
func NewRenderer(db *sqlx.DB) *Renderer {
	return &Renderer{db: db, stmts: map[string]*sql.Stmt{}}
}

// Cells is the function Cells over the renderer's pool.
func (r *Renderer) Cells(ctx context.Context, t Table, ids []int64) (map[int64][]any, error) {
	list, err := idList(t, ids)
	if err != nil {
		return nil, err
	}
	stmt, err := r.prepare(ctx, t)
	if err != nil {
		return nil, err
	}
	rows, err := stmt.QueryContext(ctx, list)
	return collect(t, rows, err)
}

func (r *Renderer) prepare(ctx context.Context, t Table) (*sql.Stmt, error) {
	text := t.rowQuery()
	r.mu.Lock()
	defer r.mu.Unlock()
	if stmt, ok := r.stmts[text]; ok {
		return stmt, nil
	}
	stmt, err := r.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, fmt.Errorf("prepare rows of %s: %w", t.Name, err)
	}
	r.stmts[text] = stmt
	return stmt, nil
}

// Close frees the statements.
func (r *Renderer) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, stmt := range r.stmts {
		errs = append(errs, stmt.Close())
	}
	clear(r.stmts)
	return errors.Join(errs...)
}

// rowQuery selects the id and the cells from NAME_row.
func (t Table) rowQuery() string {
	return "SELECT id, " + t.columnList("") + " FROM " + quote(t.Name+"_row") +
		" WHERE id IN (SELECT value FROM json_each(?))"
}

// listQuery takes the cells from NAME, which has no id: live finds it by the name.
func (t Table) listQuery() string {
	return "SELECT live.id, " + t.columnList("v.") + " FROM live JOIN " + quote(t.Name) + " AS v" +
		" ON v.name IN (live.name, live.name || ' (default)')" +
		" WHERE live.key = '" + t.Prefix + "' || live.name AND live.id IN (SELECT value FROM json_each(?))"
}

func (t Table) columnList(prefix string) string {
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = prefix + quote(c.SQL)
	}
	return strings.Join(names, ", ")
}

// idList is the argument of both queries.
func idList(t Table, ids []int64) (string, error) {
	if ids == nil {
		ids = []int64{} // null would be a list of one NULL
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return "", fmt.Errorf("encode ids of %s: %w", t.Name, err)
	}
	return string(list), nil
}

// collect reads the rows of either query.
func collect(t Table, rows *sql.Rows, err error) (map[int64][]any, error) {
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", t.Name, err)
	}
	defer rows.Close()
	out := map[int64][]any{}
	scan := make([]any, len(t.Columns)+1)
	for rows.Next() {
		var id int64
		cells := make([]any, len(t.Columns))
		scan[0] = &id
		for i := range cells {
			scan[i+1] = &cells[i]
		}
		if err := rows.Scan(scan...); err != nil {
			return nil, fmt.Errorf("read row of %s: %w", t.Name, err)
		}
		for i, c := range t.Columns {
			cells[i] = jsonCell(c, cells[i])
		}
		out[id] = cells
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("render %s: %w", t.Name, err)
	}
	return out, nil
}

// jsonCell gives a cell its JSON type. SQLite keeps the type of each value, but
// has no booleans: those are the texts true and false.
func jsonCell(c Column, cell any) any {
	if b, ok := cell.([]byte); ok {
		cell = string(b)
	}
	if !c.Bool {
		return cell
	}
	switch cell {
	case "true":
		return true
	case "false":
		return false
	}
	return cell
}
