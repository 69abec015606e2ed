// The operations of a resource: what can be done at which path, by which
// name, with which parameters and answers. Both versions of OpenAPI are
// written from this.
package openapi

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// path is one URL template with its operations and what they share.
type path struct {
	url    string
	params []param
	ops    []*operation
}

type operation struct {
	method      string // get put post delete patch options head
	id          string
	description string
	action      string // x-kubernetes-action
	gvk         *schema.GroupVersionKind
	tag         string
	params      []param
	body        string // a definition
	patch       bool   // the body is a patch: its media types say which kind
	optional    bool   // the body may be missing
	private     bool   // it says nothing of what it consumes
	answers     []answer
	produces    []string
}

type answer struct {
	code   string
	text   string
	schema string // a definition; "string" for plain text
}

type param struct {
	name, in, description, typ string
	required                   bool
}

// group writes down the operations of one group version.
type groupPaths struct {
	models *models
	gv     schema.GroupVersion
	prefix string // /apis/apps/v1
	tag    string // apps_v1
	camel  string // AppsV1
	out    []*path
}

func newGroupPaths(m *models, gv schema.GroupVersion) *groupPaths {
	g := &groupPaths{models: m, gv: gv, prefix: "/apis/" + gv.String(), tag: groupTag(gv.Group) + "_" + gv.Version,
		camel: upper(groupTag(gv.Group)) + upper(gv.Version)}
	if gv.Group == "" {
		g.prefix = "/api/" + gv.Version
	}
	return g
}

// groupTag names a group in one word: core, apps, rbacAuthorization, stableExampleCom.
func groupTag(group string) string {
	if group == "" {
		return "core"
	}
	words := strings.Split(strings.TrimSuffix(group, ".k8s.io"), ".")
	for i := 1; i < len(words); i++ {
		words[i] = upper(words[i])
	}
	return strings.Join(words, "")
}

func upper(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func (g *groupPaths) add(url string, params []param, ops ...*operation) {
	var there []*operation
	for _, o := range ops {
		if o != nil {
			o.tag = g.tag
			there = append(there, o)
		}
	}
	if len(there) > 0 {
		p := &path{url: g.prefix + url, params: params, ops: there}
		p.share()
		g.out = append(g.out, p)
	}
}

// share moves the parameters that all operations have to the path.
func (p *path) share() {
	for _, q := range p.ops[0].params {
		all := true
		for _, o := range p.ops {
			all = all && slices.Contains(o.params, q)
		}
		if !all {
			continue
		}
		p.params = append(p.params, q)
	}
	for _, o := range p.ops {
		o.params = slices.DeleteFunc(clone(o.params), func(q param) bool { return slices.Contains(p.params, q) })
	}
}

// bodies are the definitions that a resource's operations speak of.
type bodies struct{ object, list string }

func (g *groupPaths) resource(r *kinds.Resource, b bodies) {
	v := r.Version(g.gv.Version)
	ns, nsParams, scope := "", []param(nil), ""
	if r.Namespaced {
		ns, nsParams, scope = "/namespaces/{namespace}", []param{namespaceParam}, "Namespaced"
	}
	can := func(verb string) bool { return contains(r.Verbs, verb) }
	c := call{g: g, r: r, gvk: v.GVK, noun: scope + r.Kind, bodies: b}
	collection, object := ns+"/"+r.Name, ns+"/"+r.Name+"/{name}"
	nameParams := append([]param{nameParam(r.Kind)}, nsParams...)

	g.add(collection, append(clone(nsParams), prettyParam),
		c.when(can("list"), c.list), c.when(can("create"), c.create), c.when(can("deletecollection"), c.deleteCollection))
	g.add(object, append(clone(nameParams), prettyParam),
		c.when(can("get"), c.get), c.when(can("update"), c.update), c.when(can("delete"), c.delete), c.when(can("patch"), c.patch))
	for _, s := range r.Subresources {
		below := append([]param{nameParam(s.GVK.Kind)}, nsParams...)
		g.subresource(c, s, object+"/"+s.Name, append(below, prettyParam))
	}
	all := c
	all.noun, all.suffix = r.Kind, "ForAllNamespaces"
	if r.Namespaced && can("list") {
		g.add("/"+r.Name, append(queryParams(metav1.ListOptions{}), prettyParam), all.allNamespaces())
	}
	if !can("watch") {
		return
	}
	watchParams := append(queryParams(metav1.ListOptions{}), prettyParam)
	g.add("/watch"+collection, append(clone(nsParams), watchParams...), c.watchList())
	if can("get") {
		g.add("/watch"+object, append(clone(nameParams), watchParams...), c.watch())
	}
	if r.Namespaced {
		g.add("/watch/"+r.Name, watchParams, all.watchList())
	}
}

// subresource: parts of the object, bodies of their own, or connections.
func (g *groupPaths) subresource(c call, s *kinds.Subresource, url string, params []param) {
	if s.Connect && s.Name != "log" {
		g.connect(c, s, url, params)
		return
	}
	c.sub = upper(s.Name)
	whole := s.GVK.Kind == c.r.Kind // a part of the object, in the object's own form
	if !whole {
		c.gvk = s.GVK
	}
	if t := typeOf(s.GVK); t != nil && !whole {
		c.bodies.object = g.models.ref(t)
	}
	can := func(verb string) bool { return contains(s.Verbs, verb) }
	if s.Name == "log" {
		g.add(url, append(params, g.optionParams("PodLogOptions")...), c.log())
		return
	}
	g.add(url, params, c.when(can("get"), c.get), c.when(can("update"), c.update),
		c.when(can("patch"), c.patch), c.when(can("create"), c.create))
}

// optionParams are the fields of a kind of options as query parameters.
func (g *groupPaths) optionParams(kind string) []param {
	t := typeOf(g.gv.WithKind(kind))
	if t == nil {
		return nil
	}
	return structParams(t)
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func clone(p []param) []param { return append([]param(nil), p...) }

var (
	namespaceParam = param{name: "namespace", in: "path", typ: "string", required: true,
		description: "object name and auth scope, such as for teams and projects"}
	prettyParam = param{name: "pretty", in: "query", typ: "string",
		description: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget)."}
)

func nameParam(kind string) param {
	return param{name: "name", in: "path", typ: "string", required: true, description: "name of the " + kind}
}

// queryParams are the fields of an options struct, as its documentation describes them.
func queryParams(options any) []param { return structParams(reflect.TypeOf(options)) }

func structParams(t reflect.Type) []param {
	docs := swagger(t)
	var out []param
	for i := 0; i < t.NumField(); i++ {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" || t.Field(i).Anonymous {
			continue
		}
		typ := t.Field(i).Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		p := param{name: name, in: "query", description: docs[name]}
		if p.typ, _ = simple(typ); p.typ == "" {
			continue // a time, preconditions: upstream documents only what is one plain value
		}
		out = append(out, p)
	}
	return out
}
