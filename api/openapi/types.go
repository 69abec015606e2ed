// From Go types to schemas. A struct becomes a definition of its own, named
// by OpenAPIModelName, and is referred to; everything else is written in
// place.
package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// node is a schema, free of the differences between the two versions of OpenAPI.
type node struct {
	Description string
	Type        string // "" is any
	Format      string
	OneOf       []string // in place of Type, for version 3
	Ref         string   // the name of a definition
	Items       *node
	Additional  *node
	Enum        []string
	Default     json.RawMessage // for version 3
	Properties  []property
	Required    []string
	GVKs        []schema.GroupVersionKind
	Extensions  []extension
	// Raw is a whole schema in JSON, a custom resource's; all else is empty then.
	Raw map[dialect]json.RawMessage
}

type property struct {
	Name string
	*node
}

type extension struct {
	Name  string
	Value any
}

// pool holds the definitions that were built so far, for all documents that are written in one go.
type pool struct {
	markers markers
	kinds   func(reflect.Type) []schema.GroupVersionKind
	byName  map[string]*node
	names   map[reflect.Type]string
	encoded map[dialect]map[string][]byte
	scratch *jsonWriter
}

func newPool(kinds func(reflect.Type) []schema.GroupVersionKind) (*pool, error) {
	m, err := loadMarkers()
	if err != nil {
		return nil, err
	}
	return &pool{markers: m, kinds: kinds, byName: map[string]*node{}, names: map[reflect.Type]string{},
		encoded: map[dialect]map[string][]byte{v2: {}, v3: {}}, scratch: newJSONWriter(nil)}, nil
}

type named interface{ OpenAPIModelName() string }

// ref gives the definition's name of a struct type and makes sure that it is there.
func (m *pool) ref(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, there := m.names[t]; there {
		return name
	}
	name := modelName(t)
	m.names[t] = name // before its fields: types may contain themselves
	def := &node{}
	m.byName[name] = def
	m.define(def, t)
	return name
}

func modelName(t reflect.Type) string {
	if n, ok := reflect.New(t).Interface().(named); ok {
		return n.OpenAPIModelName()
	}
	return strings.NewReplacer("/", ".").Replace(t.PkgPath()) + "." + t.Name()
}

func key(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

func (m *pool) define(def *node, t reflect.Type) {
	mark, docs := m.markers.of(key(t)), swagger(t)
	def.Description = either(mark.Doc, docs[""])
	def.GVKs = m.kinds(t)
	zero := reflect.New(t).Interface()
	if s, ok := zero.(interface{ OpenAPISchemaType() []string }); ok {
		if types := s.OpenAPISchemaType(); len(types) > 0 {
			def.Type = types[0]
		}
		if f, ok := zero.(interface{ OpenAPISchemaFormat() string }); ok {
			def.Format = f.OpenAPISchemaFormat()
		}
		if o, ok := zero.(interface{ OpenAPIV3OneOfTypes() []string }); ok {
			def.OneOf = o.OpenAPIV3OneOfTypes()
		}
		return
	}
	def.Type = "object"
	m.fields(def, t, mark, docs)
	if mark.Map != "" {
		def.extend("x-kubernetes-map-type", mark.Map)
	}
	if mark.Union != nil {
		def.extend("x-kubernetes-unions", []json.RawMessage{mark.Union})
	}
}

func (n *node) extend(name string, value any) {
	n.Extensions = append(n.Extensions, extension{name, value})
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func swagger(t reflect.Type) map[string]string {
	if s, ok := reflect.New(t).Elem().Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		return s.SwaggerDoc()
	}
	return nil
}

// fields adds the properties of a struct and of what it inlines.
func (m *pool) fields(def *node, t reflect.Type, mark *marker, docs map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if name == "" {
			if f.Anonymous || strings.Contains(options, "inline") {
				m.fields(def, f.Type, m.markers.of(key(f.Type)), swagger(f.Type))
			}
			continue
		}
		fm := mark.field(name)
		omit := strings.Contains(options, "omitempty")
		optional := omit
		if fm.Optional != nil {
			optional = *fm.Optional
		}
		if !optional {
			def.Required = append(def.Required, name)
		}
		p := m.value(f.Type, omit)
		p.Description = either(fm.Doc, docs[name])
		if fm.Blank {
			p.Description += "\n"
		}
		p.Description += m.enumText(f.Type)
		p.Description = strings.TrimSpace(p.Description)
		if fm.Default != nil {
			p.Default = fm.Default
		}
		p.extendField(fm, f.Tag)
		def.Properties = append(def.Properties, property{name, p})
	}
}

func (n *node) extendField(fm *fieldMarker, tag reflect.StructTag) {
	if len(fm.Keys) > 0 {
		n.extend("x-kubernetes-list-map-keys", fm.Keys)
	}
	if fm.List != "" {
		n.extend("x-kubernetes-list-type", fm.List)
	}
	if fm.Map != "" {
		n.extend("x-kubernetes-map-type", fm.Map)
	}
	if k := tag.Get("patchMergeKey"); k != "" {
		n.extend("x-kubernetes-patch-merge-key", k)
	}
	if s := tag.Get("patchStrategy"); s != "" {
		n.extend("x-kubernetes-patch-strategy", s)
	}
}

// value is the schema of a field. omit: it is left out when it is zero.
func (m *pool) value(t reflect.Type, omit bool) *node {
	n := &node{}
	if t.Kind() == reflect.Pointer {
		t, omit = t.Elem(), true
		if t.Kind() == reflect.Struct {
			n.Ref = m.ref(t)
			return n
		}
	}
	if n.Type, n.Format = simple(t); n.Type != "" {
		for _, e := range m.markers.of(key(t)).Enum {
			n.Enum = append(n.Enum, e[0])
		}
		if !omit {
			n.Default = zeroOf(n.Type, n.Format)
		}
		return n
	}
	switch t.Kind() {
	case reflect.Struct:
		n.Ref = m.ref(t)
		if !readsItself(t) {
			n.Default = json.RawMessage("{}")
		}
	case reflect.Slice:
		if readsItself(t) {
			n.Ref = m.ref(t)
			break
		}
		n.Type, n.Items = "array", m.element(t.Elem())
	case reflect.Map:
		n.Type, n.Additional = "object", m.element(t.Elem())
	case reflect.Interface:
	default:
		panic(fmt.Sprintf("openapi: no schema for a field of type %s", t))
	}
	return n
}

// element is the schema of an item or a map's value, which has no default.
func (m *pool) element(t reflect.Type) *node {
	n := m.value(t, true)
	n.Default = nil
	return n
}

// readsItself: such a type reads null as its zero value, so it has no default.
func readsItself(t reflect.Type) bool {
	if t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		return readsItself(t.Field(0).Type)
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

func simple(t reflect.Type) (typ, format string) {
	switch t.Kind() {
	case reflect.String:
		return "string", ""
	case reflect.Bool:
		return "boolean", ""
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint16, reflect.Uint32:
		return "integer", "int32"
	case reflect.Int64, reflect.Uint64:
		return "integer", "int64"
	case reflect.Uint8:
		return "integer", "byte"
	case reflect.Float32:
		return "number", "float"
	case reflect.Float64:
		return "number", "double"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !readsItself(t) {
			return "string", "byte"
		}
	}
	return "", ""
}

func zeroOf(typ, format string) json.RawMessage {
	switch typ {
	case "string":
		if format == "byte" {
			return nil
		}
		return json.RawMessage(`""`)
	case "boolean":
		return json.RawMessage("false")
	}
	return json.RawMessage("0")
}

// enumText is what the description of an enum's field ends with.
func (m *pool) enumText(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	values := m.markers.of(key(t)).Enum
	if len(values) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nPossible enum values:")
	for _, v := range values {
		fmt.Fprintf(&b, "\n - `%q`", v[0])
		if v[1] != "" {
			b.WriteString(" " + v[1])
		}
	}
	return b.String()
}
