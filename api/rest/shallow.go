package rest

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// shallow copies an object just so deep that its metadata can be set: the
// struct for a typed object, two maps for an unstructured one.
func shallow(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		out := make(map[string]any, len(u.Object))
		for k, v := range u.Object {
			out[k] = v
		}
		if m, ok := u.Object["metadata"].(map[string]any); ok {
			copied := make(map[string]any, len(m)+1)
			for k, v := range m {
				copied[k] = v
			}
			out["metadata"] = copied
		}
		return &unstructured.Unstructured{Object: out}
	}
	v := reflect.ValueOf(obj)
	if v.Kind() != reflect.Pointer {
		return obj.DeepCopyObject()
	}
	out := reflect.New(v.Type().Elem())
	out.Elem().Set(v.Elem())
	copied, ok := out.Interface().(runtime.Object)
	if !ok {
		return obj.DeepCopyObject()
	}
	return copied
}

// nilType stands for a type that is unknown in apimachinery's errors.
var nilType = reflect.TypeFor[struct{}]()
