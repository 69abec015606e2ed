package tables

// The table of a custom resource, made when its definition is established: the
// name, then the definition's printer columns. Their cells have the type that
// the column declares; a value of another type shows nothing, as upstream.

import (
	"context"
	"fmt"
	"strings"
)

// Definition is what a CustomResourceDefinition says about one version's table.
type Definition struct {
	Group      string
	Resource   string // plural
	Prefix     string // of its keys, with the last slash: /registry/stable.example.com/crontabs/
	Namespaced bool
	View       string // the view's name; "" for the plural. A version that is not the stored one needs another
	Columns    []CustomColumn
}

// CustomColumn is one of spec.versions[].additionalPrinterColumns.
type CustomColumn struct {
	Name        string
	Type        string // string, integer, number, boolean or date
	Format      string
	Description string
	Priority    int32
	JSONPath    string
}

// Custom makes the table of a custom resource. Without columns it has an age,
// as upstream.
func Custom(d Definition) Table {
	t := Table{
		Name: d.View, Group: d.Group, Resource: d.Resource, Resources: []Resource{{d.Group, d.Resource}},
		Prefix: d.Prefix, Namespaced: d.Namespaced, Columns: nameColumn(),
	}
	if t.Name == "" {
		t.Name = d.Resource
	}
	if reserved(t.Name) {
		t.Name = d.Resource + "." + d.Group
	}
	columns := d.Columns
	if len(columns) == 0 {
		columns = []CustomColumn{{Name: "Age", Type: "date", Description: ageDescription(), JSONPath: ".metadata.creationTimestamp"}}
	}
	taken := map[string]bool{"id": true, "namespace": true, "name": true}
	var cells []string
	for _, c := range columns {
		column := Column{
			SQL: freeName(c.Name, taken), Name: c.Name, Type: c.Type, Format: c.Format,
			Priority: c.Priority, Description: c.Description, Bool: c.Type == "boolean",
		}
		if column.Description == "" {
			column.Description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
		}
		t.Columns = append(t.Columns, column)
		cells = append(cells, customCell(c)+" AS "+quote(column.SQL))
	}
	return t.withViews(cells)
}

// withViews writes the two views of a custom table.
func (t Table) withViews(cells []string) Table {
	ns, row := "", quote(t.Name+"_row")
	rowColumns := []string{"o.id"}
	if t.Namespaced {
		ns = "l.namespace, "
		rowColumns = append(rowColumns, "o.namespace")
	}
	rowColumns = append(rowColumns, "o.name")
	rowColumns = append(rowColumns, cells...)
	list := "l.name"
	for _, c := range t.Columns[1:] {
		list += ", r." + quote(c.SQL)
	}
	// the end of the range: the prefix with its last slash counted up by one
	end := strings.TrimSuffix(t.Prefix, "/") + "0"
	t.Views = []View{
		{t.Name + "_row", "CREATE VIEW " + row + " AS\nSELECT " + strings.Join(rowColumns, ",\n  ") + "\nFROM object AS o"},
		{t.Name, "CREATE VIEW " + quote(t.Name) + " AS\nSELECT " + ns + list +
			"\nFROM live AS l JOIN " + row + " AS r USING (id)" +
			"\nWHERE l.key >= " + text(t.Prefix) + " AND l.key < " + text(end)},
	}
	return t
}

// customCell is the SQL of one cell.
func customCell(c CustomColumn) string {
	path, err := jsonPath(c.JSONPath)
	if err != nil {
		return "NULL"
	}
	// v is the value as JSON text; without FROM, so that it is computed once
	cell := map[string]string{
		"integer": "CASE json_type(v) WHEN 'integer' THEN v ->> '$' WHEN 'real' THEN CAST(v ->> '$' AS INTEGER) END",
		"number":  "CASE WHEN json_type(v) IN ('integer', 'real') THEN v ->> '$' END",
		"boolean": "CASE WHEN json_type(v) IN ('true', 'false') THEN v END",
		"date": "CASE WHEN json_type(v) IS NOT 'text' THEN NULL WHEN v ->> '$' IN ('', 'null') THEN '<unknown>'" +
			" WHEN unixepoch(v ->> '$') IS NULL THEN '<invalid>' ELSE {{since v ->> '$'}} END",
		"string": "CASE json_type(v) WHEN 'text' THEN v ->> '$' WHEN 'null' THEN '<no value>' ELSE v END",
	}[c.Type]
	if cell == "" {
		return "NULL"
	}
	sql, err := expand(cell)
	if err != nil {
		return "NULL"
	}
	return "(SELECT " + sql + " FROM (SELECT " + path + " AS v))"
}

// freeName is columnName made unique: headings may differ in marks only.
func freeName(heading string, taken map[string]bool) string {
	base := columnName(heading)
	if base == "" {
		base = "column"
	}
	name := base
	for n := 2; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	taken[name] = true
	return name
}

// reserved says whether a built-in view or a table of schema.sql has the name.
func reserved(name string) bool {
	for _, t := range all() {
		for _, v := range t.Views {
			if v.Name == name || v.Name == name+"_row" {
				return true
			}
		}
	}
	switch name {
	case "kv", "live", "label", "field", "owner", "resource", "lease", "request", "store", "raft_log",
		"raft_state", "raft_member", "sweep", "proposal", "clock_pin":
		return true
	}
	return strings.HasPrefix(name, "sqlite_")
}

// nameColumn is the first column of every custom table, as configmaps.sql declares it.
func nameColumn() []Column {
	t, _ := For("", "configmaps")
	return t.Columns[:1:1]
}

// ageDescription is what upstream says of an age column.
func ageDescription() string {
	t, _ := For("", "configmaps")
	return t.Columns[len(t.Columns)-1].Description
}

// InstallOne makes the views of a custom resource and returns its table as it
// is installed: where the plural already names the view of another group's
// resource, both views are called plural.group instead.
func InstallOne(ctx context.Context, db DB, d Definition) (Table, error) {
	have, err := installed(ctx, db)
	if err != nil {
		return Table{}, err
	}
	t := Custom(d)
	if old, ok := have[t.Name]; ok && !strings.Contains(old, text(t.Prefix)) {
		d.View = d.Resource + "." + d.Group
		t = Custom(d)
	}
	return t, install(ctx, db, []Table{t})
}
