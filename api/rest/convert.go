package rest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
)

// Conversion as apimachinery's field managers want it: any version of a kind
// to any other, by way of the one that is stored.

// converter is what apimachinery's field managers ask of a kind.
type converter struct{ res *kinds.Resource }

// ConvertToVersion implements runtime.ObjectConvertor for the versions of the kind.
func (c converter) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := to.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("convert %s to %s: not one version", c.res.Name, to.Identifier())
	}
	in, err := c.structured(in)
	if err != nil {
		return nil, err
	}
	from := in.GetObjectKind().GroupVersionKind().GroupVersion()
	if from == gv {
		return in, nil
	}
	if from != c.res.Hub.GVK.GroupVersion() {
		v := c.version(from)
		if v == nil || v.ToHub == nil {
			return nil, runtime.NewNotRegisteredErrForTarget(c.res.Name, nilType, to)
		}
		if in, err = v.ToHub(in); err != nil {
			return nil, err
		}
		in.GetObjectKind().SetGroupVersionKind(c.res.Hub.GVK)
	}
	if gv == c.res.Hub.GVK.GroupVersion() {
		return in, nil
	}
	v := c.version(gv)
	if v == nil || v.FromHub == nil {
		return nil, runtime.NewNotRegisteredErrForTarget(c.res.Name, nilType, to)
	}
	out, err := v.FromHub(in)
	if err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(v.GVK)
	return out, nil
}

// structured makes a typed object of an unstructured one, unless the kind is custom.
func (c converter) structured(in runtime.Object) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok || c.res.Custom {
		return in, nil
	}
	gvk := u.GroupVersionKind()
	out, err := c.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", gvk, err)
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

func (c converter) version(gv schema.GroupVersion) *kinds.Version {
	for _, v := range c.res.Versions {
		if v.GVK.GroupVersion() == gv {
			return v
		}
	}
	return nil
}

// Convert implements runtime.ObjectConvertor; field managers do not call it.
func (c converter) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; field managers do not call it.
func (c converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter on an object of any version.
func (c converter) Default(in runtime.Object) {
	if c.res.Strategy == nil || c.res.Strategy.Default == nil {
		return
	}
	if in.GetObjectKind().GroupVersionKind() == c.res.Hub.GVK {
		c.res.Strategy.Default(in)
	}
}

// New implements runtime.ObjectCreater.
func (c converter) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	for _, v := range append([]*kinds.Version{c.res.Hub}, c.res.Versions...) {
		if v.GVK == gvk {
			obj := v.New()
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			return obj, nil
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind(c.res.Name, gvk)
}
