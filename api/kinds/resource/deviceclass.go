// DeviceClass names devices by selectors and adds configuration to every claim
// that uses the class.
package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
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
			Validate: func(_ *kinds.Context, obj *resourcev1.DeviceClass) field.ErrorList {
				return validateClass(&obj.Spec, &resourcev1.DeviceClassSpec{})
			},
			FreeUpdate:   true,
			ValidateName: common.NameMade,
			ValidateUpdate: func(_ *kinds.Context, obj, old *resourcev1.DeviceClass) field.ErrorList {
				return validateClass(&obj.Spec, &old.Spec)
			},
		}.Strategy(),
	}
}

// validateClass does not look at a list that is as it was.
func validateClass(spec, old *resourcev1.DeviceClassSpec) field.ErrorList {
	path := field.NewPath("spec")
	selectors, config := path.Child("selectors"), path.Child("config")
	var found, declares field.ErrorList
	if !common.Equal(spec.Selectors, old.Selectors) {
		found = each(spec.Selectors, resourcev1.DeviceSelectorsMaxSize, selectors, validateSelector)
		declares = common.AtMost(spec.Selectors, resourcev1.DeviceSelectorsMaxSize, selectors)
	}
	if !common.Equal(spec.Config, old.Config) {
		found = append(found, each(spec.Config, resourcev1.DeviceConfigMaxSize, config,
			func(c *resourcev1.DeviceClassConfiguration, at *field.Path) field.ErrorList {
				return validateConfig(&c.DeviceConfiguration, at)
			})...)
		declares = append(declares, declared(spec.Config, resourcev1.DeviceConfigMaxSize, config, nil,
			func(c *resourcev1.DeviceClassConfiguration, at *field.Path) field.ErrorList {
				return declaredConfig(&c.DeviceConfiguration, at)
			})...)
	}
	if n := spec.ExtendedResourceName; n != nil && !common.Equal(n, old.ExtendedResourceName) {
		declares = append(declares, common.Holds(*n, path.Child("extendedResourceName"), validate.ExtendedResourceName)...)
	}
	return append(found, declares...)
}
