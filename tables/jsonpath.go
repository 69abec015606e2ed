package tables

// The JSONPath of a custom resource's column, as SQL over the row o of the view
// object. Understood: .field, ['field'], a field with escaped dots, [n], [-n],
// [*] (its first element, since a cell shows one value) and a filter such as
// [?(@.type=="Ready")], which picks the first element that passes. Anything
// else makes an empty cell, as a path that finds nothing does upstream.

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var errPath = errors.New("JSONPath is not understood")

var (
	indexStep  = regexp.MustCompile(`^\[(-?\d+|\*)\]`)
	quotedStep = regexp.MustCompile(`^\[(?:'([^']*)'|"([^"]*)")\]`)
	filterStep = regexp.MustCompile(`^\[\?\(\s*@((?:\.[A-Za-z0-9_-]+)+)\s*(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false)\s*\)\]`)
)

// jsonPath turns a JSONPath into an SQL expression that gives the value as JSON
// text, NULL when there is none.
func jsonPath(path string) (string, error) {
	doc, steps := "o.value", "$"
	if path == "." {
		return "", errPath // the whole object is no cell
	}
	for path != "" {
		if m := filterStep.FindStringSubmatch(path); m != nil {
			doc, steps = filter(doc, steps, m[1], m[2], m[3]), "$"
			path = path[len(m[0]):]
			continue
		}
		step, rest, err := cutStep(path)
		if err != nil {
			return "", err
		}
		steps += step
		path = rest
	}
	return "(" + doc + ") -> " + text(steps), nil
}

// cutStep cuts one field or index, as a step of an SQLite path.
func cutStep(path string) (step, rest string, err error) {
	if m := indexStep.FindStringSubmatch(path); m != nil {
		rest = path[len(m[0]):]
		switch {
		case m[1] == "*":
			return "[0]", rest, nil
		case m[1][0] == '-':
			return "[#" + m[1] + "]", rest, nil
		}
		return "[" + m[1] + "]", rest, nil
	}
	if m := quotedStep.FindStringSubmatch(path); m != nil {
		return member(m[1] + m[2]), path[len(m[0]):], nil
	}
	if path[0] != '.' {
		return "", "", fmt.Errorf("read %q: %w", path, errPath)
	}
	var name strings.Builder
	i := 1
	for ; i < len(path) && path[i] != '.' && path[i] != '['; i++ {
		if path[i] == '\\' && i+1 < len(path) {
			i++
		}
		name.WriteByte(path[i])
	}
	if name.Len() == 0 && i < len(path) && path[i] == '[' {
		return "", path[i:], nil // .[0] is [0]
	}
	if name.Len() == 0 || strings.ContainsAny(name.String(), `"*`) {
		return "", "", fmt.Errorf("read %q: %w", path, errPath)
	}
	return member(name.String()), path[i:], nil
}

func member(name string) string { return `."` + name + `"` }

// filter picks the first element of an array whose field compares so with a
// literal. Elements that are not objects have no fields, and must not be asked.
func filter(doc, steps, field, op, literal string) string {
	var f strings.Builder
	for name := range strings.SplitSeq(field[1:], ".") {
		f.WriteString(member(name))
	}
	switch {
	case literal == "true", literal == "false":
		literal = map[string]string{"true": "1", "false": "0"}[literal]
	case literal[0] == '"', literal[0] == '\'':
		literal = text(literal[1 : len(literal)-1])
	}
	if op == "==" {
		op = "="
	}
	return "SELECT e.value FROM json_each((" + doc + ") -> " + text(steps) + ") AS e" +
		" WHERE CASE WHEN e.type = 'object' THEN e.value ->> " + text("$"+f.String()) + " " + op + " " + literal + " END" +
		" ORDER BY e.key LIMIT 1"
}

// text makes an SQL literal.
func text(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
