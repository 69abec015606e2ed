// Custom resources: their schemas come from definitions, and get what every
// object has: apiVersion, kind and metadata.
package openapi

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// CustomSchema gives the schema of a version of a custom resource in the JSON of OpenAPI version 3, nil when
// the definition has none. Its apiVersion, kind and metadata are replaced.
type CustomSchema func(r *kinds.Resource, version string) json.RawMessage

func (m *models) custom(r *kinds.Resource, v *kinds.Version, find CustomSchema) bodies {
	// com.example.stable.v1.CronTab: the group's words turned around, as Java names packages.
	words := strings.Split(r.Group, ".")
	for i, j := 0, len(words)-1; i < j; i, j = i+1, j-1 {
		words[i], words[j] = words[j], words[i]
	}
	name := strings.Join(append(words, v.GVK.Version, r.Kind), ".")
	m.own[name] = m.customObject(r, v, find)
	m.own[name+"List"] = m.customList(r, v, name)
	return bodies{object: name, list: name + "List"}
}

func (m *models) customObject(r *kinds.Resource, v *kinds.Version, find CustomSchema) *node {
	var text json.RawMessage
	if find != nil {
		text = find(r, v.GVK.Version)
	}
	object := map[string]any{}
	if json.Unmarshal(text, &object) != nil || object["type"] != "object" {
		object = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	}
	properties, _ := object["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	object["properties"] = properties
	object["x-kubernetes-group-version-kind"] = []map[string]string{{"group": v.GVK.Group, "kind": v.GVK.Kind, "version": v.GVK.Version}}
	docs, meta := swagger(structOf(&metav1.PartialObjectMetadata{})), m.refOf(metav1.ObjectMeta{})
	types := m.typeMeta()
	n := &node{Raw: map[dialect]json.RawMessage{}}
	for _, d := range []dialect{v2, v3} {
		for _, p := range types {
			properties[p.Name] = map[string]any{"type": "string", "description": p.Description}
		}
		ref := map[string]any{"$ref": d.refPath(meta), "description": docs["metadata"]}
		if d == v3 {
			ref = map[string]any{"allOf": []any{map[string]any{"$ref": d.refPath(meta)}}, "description": docs["metadata"]}
		}
		properties["metadata"] = ref
		b, err := json.Marshal(object)
		if err != nil {
			b = []byte("{}") // it was JSON before
		}
		n.Raw[d] = b
	}
	return n
}

// typeMeta are the properties apiVersion and kind.
func (m *models) typeMeta() []property {
	n := &node{}
	t := structOf(&metav1.PartialObjectMetadata{})
	m.fields(n, t.Field(0).Type, m.markers.of(key(t.Field(0).Type)), swagger(t.Field(0).Type))
	return n.Properties
}

func (m *models) customList(r *kinds.Resource, v *kinds.Version, object string) *node {
	list := &node{
		Description: r.Kind + "List is a list of " + r.Kind, Type: "object", Required: []string{"items"},
		GVKs: []schema.GroupVersionKind{v.GVK.GroupVersion().WithKind(v.GVK.Kind + "List")},
	}
	list.Properties = append(m.typeMeta(),
		property{"items", &node{Type: "array", Items: &node{Ref: object}, Description: "List of " + r.Name}},
		property{"metadata", &node{Ref: m.refOf(metav1.ListMeta{}), Description: swagger(structOf(&metav1.PartialObjectMetadataList{}))["metadata"]}})
	return list
}
