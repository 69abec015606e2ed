package tables

// Cells: from kv rows to the cells of a Table answer. One query renders a batch
// of rows; the ids travel as one JSON array, so the statement is the same for
// any number of them.

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
)

// Cells renders kv rows by id: for each the cells of t.Columns in their order,
// an integer as int64, a number as float64, a boolean as bool, text as string, NULL as nil. An
// id that kv does not have is missing in the answer. The clock is the view's.
func Cells(ctx context.Context, q sqlx.QueryerContext, t Table, ids []int64) (map[int64][]any, error) {
	return query(ctx, q, t, t.rowQuery(), ids)
}

// ListCells is Cells for the answer to a list: where upstream marks a name in a
// list and not elsewhere (the default StorageClass), so does this. The rows must be live.
func ListCells(ctx context.Context, q sqlx.QueryerContext, t Table, ids []int64) (map[int64][]any, error) {
	if !t.ListName {
		return Cells(ctx, q, t, ids)
	}
	return query(ctx, q, t, t.listQuery(), ids)
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

func query(ctx context.Context, q sqlx.QueryerContext, t Table, text string, ids []int64) (map[int64][]any, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode ids of %s: %w", t.Name, err)
	}
	rows, err := q.QueryContext(ctx, text, string(list))
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", t.Name, err)
	}
	defer rows.Close()
	out := make(map[int64][]any, len(ids))
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
	switch v := cell.(type) {
	case []byte:
		cell = string(v)
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
