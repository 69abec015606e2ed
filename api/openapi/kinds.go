// Which kinds a Go type is known as, and the Go types of bodies that are not
// a resource's own.
package openapi

import (
	"reflect"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"kuberow/api/kinds"
)

// elsewhere are the group versions that client-go's scheme lacks and upstream's has. Their only trace here is
// in the kinds that every group version has: DeleteOptions and WatchEvent.
var elsewhere = []schema.GroupVersion{
	{Group: "admission.k8s.io", Version: "v1"}, {Group: "admission.k8s.io", Version: "v1beta1"},
	{Group: "apiextensions.k8s.io", Version: "v1"}, {Group: "apiextensions.k8s.io", Version: "v1beta1"},
	{Group: "apiregistration.k8s.io", Version: "v1"}, {Group: "apiregistration.k8s.io", Version: "v1beta1"},
	{Group: "imagepolicy.k8s.io", Version: "v1alpha1"},
}

// kindsOf makes the look-up for the kinds of a registry.
func kindsOf(resources []*kinds.Resource) func(reflect.Type) []schema.GroupVersionKind {
	known := map[reflect.Type]schema.GroupVersionKind{}
	for _, r := range resources {
		for _, v := range r.Versions {
			if r.Custom {
				continue
			}
			known[structOf(v.New())] = v.GVK
			if v.NewList != nil {
				known[structOf(v.NewList())] = v.GVK.GroupVersion().WithKind(v.GVK.Kind + "List")
			}
		}
	}
	return func(t reflect.Type) []schema.GroupVersionKind {
		if gvk, ok := known[t]; ok {
			return []schema.GroupVersionKind{gvk}
		}
		obj, ok := reflect.New(t).Interface().(runtime.Object)
		if !ok {
			return nil
		}
		all, _, err := clientscheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return nil
		}
		var out []schema.GroupVersionKind
		for _, k := range all {
			if k.Version != runtime.APIVersionInternal {
				out = append(out, k)
			}
		}
		switch obj.(type) {
		case *metav1.DeleteOptions, *metav1.WatchEvent:
			for _, gv := range elsewhere {
				out = append(out, gv.WithKind(t.Name()))
			}
		}
		return sortedKinds(out)
	}
}

func sortedKinds(list []schema.GroupVersionKind) []schema.GroupVersionKind {
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if a.Group != b.Group {
			return a.Group < b.Group
		}
		return a.Version < b.Version
	})
	return list
}

func structOf(obj runtime.Object) reflect.Type { return reflect.TypeOf(obj).Elem() }

// typeOf finds the Go type of a subresource's body or options, nil when there is none.
func typeOf(gvk schema.GroupVersionKind) reflect.Type {
	obj, err := clientscheme.Scheme.New(gvk)
	if err != nil {
		return nil
	}
	return structOf(obj)
}
