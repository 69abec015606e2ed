package tables

// This file is the list of tables: parsed once from the embedded files, then
// only read. A Table is immutable after that, so it is shared freely.

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed *.sql
var files embed.FS

// Table is one view with the column definitions that its header comment carries.
type Table struct {
	Name       string     // of the view: pods; NAME_row renders a kv row by id
	Resources  []Resource // what it prints; events are one table for two groups
	Group      string     // of the first resource; "" for the core group
	Resource   string     // of the first resource: pods
	Prefix     string     // of its keys, with the last slash: /registry/pods/
	Namespaced bool       // the view begins with the column namespace
	Columns    []Column   // the cells in their order, also those that are not declared
	Order      []string   // columns that a list is sorted by; empty for key order
	ListName   bool       // a list marks names in a way that a single object does not: see ListCells
	Views      []View     // the statements that make it, in order
}

// Resource is a group and the plural name of a resource in it.
type Resource struct{ Group, Resource string }

// Column is one cell of a row and what the Table answer declares about it.
type Column struct {
	SQL         string // the column of the view: Name in lower case, spaces as underscores, other marks dropped
	Name        string // the heading; "" for a cell that upstream sends without declaring a column
	Type        string
	Format      string
	Priority    int32
	Description string
	Bool        bool // the view says true or false, the JSON cell is a boolean
}

// Declared says whether the column is in a Table's columnDefinitions.
func (c Column) Declared() bool { return c.Name != "" }

// View is one installed view and its text, exactly as sqlite_schema keeps it.
type View struct {
	Name string
	SQL  string
}

// all parses the embedded files. They are part of the program, so a file that
// does not parse is a bug that every test finds.
var all = sync.OnceValue(func() []Table {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(fmt.Errorf("list embedded tables: %w", err))
	}
	var list []Table
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			panic(fmt.Errorf("read embedded table %s: %w", name, err))
		}
		t, err := parse(string(text))
		if err != nil {
			panic(fmt.Errorf("parse embedded table %s: %w", name, err))
		}
		list = append(list, t)
	}
	return list
})

var byResource = sync.OnceValue(func() map[Resource]Table {
	m := map[Resource]Table{}
	for _, t := range all() {
		for _, r := range t.Resources {
			m[r] = t
		}
	}
	return m
})

// All returns the tables of all built-in kinds that are stored, ordered by name.
func All() []Table {
	return slices.DeleteFunc(slices.Clone(all()), func(t Table) bool { return len(t.Resources) == 0 || !t.Stored() })
}

// Stored says whether the table has views. The others (componentstatuses, the
// subresource autoscaling/scale) are columns only: what they show is in no row.
func (t Table) Stored() bool { return len(t.Views) > 0 }

// For returns the table of a built-in kind. The core group is "".
func For(group, resource string) (Table, bool) {
	t, ok := byResource()[Resource{group, resource}]
	return t, ok
}

// Default returns the columns of a resource that has no table of its own: the
// name and when it was created.
func Default() []Column {
	t, _ := For("", "limitranges")
	return t.Columns
}

// Compare orders two rows of cells as a list shows them, 0 when the order of
// their keys decides. Numbers compare as numbers.
func (t Table) Compare(a, b []any) int {
	for _, name := range t.Order {
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.SQL == name })
		if i < 0 || i >= len(a) || i >= len(b) {
			continue
		}
		if d := compareCell(a[i], b[i]); d != 0 {
			return d
		}
	}
	return 0
}

func compareCell(a, b any) int {
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// columnName makes a view's column of a kubectl heading: PORT(S) is ports.
func columnName(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '_'
		case r == '_', '0' <= r && r <= '9', 'a' <= r && r <= 'z':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}
