// Writing operations. The versions differ in where media types and bodies
// stand: version 2 beside the parameters, version 3 around the schemas.
package openapi

import (
	"cmp"
	"slices"

	"kuberow/api/wire"
)

// patchTypes are the media types of a patch; what cannot be merged strategically has no Go type.
var patchTypes = []string{
	"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml",
}

func (j *jsonWriter) paths(d dialect, paths []*path) {
	j.object(func() {
		for _, p := range paths {
			j.key(p.url)
			j.object(func() {
				for _, o := range p.ops {
					j.key(o.method)
					j.operation(d, o)
				}
				if len(p.params) > 0 {
					j.key("parameters")
					j.parameters(d, p.params, nil)
				}
			})
		}
	})
}

func (j *jsonWriter) operation(d dialect, o *operation) {
	j.object(func() {
		if d == v2 && !o.private {
			j.field("consumes", o.consumes())
		}
		j.field("description", o.description)
		j.field("operationId", o.id)
		if len(o.params) > 0 || d == v2 && o.body != "" {
			j.key("parameters")
			j.parameters(d, o.params, o)
		}
		if d == v2 {
			j.field("produces", o.produces)
		} else if o.body != "" {
			j.key("requestBody")
			j.requestBody(o)
		}
		j.key("responses")
		j.responses(d, o)
		if d == v2 {
			j.field("schemes", []string{"https"})
		}
		j.field("tags", []string{o.tag})
		j.text("x-kubernetes-action", o.action)
		if o.gvk != nil {
			j.key("x-kubernetes-group-version-kind")
			j.gvk(o.gvk.Group, o.gvk.Kind, o.gvk.Version)
		}
	})
}

func (o *operation) consumes() []string {
	switch {
	case o.patch:
		return patchTypes
	case o.action == "":
		return o.produces
	}
	return []string{"*/*"}
}

// parameters writes the list; the body of o is one of them in version 2.
func (j *jsonWriter) parameters(d dialect, params []param, o *operation) {
	sorted := slices.Clone(params)
	slices.SortFunc(sorted, func(a, b param) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.in, b.in))
	})
	j.raw("[")
	j.first = true
	if d == v2 && o != nil && o.body != "" {
		j.separate()
		j.parameterV2(bodyV2(o))
	}
	for _, p := range sorted {
		j.separate()
		if d == v2 {
			j.parameterV2(p.v2())
		} else {
			j.parameter(p)
		}
	}
	j.raw("]")
	j.first = false
}

func (j *jsonWriter) parameter(p param) {
	j.object(func() {
		j.text("description", p.description)
		j.field("in", p.in)
		j.field("name", p.name)
		if p.required {
			j.field("required", true)
		}
		j.field("schema", map[string]any{"type": p.typ, "uniqueItems": true})
	})
}

func (j *jsonWriter) requestBody(o *operation) {
	types := []string{"*/*"}
	if o.patch {
		types = patchTypes
	}
	j.object(func() {
		j.key("content")
		j.content(types, o.body)
		if !o.optional {
			j.field("required", true)
		}
	})
}

func (j *jsonWriter) content(types []string, schema string) {
	sorted := slices.Clone(types)
	slices.Sort(sorted)
	j.object(func() {
		for _, t := range sorted {
			j.key(t)
			j.object(func() { j.answerSchema(v3, schema) })
		}
	})
}

func (j *jsonWriter) answerSchema(d dialect, schema string) {
	if schema == "string" {
		j.field("schema", map[string]string{"type": "string"})
		return
	}
	j.field("schema", map[string]string{"$ref": d.refPath(schema)})
}

func (j *jsonWriter) responses(d dialect, o *operation) {
	j.object(func() {
		for _, a := range o.answers {
			j.key(a.code)
			j.object(func() {
				if d == v3 {
					j.key("content")
					j.content(o.answerTypes(), a.schema)
				}
				j.field("description", a.text)
				if d == v2 {
					j.answerSchema(d, a.schema)
				}
			})
		}
		j.field("401", map[string]string{"description": "Unauthorized"})
	})
}

func (o *operation) answerTypes() []string {
	if len(o.produces) == 0 {
		return []string{wire.JSON}
	}
	return o.produces
}
