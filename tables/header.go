package tables

// A table's file is a header of comment lines, then CREATE VIEW statements that
// end in a semicolon at the end of a line. The header:
//
//	-- view: NAME
//	-- resource: GROUP/RESOURCE[, GROUP/RESOURCE...]     (the core group is written core)
//	-- keys: /registry/PREFIX/NAMESPACE/NAME             (or /NAME)
//	-- order: COLUMN, COLUMN                             (a list not in key order)
//	-- list: name                                        (a list marks names)
//	-- columns: name | heading | type | format | priority, then the description
//	--   COLUMN | HEADING | TYPE | FORMAT | PRIORITY [| bool]
//	--     description, its lines joined by one space; \n is a line break
//
// A heading or format of "-" is none. Other comment lines are prose.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parse reads one table file.
func parse(text string) (Table, error) {
	head, body := splitHeader(text)
	t, err := parseHeader(head)
	if err != nil {
		return Table{}, err
	}
	t.Views, err = parseViews(body)
	return t, err
}

// splitHeader cuts the leading comment lines, without their marks, from the rest.
func splitHeader(text string) (head []string, body string) {
	for {
		line, rest, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(line, "--") {
			return head, text
		}
		head = append(head, strings.TrimPrefix(line, "--"))
		text = rest
	}
}

func parseHeader(head []string) (Table, error) {
	var t Table
	for i, line := range head {
		key, value, ok := strings.Cut(strings.TrimPrefix(line, " "), ": ")
		if !ok {
			continue
		}
		switch key {
		case "view":
			t.Name = value
		case "resource":
			t.Resources = parseResources(value)
			t.Group, t.Resource = t.Resources[0].Group, t.Resources[0].Resource
		case "keys":
			prefix, namespaced := strings.CutSuffix(value, "NAMESPACE/NAME")
			t.Prefix, t.Namespaced = strings.TrimSuffix(prefix, "NAME"), namespaced
		case "order":
			t.Order = strings.Split(value, ", ")
		case "list":
			t.ListName = value == "name"
		case "columns":
			columns, err := parseColumns(head[i+1:])
			if err != nil {
				return Table{}, err
			}
			t.Columns = columns
		}
	}
	if t.Name == "" {
		return Table{}, errors.New("header has no view")
	}
	return t, nil
}

func parseResources(value string) []Resource {
	var list []Resource
	for _, r := range strings.Split(value, ", ") {
		group, resource, _ := strings.Cut(r, "/")
		if group == "core" {
			group = ""
		}
		list = append(list, Resource{group, resource})
	}
	return list
}

// parseColumns reads the lines below "columns:": two more spaces begin a
// column, four a line of its description.
func parseColumns(lines []string) ([]Column, error) {
	var columns []Column
	for _, line := range lines {
		if text, ok := strings.CutPrefix(line, "     "); ok {
			if len(columns) == 0 {
				return nil, fmt.Errorf("description before a column: %s", text)
			}
			d := &columns[len(columns)-1].Description
			if *d != "" {
				*d += " "
			}
			*d += text
			continue
		}
		c, err := parseColumn(strings.Split(strings.TrimSpace(line), " | "))
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\\`, `\`)
	for i := range columns {
		if strings.Contains(columns[i].Description, `\`) {
			columns[i].Description = unescape.Replace(columns[i].Description)
		}
	}
	return columns, nil
}

func parseColumn(f []string) (Column, error) {
	if len(f) != 5 && !(len(f) == 6 && f[5] == "bool") {
		return Column{}, fmt.Errorf("column has no five fields: %q", f)
	}
	priority, err := strconv.ParseInt(f[4], 10, 32)
	if err != nil {
		return Column{}, fmt.Errorf("parse priority of column %s: %w", f[0], err)
	}
	none := func(s string) string {
		if s == "-" {
			return ""
		}
		return s
	}
	return Column{SQL: f[0], Name: none(f[1]), Type: f[2], Format: none(f[3]), Priority: int32(priority), Bool: len(f) == 6}, nil
}

// parseViews splits a body into its statements and expands their macros. A
// comment before a statement is moved behind its first line, because SQLite
// keeps a view's text from CREATE on and a reader of .schema should see it.
func parseViews(body string) ([]View, error) {
	var views []View
	for _, statement := range strings.Split(body, ";\n") {
		statement = strings.TrimSpace(statement)
		if statement == "" {
			continue
		}
		at := strings.Index(statement, "CREATE VIEW ")
		if at < 0 {
			return nil, fmt.Errorf("not a CREATE VIEW: %.60s", statement)
		}
		comment, create := statement[:at], statement[at:]
		first, rest, _ := strings.Cut(create, "\n")
		name, ok := strings.CutSuffix(strings.TrimPrefix(first, "CREATE VIEW "), " AS")
		if !ok {
			return nil, fmt.Errorf("first line of a view does not end in AS: %s", first)
		}
		sql, err := expand(first + "\n" + comment + rest)
		if err != nil {
			return nil, fmt.Errorf("expand view %s: %w", name, err)
		}
		views = append(views, View{Name: name, SQL: sql})
	}
	return views, nil
}
