// One operation per verb, with upstream's names and words.
package openapi

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// call is where and about what the operations are.
type call struct {
	g      *groupPaths
	r      *kinds.Resource
	gvk    schema.GroupVersionKind
	noun   string // NamespacedPod, Pod
	sub    string // Status
	suffix string // ForAllNamespaces
	bodies bodies
}

func (c call) when(can bool, make func() *operation) *operation {
	if !can {
		return nil
	}
	return make()
}

// op starts an operation; verb is how its name begins: readCoreV1NamespacedPod.
func (c call) op(method, verb, action, description string, lists bool) *operation {
	gvk := c.gvk
	return &operation{
		method: method, action: action, gvk: &gvk, description: description,
		id:       verb + c.g.camel + c.noun + c.sub + c.suffix,
		produces: wire.Representations(lists),
	}
}

// of describes what is acted on: "the specified Pod", "status of the specified Pod".
func (c call) of(what string) string {
	if c.sub == "" {
		return what
	}
	return strings.ToLower(c.sub) + " of " + what
}

func ok(schema string) answer       { return answer{"200", "OK", schema} }
func created(schema string) answer  { return answer{"201", "Created", schema} }
func accepted(schema string) answer { return answer{"202", "Accepted", schema} }

func (c call) model(v any) string { return c.g.models.refOf(v) }

func (c call) list() *operation {
	watch := contains(c.r.Verbs, "watch")
	description := "list objects of kind "
	if watch {
		description = "list or watch objects of kind "
	}
	o := c.op("get", "list", "list", description+c.r.Kind, true)
	o.params = queryParams(metav1.ListOptions{})
	o.answers = []answer{ok(c.bodies.list)}
	return o
}

func (c call) allNamespaces() *operation {
	o := c.list()
	o.params = nil // they stand at the path
	return o
}

func (c call) create() *operation {
	o := c.op("post", "create", "post", "create "+c.of(article(c.r.Kind)), false)
	o.params = queryParams(metav1.CreateOptions{})
	o.body = c.bodies.object
	o.answers = []answer{ok(c.bodies.object), created(c.bodies.object), accepted(c.bodies.object)}
	return o
}

func article(kind string) string {
	if strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss") {
		return kind // Endpoints
	}
	if strings.ContainsAny(kind[:1], "AEIOU") {
		return "an " + kind
	}
	return "a " + kind
}

func (c call) get() *operation {
	o := c.op("get", "read", "get", "read "+c.of("the specified "+c.r.Kind), false)
	o.answers = []answer{ok(c.bodies.object)}
	return o
}

func (c call) log() *operation {
	o := c.op("get", "read", "get", "read log of the specified "+c.r.Kind, false)
	o.produces = append([]string{"text/plain"}, o.produces...)
	o.answers = []answer{ok("string")}
	return o
}

func (c call) update() *operation {
	o := c.op("put", "replace", "put", "replace "+c.of("the specified "+c.r.Kind), false)
	o.params = queryParams(metav1.UpdateOptions{})
	o.body = c.bodies.object
	o.answers = []answer{ok(c.bodies.object), created(c.bodies.object)}
	return o
}

func (c call) patch() *operation {
	o := c.op("patch", "patch", "patch", "partially update "+c.of("the specified "+c.r.Kind), false)
	o.params = queryParams(metav1.PatchOptions{})
	o.body, o.patch = c.model(metav1.Patch{}), true
	o.answers = []answer{ok(c.bodies.object), created(c.bodies.object)}
	return o
}

func (c call) delete() *operation {
	o := c.op("delete", "delete", "delete", "delete "+article(c.r.Kind), false)
	o.params = queryParams(metav1.DeleteOptions{})
	o.body, o.optional = c.model(metav1.DeleteOptions{}), true
	body := c.model(metav1.Status{})
	if c.r.ReturnsDeleted && c.r.GroupResource() != (schema.GroupResource{Resource: "namespaces"}) { // upstream documents a Status for a namespace, and sends the object
		body = c.bodies.object
	}
	o.answers = []answer{ok(body), accepted(body)}
	return o
}

func (c call) deleteCollection() *operation {
	c.noun = "Collection" + c.noun
	o := c.op("delete", "delete", "deletecollection", "delete collection of "+c.r.Kind, false)
	selected := without(without(queryParams(metav1.ListOptions{}), "watch"), "allowWatchBookmarks")
	o.params = merge(selected, queryParams(metav1.DeleteOptions{}))
	o.body, o.optional = c.model(metav1.DeleteOptions{}), true
	o.answers = []answer{ok(c.model(metav1.Status{}))}
	return o
}

// merge joins parameters; a name stands once.
func merge(a, b []param) []param {
	seen := map[string]bool{}
	for _, p := range a {
		seen[p.name] = true
	}
	for _, p := range b {
		if !seen[p.name] {
			a = append(a, p)
		}
	}
	return a
}

func (c call) watch() *operation {
	o := c.op("get", "watch", "watch", "watch changes to an object of kind "+c.r.Kind+
		". deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.", true)
	o.answers = []answer{ok(c.model(metav1.WatchEvent{}))}
	return o
}

func (c call) watchList() *operation {
	c.suffix = "List" + c.suffix
	o := c.op("get", "watch", "watchlist", "watch individual changes to a list of "+c.r.Kind+
		". deprecated: use the 'watch' parameter with a list operation instead.", true)
	o.answers = []answer{ok(c.model(metav1.WatchEvent{}))}
	return o
}

// connect: a proxy takes every method, at its own path and at any below it.
func (g *groupPaths) connect(c call, s *kinds.Subresource, url string, params []param) {
	methods := []string{"get", "post"}
	if s.Name == "proxy" {
		methods = []string{"get", "put", "post", "delete", "options", "head", "patch"}
	}
	params = append(without(params, "pretty"), g.optionParams(s.GVK.Kind)...)
	build := func(suffix string) []*operation {
		var ops []*operation
		for _, m := range methods {
			gvk := s.GVK
			ops = append(ops, &operation{
				method: m, action: "connect", gvk: &gvk, produces: []string{"*/*"},
				id:          "connect" + g.camel + upper(m) + c.noun + upper(s.Name) + suffix,
				description: "connect " + strings.ToUpper(m) + " requests to " + s.Name + " of " + c.r.Kind,
				answers:     []answer{ok("string")},
			})
		}
		return ops
	}
	g.add(url, params, build("")...)
	if s.Name == "proxy" {
		below := param{name: "path", in: "path", typ: "string", required: true, description: "path to the resource"}
		g.add(url+"/{path}", append(clone(params), below), build("WithPath")...)
	}
}

func without(params []param, name string) []param {
	var out []param
	for _, p := range params {
		if p.name != name {
			out = append(out, p)
		}
	}
	return out
}
