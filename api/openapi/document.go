// The documents: all paths of a part of the API, and the definitions that
// they refer to.
package openapi

import (
	"io"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// part is one document of version 3; version 2 is all of them in one.
type part struct {
	name   string // api/v1, apis/apps, version
	custom bool   // it changes when definitions do
	gv     schema.GroupVersion
	paths  func(m *models) []*path
}

// parts lists what is served, in the order of the names.
func (h *handler) parts() []part {
	resources := h.registry.All()
	byGV := map[schema.GroupVersion][]*kinds.Resource{}
	custom := map[string]bool{}
	for _, r := range resources {
		for _, v := range r.Versions {
			gv := schema.GroupVersion{Group: r.Group, Version: v.GVK.Version}
			byGV[gv] = append(byGV[gv], r)
		}
		custom[r.Group] = custom[r.Group] || r.Custom
	}
	out := []part{
		{name: "api", paths: single("/api/", "getCoreAPIVersions", "get available API versions", "core", metav1.APIVersions{})},
		{name: "apis", paths: single("/apis/", "getAPIVersions", "get available API versions", "apis", metav1.APIGroupList{})},
		{name: "version", paths: single("/version/", "getCodeVersion", "get the version information for this server", "version", apimachineryversion.Info{})},
		{name: ".well-known/openid-configuration", paths: single("/.well-known/openid-configuration/", "getServiceAccountIssuerOpenIDConfiguration",
			"get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'", "WellKnown", "")},
		{name: "openid/v1/jwks", paths: single("/openid/v1/jwks/", "getServiceAccountIssuerOpenIDKeyset",
			"get service account issuer OpenID JSON Web Key Set (contains public token verification keys)", "openid", "")},
	}
	groups := map[string]bool{}
	for gv, list := range byGV {
		out = append(out, h.versionPart(gv, list, custom[gv.Group]))
		if gv.Group != "" && !groups[gv.Group] && !custom[gv.Group] {
			groups[gv.Group] = true
			out = append(out, part{name: "apis/" + gv.Group, paths: single("/apis/"+gv.Group+"/",
				"get"+upper(groupTag(gv.Group))+"APIGroup", "get information of a group", groupTag(gv.Group), metav1.APIGroup{})})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

// single is a document about one path that is read without parameters.
func single(url, id, description, tag string, answers any) func(*models) []*path {
	return func(m *models) []*path {
		o := &operation{method: "get", id: id, description: description, tag: tag, produces: wire.Representations(false)}
		switch answers.(type) {
		case string:
			o.produces, o.private = []string{wire.JSON}, true
			if tag == "openid" {
				o.produces = []string{"application/jwk-set+json"}
			}
			o.answers = []answer{ok("string")}
		case apimachineryversion.Info:
			o.produces = []string{wire.JSON}
			o.answers = []answer{ok(m.refOf(answers))}
		default:
			o.answers = []answer{ok(m.refOf(answers))}
		}
		return []*path{{url: url, ops: []*operation{o}}}
	}
}

func (h *handler) versionPart(gv schema.GroupVersion, list []*kinds.Resource, custom bool) part {
	name := "apis/" + gv.String()
	if gv.Group == "" {
		name = "api/" + gv.Version
	}
	return part{name: name, custom: custom, gv: gv, paths: func(m *models) []*path {
		g := newGroupPaths(m, gv)
		if !custom {
			g.add("/", nil, &operation{method: "get", id: "get" + g.camel + "APIResources", description: "get available resources",
				produces: wire.Representations(false), answers: []answer{ok(m.refOf(metav1.APIResourceList{}))}})
		}
		for _, r := range list {
			g.resource(r, h.bodiesOf(m, r, gv.Version))
		}
		sort.SliceStable(g.out, func(i, j int) bool { return g.out[i].url < g.out[j].url })
		return g.out
	}}
}

// bodiesOf names the definitions of a resource's object and list.
func (h *handler) bodiesOf(m *models, r *kinds.Resource, version string) bodies {
	v := r.Version(version)
	if r.Custom {
		return m.custom(r, v, h.customSchema)
	}
	b := bodies{object: m.ref(structOf(v.New()))}
	if contains(r.Verbs, "list") {
		b.list = m.ref(structOf(v.NewList()))
	}
	return b
}

func (h *handler) newPool() (*pool, error) { return newPool(kindsOf(h.registry.All())) }

// writePart writes one document of version 3.
func (h *handler) writePart(w io.Writer, p part, definitions *pool) error {
	m := definitions.models()
	m.gv = p.gv
	paths := p.paths(m)
	j := newJSONWriter(w)
	j.object(func() {
		j.key("components")
		j.object(func() {
			if len(m.used)+len(m.own) > 0 {
				j.key("schemas")
				j.definitions(v3, m)
			}
			j.field("securitySchemes", security)
		})
		h.info(j)
		j.field("openapi", "3.0.0")
		j.key("paths")
		j.paths(v3, paths)
	})
	return j.flush()
}

// writeV2 writes the document of version 2.
func (h *handler) writeV2(w io.Writer, definitions *pool) error {
	m := definitions.models()
	var paths []*path
	for _, p := range h.parts() {
		paths = append(paths, p.paths(m)...)
	}
	sort.SliceStable(paths, func(i, j int) bool { return paths[i].url < paths[j].url })
	j := newJSONWriter(w)
	j.object(func() {
		j.key("definitions")
		j.definitions(v2, m)
		h.info(j)
		j.key("paths")
		j.paths(v2, paths)
		j.field("parameters", j.shared)
		j.field("security", []map[string][]string{{"BearerToken": {}}})
		j.field("securityDefinitions", security)
		j.field("swagger", "2.0")
	})
	return j.flush()
}

var security = map[string]map[string]string{"BearerToken": {
	"description": "Bearer Token authentication", "in": "header", "name": "authorization", "type": "apiKey",
}}

func (h *handler) info(j *jsonWriter) {
	j.field("info", map[string]string{"title": "Kubernetes", "version": h.version})
}
