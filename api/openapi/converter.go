// The type converter of server-side apply for kinds that client-go has no
// apply configurations for, from the same definitions that clients read.
package openapi

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"kuberow/api/kinds"
)

// TypeConverter knows all versions of the resources: CustomResourceDefinition, APIService.
// It costs some milliseconds; call it at first use.
func TypeConverter(resources []*kinds.Resource) (managedfields.TypeConverter, error) {
	return CustomTypeConverter(resources, nil)
}

// CustomTypeConverter is TypeConverter for custom resources, whose schemas the caller has.
func CustomTypeConverter(resources []*kinds.Resource, custom CustomSchema) (managedfields.TypeConverter, error) {
	definitions, err := newPool(kindsOf(resources))
	if err != nil {
		return nil, err
	}
	m := definitions.models()
	for _, r := range resources {
		for _, v := range r.Versions {
			if r.Custom {
				m.custom(r, v, custom)
				continue
			}
			m.ref(structOf(v.New()))
		}
	}
	schemas, err := m.schemas()
	if err != nil {
		return nil, err
	}
	converter, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		return nil, fmt.Errorf("make type converter: %w", err)
	}
	return converter, nil
}

// schemas gives all definitions in kube-openapi's form.
func (m *models) schemas() (map[string]*spec.Schema, error) {
	out := map[string]*spec.Schema{}
	for _, name := range m.list() {
		var text []byte
		if n := m.own[name]; n != nil && n.Raw != nil {
			text = n.Raw[v3]
		} else if n == nil {
			var err error
			if text, err = m.encode(v3, name); err != nil {
				return nil, err
			}
		} else {
			continue // a list: nobody applies one
		}
		s := &spec.Schema{}
		if err := json.Unmarshal(text, s); err != nil {
			return nil, fmt.Errorf("read definition %s: %w", name, err)
		}
		out[name] = s
	}
	return out, nil
}
