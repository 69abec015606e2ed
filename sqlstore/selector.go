package sqlstore

import (
	"strconv"
	"strings"
)

// Selectors as SQL. The first term of the form name=value drives: its rows
// of label or field come in key order, so the list is a scan of those alone.
// Every other term is a condition on each key, one look-up in an index.
//
// A label that is absent satisfies != and notin, as in Kubernetes. A field that is
// absent counts as "".

// liveStatement reads what lives now.
func liveStatement(q *Query) (statement, error) {
	st := statement{from: `FROM live CROSS JOIN kv ON kv.id = live.id`, key: "live.key"}
	terms := q.Terms
	if i := drivingTerm(terms); i >= 0 {
		t := terms[i]
		terms = append(append([]Term(nil), terms[:i]...), terms[i+1:]...)
		st.key = "d.key"
		where, args := keyRange("d.key", q)
		st.from = `FROM ` + t.table() + ` AS d CROSS JOIN live ON live.key = d.key CROSS JOIN kv ON kv.id = live.id WHERE d.name = ? AND d.value = ? AND ` + where
		st.args = append([]any{t.Name, t.Values[0]}, args...)
	} else {
		where, args := keyRange("live.key", q)
		st.from += ` WHERE ` + where
		st.args = args
	}
	for _, t := range terms {
		cond, args, err := t.condition()
		if err != nil {
			return statement{}, err
		}
		st.from += ` AND ` + cond
		st.args = append(st.args, args...)
	}
	return st, nil
}

// drivingTerm is the index of the term to scan by, -1 for none. A field is
// preferred: spec.nodeName picks fewer pods than a label does.
func drivingTerm(terms []Term) int {
	best := -1
	for i, t := range terms {
		one := (t.Op == Is || t.Op == In) && len(t.Values) == 1
		if !one || t.Field && (t.Values[0] == "" || t.column() != "") {
			continue
		}
		if t.Field {
			return i
		}
		if best < 0 {
			best = i
		}
	}
	return best
}

// table is where the term's name is looked up.
func (t *Term) table() string {
	if t.Field {
		return "field"
	}
	return "label"
}

// column is the column of live that holds the field, for the two that every object has.
func (t *Term) column() string {
	switch {
	case t.Field && t.Name == "metadata.name":
		return "live.name"
	case t.Field && t.Name == "metadata.namespace":
		return "live.namespace"
	}
	return ""
}

// condition is the term as SQL on live.key.
func (t *Term) condition() (string, []any, error) {
	want := map[TermOp]int{Is: 1, IsNot: 1, GreaterThan: 1, LessThan: 1, Exists: 0, NotExists: 0}
	if n, fixed := want[t.Op]; fixed && n != len(t.Values) {
		return "", nil, newError(CodeInvalid, "select by %s: operator %d takes %d values, not %d", t.Name, t.Op, n, len(t.Values))
	}
	switch t.Op {
	case Is, In:
		cond, args := t.oneOf()
		return cond, args, nil
	case IsNot, NotIn:
		cond, args := t.oneOf()
		return `NOT ` + cond, args, nil
	case Exists:
		return `EXISTS (SELECT 1 FROM ` + t.table() + ` AS t WHERE t.key = live.key AND t.name = ?)`, []any{t.Name}, nil
	case NotExists:
		return `NOT EXISTS (SELECT 1 FROM ` + t.table() + ` AS t WHERE t.key = live.key AND t.name = ?)`, []any{t.Name}, nil
	case GreaterThan, LessThan:
		return t.number()
	}
	return "", nil, newError(CodeInvalid, "select by %s: unknown operator %d", t.Name, t.Op)
}

// oneOf is the condition that the value is one of Values.
func (t *Term) oneOf() (string, []any) {
	if len(t.Values) == 0 {
		return `(0)`, nil
	}
	marks := `(?` + strings.Repeat(`, ?`, len(t.Values)-1) + `)`
	args := make([]any, 0, len(t.Values)+2)
	column, absent := t.column(), false
	if column == "" {
		args = append(args, t.Name)
	}
	for _, v := range t.Values {
		args = append(args, v)
		absent = absent || t.Field && v == ""
	}
	if column != "" {
		return `(` + column + ` IN ` + marks + `)`, args
	}
	cond := `EXISTS (SELECT 1 FROM ` + t.table() + ` AS t WHERE t.name = ? AND t.value IN ` + marks + ` AND t.key = live.key)`
	if absent {
		cond = `(` + cond + ` OR NOT EXISTS (SELECT 1 FROM field AS t WHERE t.key = live.key AND t.name = ?))`
		args = append(args, t.Name)
	}
	return cond, args
}

// number compares as integers; a value that is no 64-bit integer never
// matches. The length guards CAST, which would make the largest number of a larger one.
func (t *Term) number() (string, []any, error) {
	n, err := strconv.ParseInt(t.Values[0], 10, 64)
	if err != nil {
		return "", nil, &Error{CodeInvalid, "select by " + t.Name + ": the value must be an integer", err}
	}
	op := `>`
	if t.Op == LessThan {
		op = `<`
	}
	return `EXISTS (SELECT 1 FROM ` + t.table() + ` AS t WHERE t.key = live.key AND t.name = ? AND t.value <> ''
		AND ltrim(t.value, '+-') NOT GLOB '*[^0-9]*' AND length(t.value) - length(ltrim(t.value, '+-')) <= 1 AND ltrim(t.value, '+-') <> ''
		AND CAST(CAST(t.value AS INTEGER) AS TEXT) = CASE WHEN ltrim(t.value, '+-0') = '' THEN '0' ELSE iif(t.value GLOB '-*', '-', '') || ltrim(t.value, '+-0') END
		AND CAST(t.value AS INTEGER) ` + op + ` ?)`, []any{t.Name, n}, nil
}
