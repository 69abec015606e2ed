package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/wire"
	"kuberow/sqlstore"
	"kuberow/tables"
)

// Tables. The cells come from the kind's SQL view, by kv id; around them stand
// the column definitions and, for each row, the object or its metadata.

// tableWriter writes rows of one resource as a Table.
type tableWriter struct {
	encoder
	table   tables.Table
	known   bool // the resource has a view
	version string
	include metav1.IncludeObjectPolicy
}

// newTable reads the table options of the request.
func (c *call) newTable() (*tableWriter, error) {
	o := &metav1.TableOptions{}
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return nil, err
	}
	if errs := validation.ValidateTableOptions(o); len(errs) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: %v", errs[0]))
	}
	t := &tableWriter{encoder: c.encoder(), version: c.out.As.Version, include: o.IncludeObject}
	t.table, t.known = tables.For(c.Resource.Group, c.Resource.Name)
	return t, nil
}

// columns are the definitions, as JSON.
func (t *tableWriter) columns() ([]byte, error) { return json.Marshal(t.definitions()) }

func (t *tableWriter) definitions() (defs []metav1.TableColumnDefinition) {
	if !t.known {
		doc := metav1.ObjectMeta{}.SwaggerDoc()
		defs = []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: doc["name"]},
			{Name: "Created At", Type: "date", Description: doc["creationTimestamp"]},
		}
	}
	for _, c := range t.table.Columns {
		if c.Declared() {
			defs = append(defs, metav1.TableColumnDefinition{
				Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Description, Priority: c.Priority,
			})
		}
	}
	return defs
}

// head is the Table up to its rows.
func (t *tableWriter) head(m metav1.ListMeta, columns []byte) ([]byte, error) {
	list, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode list metadata: %w", err)
	}
	return fmt.Appendf(nil, `{"kind":"Table","apiVersion":"meta.k8s.io/%s","metadata":%s,"columnDefinitions":%s,"rows":`,
		t.version, list, columns), nil
}

// nullRows tells whether a table without rows has null rather than an empty list of them: so it is where
// upstream collects rows one by one, in the tables that also say when an object was created instead of its age.
func (t *tableWriter) nullRows() bool {
	created := func(c metav1.TableColumnDefinition) bool { return c.Name == "Created At" }
	return !t.res.Custom && slices.ContainsFunc(t.definitions(), created)
}

// cells renders the rows; inList marks names as a list does.
func (t *tableWriter) cells(ctx context.Context, rows []sqlstore.KV, inList bool) (map[int64][]any, error) {
	if !t.known {
		return nil, nil
	}
	if len(rows) == 1 && rows[0].ID == 0 { // what a dry run made
		return t.unstored(ctx, rows[0].Value)
	}
	ids := make([]int64, 0, len(rows))
	for i := range rows {
		if rows[i].ID != 0 {
			ids = append(ids, rows[i].ID)
		}
	}
	if err := t.rest.waitForViews(ctx); err != nil {
		return nil, err
	}
	render := tables.Cells
	if inList {
		render = tables.ListCells
	}
	var mu sync.Mutex
	var all map[int64][]any
	err := spread(len(ids), 50, func(from, to int) error {
		cells, err := render(ctx, t.rest.Store.Reader(), t.table, ids[from:to])
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		if all == nil {
			all = cells
		} else {
			maps.Copy(all, cells)
		}
		return nil
	})
	return all, err
}

// unstored renders an object that is in no row.
func (t *tableWriter) unstored(ctx context.Context, value []byte) (map[int64][]any, error) {
	if err := t.rest.waitForViews(ctx); err != nil {
		return nil, err
	}
	cells, err := tables.CellsOf(ctx, t.rest.Store.Reader(), t.table, string(value))
	return map[int64][]any{0: cells}, err
}

// appendRow appends one row. shown is the row whose object stands beside the
// cells: the same one, but for a tombstone, whose object is the previous value.
func (t *tableWriter) appendRow(dst []byte, cells []any, shown *sqlstore.KV) ([]byte, error) {
	if cells == nil {
		var err error
		if cells, err = t.plainCells(shown); err != nil {
			return dst, err
		}
	}
	b, err := json.Marshal(cells)
	if err != nil {
		return dst, fmt.Errorf("encode cells of %s: %w", shown.Key, err)
	}
	dst = append(append(dst, `{"cells":`...), b...)
	if t.res.RowConditions != nil && (t.res.MayHaveRowConditions == nil || t.res.MayHaveRowConditions(shown.Value)) {
		if dst, err = t.appendConditions(dst, shown); err != nil {
			return dst, err
		}
	}
	dst = append(dst, `,"object":`...)
	switch t.include {
	case metav1.IncludeNone:
		dst = append(dst, "null"...)
	case metav1.IncludeObject:
		if dst, err = t.appendJSON(dst, shown, false); err != nil {
			return dst, err
		}
	default:
		if b, err = t.partial(shown, t.version); err != nil {
			return dst, err
		}
		dst = append(dst, b...)
	}
	return append(dst, '}'), nil
}

func (t *tableWriter) appendConditions(dst []byte, kv *sqlstore.KV) ([]byte, error) {
	obj, err := t.rest.objects.Object(kv, t.res.Hub.New)
	if err != nil {
		return dst, err
	}
	conditions := t.res.RowConditions(obj)
	if len(conditions) == 0 {
		return dst, nil
	}
	b, err := json.Marshal(conditions)
	return append(append(dst, `,"conditions":`...), b...), err
}

// answerComputed writes objects that are stored nowhere as a Table.
func (c *call) answerComputed(obj runtime.Object) error {
	objs := []runtime.Object{obj}
	if meta.IsListType(obj) {
		var err error
		if objs, err = meta.ExtractList(obj); err != nil {
			return fmt.Errorf("render %s: %w", c.Resource.Name, err)
		}
	}
	return c.answerRows(objs, c.Resource.Table(objs))
}

// answerRows writes a Table whose cells were computed in Go, with the metadata of each row's object.
func (c *call) answerRows(objs []runtime.Object, table *metav1.Table) error {
	for i := range table.Rows {
		m, err := meta.Accessor(objs[i])
		if err != nil {
			return fmt.Errorf("render %s: %w", c.Resource.Name, err)
		}
		p := meta.AsPartialObjectMetadata(m)
		p.SetGroupVersionKind(c.out.As.GroupVersion().WithKind("PartialObjectMetadata"))
		table.Rows[i].Object.Object = p
	}
	table.SetGroupVersionKind(*c.out.As)
	return wire.WriteObject(c.w, c.req, http.StatusOK, wire.Output{MediaType: c.out.MediaType, Pretty: c.out.Pretty}, table)
}

// plainCells are the name and the age: for a kind without a view.
func (t *tableWriter) plainCells(kv *sqlstore.KV) ([]any, error) {
	obj, err := wire.Decoded(kv, kv.ModRevision, t.res.Hub.New)
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", kv.Key, err)
	}
	return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}, nil
}

// answerTable writes a Table of rows that are all at hand.
func (c *call) answerTable(code int, m metav1.ListMeta, rows []sqlstore.KV, inList bool) error {
	t, err := c.newTable()
	if err != nil {
		return err
	}
	columns, err := t.columns()
	if err != nil {
		return err
	}
	b, err := t.head(m, columns)
	if err != nil {
		return err
	}
	if b, err = t.appendRows(c.Ctx, b, rows, inList); err != nil {
		return err
	}
	return wire.WriteJSON(c.w, c.req, code, c.out, append(b, "}\n"...))
}

func (t *tableWriter) appendRows(ctx context.Context, b []byte, rows []sqlstore.KV, inList bool) ([]byte, error) {
	cells, err := t.cells(ctx, rows, inList)
	if err != nil {
		return b, err
	}
	if inList {
		t.sort(rows, cells)
	}
	if len(rows) == 0 && t.nullRows() {
		return append(b, "null"...), nil
	}
	b = append(b, '[')
	for i := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = t.appendRow(b, cells[rows[i].ID], &rows[i]); err != nil {
			return b, err
		}
	}
	return append(b, ']'), nil
}

// sort orders a list's rows as the table wants them; most want the order of the keys.
func (t *tableWriter) sort(rows []sqlstore.KV, cells map[int64][]any) {
	if len(t.table.Order) == 0 {
		return
	}
	slices.SortStableFunc(rows, func(a, b sqlstore.KV) int { return t.table.Compare(cells[a.ID], cells[b.ID]) })
}

// listTable writes a list as a Table. All rows are collected: a kind may want them sorted, and widths are small.
func (c *call) listTable(l *lister, m metav1.ListMeta, rows []sqlstore.KV) error {
	live := l.revision == c.rest.Store.Revision()
	rows, err := l.all(c.Ctx, rows)
	if err != nil {
		return err
	}
	return c.answerTable(http.StatusOK, m, rows, live)
}

// waitForViews waits out the first moments of a server, in which it answers already and makes its views.
func (r *REST) waitForViews(ctx context.Context) error {
	if r.Views == nil {
		return nil
	}
	select {
	case <-r.Views:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
