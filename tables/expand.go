package tables

// Macros: {{name}} or {{name argument; argument}} in a view's text, expanded
// when the file is loaded. Each stands for one SQL expression over the row o of
// the view object. They exist because SQLite has no functions of one's own
// that a stock sqlite3 would also know.
//
// Where an expression is needed more than once, it is named by a subquery
// without FROM: that is the one form that SQLite does not merge into the outer
// query (and so evaluate again at every use).

import (
	"fmt"
	"strings"
)

// macro is an expression with %1 and %2 for its arguments. An argument may
// hold macros itself, and so may the text.
type macro struct {
	args int
	text string
}

// macros is never written.
var macros = map[string]macro{
	// {{since TIMESTAMP}}: how long ago that was.
	"since": {1, "{{duration (SELECT now FROM clock) - unixepoch(%1)}}"},

	// {{duration SECONDS}}: two or three figures of a duration. One second into
	// the future is a clock that is a little off; more is invalid.
	"duration": {1, `(SELECT CASE
    WHEN d IS NULL THEN '<unknown>'
    WHEN d < -1 THEN '<invalid>'
    WHEN d < 0 THEN '0s'
    WHEN d < 120 THEN d || 's'
    WHEN d < 600 THEN (d / 60) || 'm' || iif(d % 60, (d % 60) || 's', '')
    WHEN d < 10800 THEN (d / 60) || 'm'
    WHEN d < 28800 THEN (d / 3600) || 'h' || iif(d / 60 % 60, (d / 60 % 60) || 'm', '')
    WHEN d < 172800 THEN (d / 3600) || 'h'
    WHEN d < 691200 THEN (d / 86400) || 'd' || iif(d / 3600 % 24, (d / 3600 % 24) || 'h', '')
    WHEN d < 63072000 THEN (d / 86400) || 'd'
    WHEN d < 252288000 THEN (d / 31536000) || 'y' || iif(d / 86400 % 365, (d / 86400 % 365) || 'd', '')
    ELSE (d / 31536000) || 'y'
  END FROM (SELECT %1 AS d))`},

	// {{join ARRAY}}: the texts of an array, with commas.
	"join": {1, "coalesce((SELECT group_concat(value, ',') FROM json_each(%1)), '')"},

	// {{containers PATH; FIELD}}: one field of each container of the pod template at PATH.
	"containers": {2, "coalesce((SELECT group_concat(coalesce(value ->> '%2', ''), ',') FROM json_each(o.value -> '%1.spec.containers')), '')"},

	// {{labels OBJECT}}: a map as k=v,k=v in the order of these texts, so that k2=v comes before k=v.
	"labels": {1, "coalesce((SELECT group_concat(pair, ',') FROM (SELECT key || '=' || value AS pair FROM json_each(%1) ORDER BY pair)), '<none>')"},

	// {{selector OBJECT}}: a label selector as kubectl -l takes it, NULL when it is empty or there is none.
	"selector": {1, `(SELECT group_concat(term, ',') FROM (
    SELECT key, key || '=' || value AS term FROM json_each(%1, '$.matchLabels')
    UNION ALL
    SELECT value ->> '$.key', CASE value ->> '$.operator'
      WHEN 'Exists' THEN value ->> '$.key'
      WHEN 'DoesNotExist' THEN '!' || (value ->> '$.key')
      ELSE (value ->> '$.key') || iif(value ->> '$.operator' = 'In', ' in (', ' notin (')
        || (SELECT group_concat(v, ',') FROM (SELECT v.value AS v FROM json_each(e.value, '$.values') AS v ORDER BY 1)) || ')'
    END
    FROM json_each(%1, '$.matchExpressions') AS e
    ORDER BY 1))`},

	// {{condition TYPE}}: the status of the first condition of that type, NULL when there is none.
	"condition": {1, "(SELECT value ->> '$.status' FROM json_each(o.value -> '$.status.conditions') WHERE value ->> '$.type' = '%1' ORDER BY key LIMIT 1)"},

	// {{conditions TYPE}}: the statuses of all conditions of that type.
	"conditions": {1, "(SELECT value ->> '$.status' FROM json_each(o.value -> '$.status.conditions') WHERE value ->> '$.type' = '%1')"},

	// {{bool EXPRESSION}}: true or false, false when it is not there.
	"bool": {1, "iif(%1, 'true', 'false')"},

	// {{modes ARRAY}}: the access modes of a volume, in upstream's short forms and order.
	"modes": {1, `coalesce((SELECT group_concat(mode, ',') FROM (
    SELECT DISTINCT CASE value WHEN 'ReadWriteOnce' THEN 'RWO' WHEN 'ReadOnlyMany' THEN 'ROX' WHEN 'ReadWriteMany' THEN 'RWX' WHEN 'ReadWriteOncePod' THEN 'RWOP' END AS mode
    FROM json_each(%1) ORDER BY instr('RWO,ROX,RWX,RWOP', mode))), '')`},

	// {{subjects KIND; EXPRESSION}}: the subjects of one kind of a role binding.
	"subjects": {2, "coalesce((SELECT group_concat(%2, ', ') FROM json_each(o.value -> '$.subjects') WHERE value ->> '$.kind' = '%1'), '')"},

	// {{more QUERY}}: the first three items of a query that numbers them from 0, and how many more there are.
	"more": {1, `(SELECT coalesce(nullif(group_concat(item, ',') FILTER (WHERE n < 3), ''), '<unset>') || iif(count(*) > 3, ' + ' || (count(*) - 3) || ' more...', '')
    FROM (%1))`},

	// {{time NANOSECONDS}}: a moment as RFC 3339, to the millisecond.
	"time": {1, "strftime('%Y-%m-%dT%H:%M:%fZ', %1 / 1e9, 'unixepoch')"},

	// {{named KEY}}: the object of a key, also of one that lives no more: pods/default/web-1. The
	// table resource says which prefix the key has; a key of no resource stays as it is.
	"named": {1, `(SELECT coalesce((SELECT resource || '/' || substr(k, length(prefix) + 1) FROM resource
    WHERE prefix < k AND prefix = substr(k, 1, length(prefix)) ORDER BY prefix DESC LIMIT 1), k)
  FROM (SELECT %1 AS k))`},

	// {{causekey REQUEST}}: the key of the change that a request reacted to, NULL for none.
	"causekey": {1, `coalesce((SELECT key FROM kv WHERE kv.id = %1.cause_id AND %1.cause_id <> 0),
    (SELECT key FROM request WHERE revision = %1.cause_revision AND %1.cause_revision <> 0))`},

	// {{paramref}}: what the binding of an admission policy gives it as parameters. A
	// selector is printed as Go prints the struct, because upstream does.
	"paramref": {0, `CASE
    WHEN o.value ->> '$.spec.paramRef.name' <> '' THEN
      coalesce(nullif(o.value ->> '$.spec.paramRef.namespace', ''), '*') || '/' || (o.value ->> '$.spec.paramRef.name')
    WHEN o.value -> '$.spec.paramRef.selector' IS NOT NULL THEN
      '&LabelSelector{MatchLabels:map[string]string{'
      || coalesce((SELECT group_concat(pair, '') FROM (SELECT key || ': ' || value || ',' AS pair
        FROM json_each(o.value -> '$.spec.paramRef.selector.matchLabels') ORDER BY key)), '')
      || '},MatchExpressions:[]LabelSelectorRequirement{'
      || coalesce((SELECT group_concat('LabelSelectorRequirement{Key:' || (value ->> '$.key') || ',Operator:' || (value ->> '$.operator') || ',Values:['
        || coalesce((SELECT group_concat(v.value, ' ') FROM json_each(e.value -> '$.values') AS v), '') || '],},', '')
        FROM json_each(o.value -> '$.spec.paramRef.selector.matchExpressions') AS e), '')
      || '},}'
    ELSE '<unset>'
  END`},
}

// expand replaces every macro of a view's text.
func expand(text string) (string, error) {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{{")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		call, after, ok := cutCall(rest)
		if !ok {
			return "", fmt.Errorf("macro is not closed: %.40s", rest)
		}
		sql, err := expandCall(call)
		if err != nil {
			return "", err
		}
		out.WriteString(sql)
		text = after
	}
}

// cutCall cuts text at the braces that close the call it begins with.
func cutCall(text string) (call, after string, ok bool) {
	depth := 1
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "{{":
			depth++
			i++
		case "}}":
			depth--
			if depth == 0 {
				return text[:i], text[i+2:], true
			}
			i++
		}
	}
	return "", "", false
}

// expandCall expands one call: the text between the braces.
func expandCall(call string) (string, error) {
	name, rest, _ := strings.Cut(call, " ")
	var args []string
	if rest = strings.TrimSpace(rest); rest != "" {
		args = strings.Split(rest, "; ")
	}
	m, ok := macros[name]
	if !ok || len(args) != m.args {
		return "", fmt.Errorf("no macro %s with %d arguments", name, len(args))
	}
	text := m.text
	for i, arg := range args {
		text = strings.ReplaceAll(text, fmt.Sprintf("%%%d", i+1), arg)
	}
	return expand(text)
}
