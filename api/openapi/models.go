// The definitions of one document: those that its operations speak of, and
// all that these refer to.
package openapi

import (
	"bytes"
	"fmt"
	"reflect"
	"sort"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// models collects the definitions of one document.
type models struct {
	*pool
	gv   schema.GroupVersion // what the document is about; empty: everything
	used map[string]bool
	own  map[string]*node // of custom resources; no other document needs them
}

func (p *pool) models() *models {
	return &models{pool: p, used: map[string]bool{}, own: map[string]*node{}}
}

// ref names the definition of a struct type, which the document has from now on.
func (m *models) ref(t reflect.Type) string {
	name := m.pool.ref(t)
	m.used[name] = true
	return name
}

// refOf is ref of a value's type.
func (m *models) refOf(v any) string { return m.ref(reflect.TypeOf(v)) }

// list gives the names of all definitions of the document, sorted.
func (m *models) list() []string {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if seen[name] {
			return
		}
		seen[name] = true
		m.byName[name].refs(visit)
	}
	for name := range m.used {
		visit(name)
	}
	for name, n := range m.own {
		n.refs(func(ref string) {
			if m.own[ref] == nil {
				visit(ref)
			}
		})
		seen[name] = true
	}
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// refs calls visit with every definition that a schema refers to.
func (n *node) refs(visit func(name string)) {
	if n == nil {
		return
	}
	if n.Ref != "" {
		visit(n.Ref)
	}
	n.Items.refs(visit)
	n.Additional.refs(visit)
	for _, p := range n.Properties {
		p.refs(visit)
	}
}

// definitions writes all schemas of the document.
func (j *jsonWriter) definitions(d dialect, m *models) {
	j.object(func() {
		for _, name := range m.list() {
			j.key(name)
			if n := m.special(name); n != nil {
				j.schema(d, n)
				continue
			}
			b, err := m.encode(d, name)
			if err != nil && j.err == nil {
				j.err = err
			}
			j.raw(string(b))
		}
	})
}

// special gives the definitions that no other document has in the same form: custom resources, and the kinds
// that every group version has, of which a document names its own.
func (m *models) special(name string) *node {
	if n := m.own[name]; n != nil {
		return n
	}
	n := m.byName[name]
	if len(n.GVKs) < 3 || m.gv.Empty() {
		return nil
	}
	narrow := *n
	narrow.GVKs = nil
	for _, k := range n.GVKs {
		if k.Group == "" || k.GroupVersion() == m.gv {
			narrow.GVKs = append(narrow.GVKs, k)
		}
	}
	return &narrow
}

// encode gives a definition as JSON; many documents have the same ones.
func (p *pool) encode(d dialect, name string) ([]byte, error) {
	if b, there := p.encoded[d][name]; there {
		return b, nil
	}
	var b bytes.Buffer
	p.scratch.w.Reset(&b) // one buffer for all of them
	p.scratch.schema(d, p.byName[name])
	if err := p.scratch.flush(); err != nil {
		return nil, fmt.Errorf("encode definition %s: %w", name, err)
	}
	p.encoded[d][name] = bytes.Clone(b.Bytes())
	return p.encoded[d][name], nil
}
