package rest

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kuberow/api/kinds"
)

// Schemas tell managedFields which lists are maps by key and which are atomic.

// typeConverter finds the schema of a kind: client-go's for most built-in
// kinds, the one made from the API's own description for the others, and for
// what neither knows a guess, in which lists are atomic.
type typeConverter struct {
	builtIn, deduced managedfields.TypeConverter
	more             func() managedfields.TypeConverter

	mu    sync.Mutex
	which map[schema.GroupVersionKind]managedfields.TypeConverter
}

// of gives the converter that knows the kind, found out by trying.
func (t *typeConverter) of(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.which[gvk]; c != nil {
		return c
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(gvk)
	found := t.deduced
	if _, err := t.builtIn.ObjectToTyped(empty); err == nil {
		found = t.builtIn
	} else if more := t.more(); more != nil {
		if _, err := more.ObjectToTyped(empty); err == nil {
			found = more
		}
	}
	t.which[gvk] = found
	return found
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *typeConverter) ObjectToTyped(obj runtime.Object, o ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return t.of(obj.GetObjectKind().GroupVersionKind()).ObjectToTyped(obj, o...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *typeConverter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return t.builtIn.TypedToObject(v)
}

// moreTypes makes the schemas that client-go does not have, nil when nobody can.
func (r *REST) moreTypes() managedfields.TypeConverter {
	if r.Types == nil {
		return nil
	}
	var others []*kinds.Resource
	for _, res := range r.Registry.All() {
		if !res.Custom && !clientscheme.Scheme.Recognizes(res.Hub.GVK) || res.Prefix == "" {
			others = append(others, res)
		}
		for _, sub := range res.Subresources {
			if sub.GVK != res.Hub.GVK && clientscheme.Scheme.Recognizes(sub.GVK) {
				others = append(others, r.fields.part(res, sub.GVK, func() runtime.Object { return newPart(sub.GVK) }))
			}
		}
	}
	c, err := r.Types(others)
	if err != nil {
		r.Logger.Warn("some kinds have no schema for managedFields", "error", err)
		return nil
	}
	return c
}
