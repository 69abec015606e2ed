package build

// What the library needs to know of types: the apply schema of client-go for
// built-in kinds, and a few lines for APIService, which client-go does not have.

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

type writers struct {
	now        time.Time
	scheme     *runtime.Scheme
	builtin    managedfields.TypeConverter
	apiService typed.ParseableType
}

func newWriters(now time.Time) (*writers, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	parser, err := typed.NewParser(apiServiceSchema)
	if err != nil {
		return nil, fmt.Errorf("parse APIService schema: %w", err)
	}
	return &writers{now: now, scheme: scheme, builtin: applyconfigurations.NewTypeConverter(scheme), apiService: parser.Type("APIService")}, nil
}

// ObjectToTyped gives an object its schema.
func (w *writers) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	if obj.GetObjectKind().GroupVersionKind().Group != apiregistrationv1.GroupName {
		return w.builtin.ObjectToTyped(obj, opts...)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	return w.apiService.FromUnstructured(content, opts...)
}

// TypedToObject is the way back.
func (w *writers) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return w.builtin.TypedToObject(v)
}

const apiServiceSchema = `types:
- name: APIService
  map:
    fields:
    - {name: apiVersion, type: {scalar: string}}
    - {name: kind, type: {scalar: string}}
    - {name: metadata, type: {namedType: any}}
    - {name: spec, type: {namedType: any}}
    - {name: status, type: {namedType: any}}
- name: any
  scalar: untyped
  list: {elementType: {namedType: any}, elementRelationship: atomic}
  map: {elementType: {namedType: any}, elementRelationship: separable}
`
