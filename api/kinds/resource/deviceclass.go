// DeviceClass names devices by selectors and adds configuration to every claim
// that uses the class.
package resource

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func deviceClasses() *kinds.Resource {
	gvk := resourcev1.SchemeGroupVersion.WithKind("DeviceClass")
	v1 := common.Version[resourcev1.DeviceClass, resourcev1.DeviceClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "deviceclasses", Singular: "deviceclass", Kind: gvk.Kind, ReturnsDeleted: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/deviceclasses",
		Strategy: common.Typed[resourcev1.DeviceClass, *resourcev1.DeviceClass]{
			PrepareForCreate: func(_ *kinds.Context, obj *resourcev1.DeviceClass) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.DeviceClass) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate:   func(_ *kinds.Context, obj *resourcev1.DeviceClass) field.ErrorList { return validateClass(&obj.Spec) },
			FreeUpdate: true,
			ValidateUpdate: func(_ *kinds.Context, obj, _ *resourcev1.DeviceClass) field.ErrorList {
				return validateClass(&obj.Spec)
			},
		}.Strategy(),
	}
}

func validateClass(spec *resourcev1.DeviceClassSpec) field.ErrorList {
	path := field.NewPath("spec")
	all := each(spec.Selectors, resourcev1.DeviceSelectorsMaxSize, path.Child("selectors"), validateSelector, nil)
	all = append(all, each(spec.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"),
		func(c *resourcev1.DeviceClassConfiguration, at *field.Path) field.ErrorList {
			return validateConfig(&c.DeviceConfiguration, at)
		}, nil)...)
	if n := spec.ExtendedResourceName; n != nil && !extendedResource(*n) {
		all = append(all, field.Invalid(path.Child("extendedResourceName"), *n, "must be a valid extended resource name"))
	}
	return all
}

// extendedResource: DOMAIN/NAME outside kubernetes.io, and still a valid name with quota's prefix before it.
func extendedResource(name string) bool {
	if !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix) ||
		strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+name)) == 0
}
