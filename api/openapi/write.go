// Writing a document as JSON, without holding it: the writer goes on to a
// hash or into a gzip stream. Keys stand sorted, so that the same content
// gives the same bytes.
package openapi

import (
	"bufio"
	"encoding/json"
	"io"
	"sort"
)

// dialect is the version of OpenAPI that is written.
type dialect int

const (
	v2 dialect = 2
	v3 dialect = 3
)

// jsonWriter writes objects and arrays; it keeps the first error.
type jsonWriter struct {
	w     *bufio.Writer
	first bool // nothing stands in the current object or array
	err   error

	shared map[string]parameterV2 // what operations referred to, by name
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{w: bufio.NewWriterSize(w, 16<<10)} }

func (j *jsonWriter) raw(s string) {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
}

func (j *jsonWriter) flush() error {
	if j.err == nil {
		j.err = j.w.Flush()
	}
	return j.err
}

func (j *jsonWriter) separate() {
	if !j.first {
		j.raw(",")
	}
	j.first = false
}

func (j *jsonWriter) key(name string) {
	j.separate()
	j.value(name)
	j.raw(":")
}

// value writes anything that json.Marshal knows.
func (j *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil && j.err == nil {
		j.err = err
	}
	if j.err == nil {
		_, j.err = j.w.Write(b)
	}
}

// object writes what fields writes, in braces.
func (j *jsonWriter) object(fields func()) {
	j.raw("{")
	j.first = true
	fields()
	j.raw("}")
	j.first = false
}

// array writes n elements.
func (j *jsonWriter) array(n int, element func(i int)) {
	j.raw("[")
	for i := 0; i < n; i++ {
		if i > 0 {
			j.raw(",")
		}
		element(i)
	}
	j.raw("]")
}

func (j *jsonWriter) field(name string, v any) {
	j.key(name)
	j.value(v)
}

func (j *jsonWriter) text(name, v string) {
	if v != "" {
		j.field(name, v)
	}
}

func (d dialect) refPath(name string) string {
	if d == v2 {
		return "#/definitions/" + name
	}
	return "#/components/schemas/" + name
}

// schema writes a node. Version 3 allows nothing beside a $ref, so there it moves into allOf.
func (j *jsonWriter) schema(d dialect, n *node) {
	if n.Raw != nil {
		j.raw(string(n.Raw[d]))
		return
	}
	j.object(func() {
		def := n.Default
		if d == v2 {
			def = nil // no client of version 2 ever saw one
		}
		if n.Additional != nil {
			j.key("additionalProperties")
			j.schema(d, n.Additional)
		}
		alone := n.Description == "" && def == nil && len(n.Extensions) == 0
		if n.Ref != "" && d == v3 && !alone {
			j.key("allOf")
			j.array(1, func(int) { j.object(func() { j.field("$ref", d.refPath(n.Ref)) }) })
		} else if n.Ref != "" {
			j.field("$ref", d.refPath(n.Ref))
		}
		if def != nil {
			j.field("default", def)
		}
		j.text("description", n.Description)
		if len(n.Enum) > 0 {
			j.field("enum", n.Enum)
		}
		j.text("format", n.Format)
		if n.Items != nil {
			j.key("items")
			j.schema(d, n.Items)
		}
		j.tail(d, n)
	})
}

func (j *jsonWriter) tail(d dialect, n *node) {
	if len(n.OneOf) > 0 && d == v3 {
		j.key("oneOf")
		j.array(len(n.OneOf), func(i int) { j.object(func() { j.field("type", n.OneOf[i]) }) })
	}
	if len(n.Properties) > 0 {
		sorted := append([]property(nil), n.Properties...)
		sort.Slice(sorted, func(a, b int) bool { return sorted[a].Name < sorted[b].Name })
		j.key("properties")
		j.object(func() {
			for _, p := range sorted {
				j.key(p.Name)
				j.schema(d, p.node)
			}
		})
	}
	if len(n.Required) > 0 {
		j.field("required", n.Required)
	}
	if n.Type != "" && (len(n.OneOf) == 0 || d == v2) {
		j.field("type", n.Type)
	}
	if len(n.GVKs) > 0 {
		j.key("x-kubernetes-group-version-kind")
		j.array(len(n.GVKs), func(i int) { j.gvk(n.GVKs[i].Group, n.GVKs[i].Kind, n.GVKs[i].Version) })
	}
	for _, e := range n.Extensions {
		j.field(e.Name, e.Value)
	}
}

func (j *jsonWriter) gvk(group, kind, version string) {
	j.object(func() {
		j.field("group", group)
		j.field("kind", kind)
		j.field("version", version)
	})
}
