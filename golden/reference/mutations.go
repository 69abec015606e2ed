package main

// The changes that mutate makes to an object, one at a time.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mutation sets the place at path to value, or removes it.
type mutation struct {
	path   []any // names of fields and indexes of items
	value  any
	remove bool
}

// place is the path as field errors write it.
func (m mutation) place() string {
	var b strings.Builder
	for _, p := range m.path {
		if i, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%v", p)
		}
	}
	return b.String()
}

func (m mutation) String() string {
	if m.remove {
		return m.place() + " removed"
	}
	raw, _ := json.Marshal(m.value)
	if len(raw) > 120 {
		return fmt.Sprintf("%s=%s...(%d)", m.place(), raw[:120], len(raw))
	}
	return m.place() + "=" + string(raw)
}

// apply returns a copy of object with the change; places on the way that are
// missing are made.
func (m mutation) apply(object map[string]any) map[string]any {
	out, _ := set(clone(object), m.path, m).(map[string]any)
	return out
}

func set(v any, path []any, m mutation) any {
	if len(path) == 0 {
		return clone(m.value)
	}
	if i, ok := path[0].(int); ok {
		items, _ := v.([]any)
		for len(items) <= i {
			items = append(items, map[string]any{})
		}
		if len(path) == 1 && m.remove {
			return slices.Delete(items, i, i+1)
		}
		items[i] = set(items[i], path[1:], m)
		return items
	}
	fields, ok := v.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	name := path[0].(string)
	if len(path) == 1 && m.remove {
		delete(fields, name)
		return fields
	}
	fields[name] = set(fields[name], path[1:], m)
	return fields
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, w := range v {
			out[k] = clone(w)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, w := range v {
			out[i] = clone(w)
		}
		return out
	}
	return v
}

// mutations lists the changes of object: in each of its own places, and, where
// full is given, with each place that object lacks.
func mutations(object, full map[string]any) []mutation {
	var out []mutation
	walk(object, nil, func(path []any, v any) {
		if skip(path) {
			return
		}
		if _, ok := v.(map[string]any); ok {
			out = append(out, mutation{path: with(path, "zzz"), value: "unknown"})
		}
		for _, w := range replacements(v) {
			if !reflect.DeepEqual(v, w) {
				out = append(out, mutation{path: path, value: w})
			}
		}
		out = append(out, mutation{path: path, remove: true})
	})
	if full != nil {
		out = append(out, grafts(object, full)...)
	}
	return out
}

// skip leaves out places whose change says nothing about a kind.
func skip(path []any) bool {
	if len(path) == 0 {
		return true
	}
	if path[0] == "metadata" && len(path) > 1 {
		switch path[1] {
		case "managedFields", "creationTimestamp", "uid":
			return true
		}
	}
	return false
}

func walk(v any, path []any, visit func([]any, any)) {
	visit(path, v)
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(v[k], with(path, k), visit)
		}
	case []any:
		for i := range min(len(v), 2) {
			walk(v[i], with(path, i), visit)
		}
	}
}

func with(path []any, p any) []any { return append(slices.Clone(path), p) }

// replacements are the values tried in place of v.
func replacements(v any) []any {
	n := func(s string) any { return json.Number(s) }
	switch v := v.(type) {
	case string:
		return []any{"", "Bogus", "-bad_Name!", strings.Repeat("a", 64), strings.Repeat("b", 254), " ", "a.b-c", "1", "10.0.0.300", n("7"), false, nil, map[string]any{}, v + "-x"}
	case json.Number:
		return []any{n("0"), n("-1"), n("1"), n("65536"), n("2147483647"), n("4294967296"), n("1.5"), "7", "x", nil}
	case bool:
		return []any{!v, "x", nil}
	case map[string]any:
		return []any{map[string]any{}, nil, "x", []any{}, map[string]any{"Bad key!": "x"}, map[string]any{"a/b": strings.Repeat("v", 64)}}
	case []any:
		out := []any{[]any{}, nil, "x", map[string]any{}, []any{nil}, []any{"x"}}
		if len(v) > 0 {
			out = append(out, append(clone(v).([]any), clone(v[0])))
		}
		return out
	}
	return []any{"x", n("1"), map[string]any{}}
}

// grafts takes from full what object lacks: each missing field whole, and each
// leaf of it alone, with its value and with an empty one.
func grafts(object, full any) []mutation {
	var out []mutation
	walk(full, nil, func(path []any, v any) {
		if skip(path) || path[0] == "apiVersion" || path[0] == "kind" || has(object, path) {
			return
		}
		whole := has(object, path[:len(path)-1])
		leaf := true
		switch v := v.(type) {
		case map[string]any:
			leaf = len(v) == 0
		case []any:
			leaf = len(v) == 0
		}
		if whole || leaf {
			out = append(out, mutation{path: path, value: v})
		}
		if !leaf {
			return
		}
		switch v.(type) {
		case string:
			for _, w := range []any{"", "a-b", "Bad Name!", "1Mi"} {
				out = append(out, mutation{path: path, value: w})
			}
		case json.Number:
			for _, w := range []string{"0", "-1", "65536", "5"} {
				out = append(out, mutation{path: path, value: json.Number(w)})
			}
		case bool:
			out = append(out, mutation{path: path, value: false})
		}
	})
	return out
}

func has(v any, path []any) bool {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			fields, ok := v.(map[string]any)
			if !ok {
				return false
			}
			if v, ok = fields[key]; !ok {
				return false
			}
		case int:
			items, ok := v.([]any)
			if !ok || len(items) <= key {
				return false
			}
			v = items[key]
		}
	}
	return true
}
