package main

// What is written of a type, a field, an enum.

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

type structLine struct {
	Type   string                `json:"type"`
	Doc    string                `json:"doc,omitempty"`
	Map    string                `json:"map,omitempty"` // atomic
	Union  *union                `json:"union,omitempty"`
	Fields map[string]*fieldLine `json:"fields,omitempty"` // by json name
}

type union struct {
	Discriminator string            `json:"discriminator,omitempty"`
	Fields        map[string]string `json:"fields-to-discriminateBy"`
}

type fieldLine struct {
	Doc      string          `json:"doc,omitempty"`
	Blank    bool            `json:"blank,omitempty"`    // of an enum: a blank line ends its text
	Optional *bool           `json:"optional,omitempty"` // where the json tag says otherwise
	Default  json.RawMessage `json:"default,omitempty"`
	List     string          `json:"list,omitempty"`
	Keys     []string        `json:"keys,omitempty"`
	Map      string          `json:"map,omitempty"`
}

type enumLine struct {
	Type string      `json:"type"`
	Enum [][2]string `json:"enum"` // value, text; sorted
}

func (p *pkg) structLine(name string, t typ, st *ast.StructType, all map[string]*pkg) (*structLine, error) {
	tags := tagsOf(t.doc)
	line := &structLine{Type: p.path + "." + name, Map: tags.one("structType"), Fields: map[string]*fieldLine{}}
	if line.Map == "" {
		line.Map = tags.one("mapType")
	}
	known := p.swagger[name]
	if d := text(t.doc); d != known[""] {
		line.Doc = d
	}
	if tags.has("union") {
		line.Union = &union{Fields: map[string]string{}}
	}
	for _, f := range st.Fields.List {
		if err := p.field(line, f, known, all); err != nil {
			return nil, err
		}
	}
	if line.Doc == "" && line.Map == "" && line.Union == nil && len(line.Fields) == 0 {
		return nil, nil
	}
	return line, nil
}

func (p *pkg) field(line *structLine, f *ast.Field, known map[string]string, all map[string]*pkg) error {
	if f.Tag == nil {
		return nil
	}
	raw, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return err
	}
	name, options, _ := strings.Cut(reflect.StructTag(raw).Get("json"), ",")
	if name == "" || name == "-" {
		return nil
	}
	doc := lines(f.Doc)
	tags := tagsOf(doc)
	out := &fieldLine{List: tags.one("listType"), Keys: tags["listMapKey"], Map: tags.one("mapType")}
	if out.Map == "" {
		out.Map = tags.one("structType")
	}
	if d := text(doc); d != known[name] {
		out.Doc = d
	}
	out.Blank = p.isEnum(f.Type, all) && endsBlank(doc)
	omit := strings.Contains(options, "omitempty")
	if optional := !tags.has("required") && (tags.has("optional") || omit); optional != omit {
		out.Optional = &optional
	}
	if d := tags.one("default"); d != "" {
		if out.Default, err = p.defaultValue(d, all); err != nil {
			return fmt.Errorf("default of %s: %w", name, err)
		}
	}
	if line.Union != nil {
		if tags.has("unionDiscriminator") {
			line.Union.Discriminator = name
		} else {
			line.Union.Fields[name] = goName(f)
		}
	}
	if !reflect.DeepEqual(out, &fieldLine{}) {
		line.Fields[name] = out
	}
	return nil
}

// isEnum tells whether a field's type, or what it points to, is marked as an enum.
func (p *pkg) isEnum(e ast.Expr, all map[string]*pkg) bool {
	switch e := e.(type) {
	case *ast.StarExpr:
		return p.isEnum(e.X, all)
	case *ast.Ident:
		return p != nil && tagsOf(p.types[e.Name].doc).has("enum")
	case *ast.SelectorExpr:
		x, ok := e.X.(*ast.Ident)
		return ok && all[p.imports[x.Name]].isEnum(e.Sel, all)
	}
	return false
}

// goName is the field's name; an embedded one is called like its type.
func goName(f *ast.Field) string {
	if len(f.Names) > 0 {
		return f.Names[0].Name
	}
	if s, ok := f.Type.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return ""
}

var reference = regexp.MustCompile(`^ref\((.+)\)$`)

// defaultValue is JSON as it stands, or the constant that ref(NAME) or ref(PACKAGE.NAME) means.
func (p *pkg) defaultValue(text string, all map[string]*pkg) (json.RawMessage, error) {
	m := reference.FindStringSubmatch(text)
	if m == nil {
		if !json.Valid([]byte(text)) {
			return nil, fmt.Errorf("%s is not JSON", text)
		}
		return json.RawMessage(text), nil
	}
	in, name := p, m[1]
	if i := strings.LastIndex(name, "."); i >= 0 {
		in, name = all[name[:i]], name[i+1:]
	}
	value, ok := in.constant(name)
	if !ok {
		return nil, fmt.Errorf("no constant %s", m[1])
	}
	return json.Marshal(value)
}

var blanks = regexp.MustCompile(`\s+`)

// enums lists the string types that are marked as enums, with the values and what their comments say.
func (p *pkg) enums(all map[string]*pkg) []enumLine {
	var out []enumLine
	for name, t := range p.types {
		if !tagsOf(t.doc).has("enum") {
			continue
		}
		texts := map[string]string{}
		for _, c := range p.constants {
			if c.typ != name {
				continue
			}
			if c.of != "" { // another package's constant
				c.value, _ = all[p.imports[c.of]].constant(c.value)
			}
			doc := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.doc), c.name))
			doc = blanks.ReplaceAllString(doc, " ")
			if old, twice := texts[c.value]; !twice || len(doc) > len(old) {
				texts[c.value] = doc
			}
		}
		e := enumLine{Type: p.path + "." + name}
		for v, d := range texts {
			e.Enum = append(e.Enum, [2]string{v, d})
		}
		sort.Slice(e.Enum, func(i, j int) bool { return e.Enum[i][0] < e.Enum[j][0] })
		out = append(out, e)
	}
	return out
}
