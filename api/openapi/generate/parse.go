package main

// Reading one package: its types with their comments, its constants, and the
// texts that its SwaggerDoc methods give.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

type typ struct {
	spec *ast.TypeSpec
	doc  []string
}

type constant struct {
	name, typ, value string
	of               string // value names a constant of the package imported as this
	doc              string
}

type pkg struct {
	path      string
	types     map[string]typ
	constants []constant
	swagger   map[string]map[string]string // type, then json name ("" is the type itself)
	imports   map[string]string            // by the name that files of this package use
}

func parsePackage(path, dir string) (*pkg, error) {
	p := &pkg{path: path, types: map[string]typ{}, swagger: map[string]map[string]string{}, imports: map[string]string{}}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		p.addFile(f)
	}
	return p, nil
}

func (p *pkg) addFile(f *ast.File) {
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		p.imports[name] = path
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			p.addDecl(d)
		case *ast.FuncDecl:
			if d.Recv != nil && d.Name.Name == "SwaggerDoc" {
				p.addSwagger(d)
			}
		}
	}
}

func (p *pkg) addDecl(d *ast.GenDecl) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && len(d.Specs) == 1 {
				doc = d.Doc
			}
			p.types[s.Name.Name] = typ{spec: s, doc: lines(doc)}
		case *ast.ValueSpec:
			p.addConstants(d, s)
		}
	}
}

func (p *pkg) addConstants(d *ast.GenDecl, s *ast.ValueSpec) {
	if d.Tok != token.CONST {
		return
	}
	doc := s.Doc
	if doc == nil && len(d.Specs) == 1 && !d.Lparen.IsValid() {
		doc = d.Doc
	}
	for i, n := range s.Names {
		if i >= len(s.Values) {
			continue
		}
		c := constant{name: n.Name, doc: strings.Join(lines(doc), " ")}
		if id, ok := s.Type.(*ast.Ident); ok {
			c.typ = id.Name
		}
		value := s.Values[i]
		if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 { // Type("value")
			if id, ok := call.Fun.(*ast.Ident); ok {
				c.typ, value = id.Name, call.Args[0]
			}
		}
		switch v := value.(type) {
		case *ast.BasicLit:
			if v.Kind != token.STRING {
				continue
			}
			c.value, _ = strconv.Unquote(v.Value)
		case *ast.SelectorExpr:
			c.value = v.Sel.Name
			if x, ok := v.X.(*ast.Ident); ok {
				c.of = x.Name
			}
		default:
			continue
		}
		p.constants = append(p.constants, c)
	}
}

// constant finds a string constant's value; a nil package has none.
func (p *pkg) constant(name string) (string, bool) {
	if p == nil {
		return "", false
	}
	for _, c := range p.constants {
		if c.name == name && c.of == "" {
			return c.value, true
		}
	}
	return "", false
}

// addSwagger reads the map that a generated SwaggerDoc method returns.
func (p *pkg) addSwagger(d *ast.FuncDecl) {
	name := d.Recv.List[0].Type.(*ast.Ident).Name
	ret, ok := d.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.Ident)
	if !ok {
		return // written by hand
	}
	texts := map[string]string{}
	for _, e := range ret.Obj.Decl.(*ast.ValueSpec).Values[0].(*ast.CompositeLit).Elts {
		kv := e.(*ast.KeyValueExpr)
		k, _ := strconv.Unquote(kv.Key.(*ast.BasicLit).Value)
		texts[k], _ = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
	}
	p.swagger[name] = texts
}

func lines(g *ast.CommentGroup) []string {
	if g == nil {
		return nil
	}
	return strings.Split(strings.TrimRight(g.Text(), "\n"), "\n")
}

// tags are the "+name=value" lines of a comment.
type tags map[string][]string

func tagsOf(doc []string) tags {
	t := tags{}
	for _, l := range doc {
		l = strings.TrimSpace(l)
		if !strings.HasPrefix(l, "+") {
			continue
		}
		name, value, _ := strings.Cut(l[1:], "=")
		t[name] = append(t[name], value)
	}
	return t
}

func (t tags) has(name string) bool { return t[name] != nil }

func (t tags) one(name string) string {
	if len(t[name]) == 0 {
		return ""
	}
	return t[name][0]
}

// endsBlank tells whether a comment's text ends with a blank line, before its tags.
func endsBlank(doc []string) bool {
	blank := false
	for _, l := range doc {
		if l == "---" {
			break
		}
		if l = strings.TrimSpace(l); !strings.HasPrefix(l, "TODO") && !strings.HasPrefix(l, "+") {
			blank = l == ""
		}
	}
	return blank
}

// text is a comment as documentation: paragraphs are kept, lines are joined, indented ones stay lines.
func text(doc []string) string {
	var b strings.Builder
	cut := func() { // the blank or newline at the end
		s := b.String()
		if s != "" {
			b.Reset()
			b.WriteString(s[:len(s)-1])
		}
	}
	for _, l := range doc {
		if l == "---" {
			break
		}
		l = strings.TrimRight(l, " ")
		switch bare := strings.TrimLeft(l, " "); {
		case l == "":
			cut()
			b.WriteString("\n\n")
		case strings.HasPrefix(bare, "TODO"), strings.HasPrefix(bare, "+"):
		case l[0] == ' ' || l[0] == '\t':
			cut()
			b.WriteString("\n" + l + "\n")
		default:
			b.WriteString(l + " ")
		}
	}
	return strings.TrimSpace(b.String())
}
