// ResourceClaimTemplate is copied into a ResourceClaim for each pod that names
// it. It never changes.
package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func resourceClaimTemplates() *kinds.Resource {
	gvk := resourcev1.SchemeGroupVersion.WithKind("ResourceClaimTemplate")
	v1 := common.Version[resourcev1.ResourceClaimTemplate, resourcev1.ResourceClaimTemplateList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "resourceclaimtemplates", Singular: "resourceclaimtemplate", Kind: gvk.Kind, ReturnsDeleted: true, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/resourceclaimtemplates",
		Strategy: common.Typed[resourcev1.ResourceClaimTemplate, *resourcev1.ResourceClaimTemplate]{
			Default:          func(obj *resourcev1.ResourceClaimTemplate) { defaultClaim(&obj.Spec.Spec) },
			PrepareForCreate: func(_ *kinds.Context, obj *resourcev1.ResourceClaimTemplate) { dropDerived(&obj.Spec.Spec) },
			PrepareForUpdate: func(_ *kinds.Context, obj, _ *resourcev1.ResourceClaimTemplate) { dropDerived(&obj.Spec.Spec) },
			Validate: func(r *kinds.Context, obj *resourcev1.ResourceClaimTemplate) field.ErrorList {
				all := adminOnly(r, &obj.Spec.Spec, obj.Namespace)
				all = append(all, validateTemplate(obj)...)
				return append(all, declaredTemplate(obj)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaimTemplate) field.ErrorList {
				if common.Equal(obj.Spec, old.Spec) {
					return nil
				}
				all := append(validateTemplate(obj), common.Immutable(obj.Spec, old.Spec, field.NewPath("spec"))...)
				if !common.Equal(obj.Spec.Spec, old.Spec.Spec) {
					all = append(all, declaredTemplate(obj)...)
				}
				return all
			},
		}.Strategy(),
	}
}

func validateTemplate(obj *resourcev1.ResourceClaimTemplate) field.ErrorList {
	path := field.NewPath("spec")
	all := common.TemplateMeta(&obj.Spec.ObjectMeta, path.Child("metadata"))
	return append(all, validateClaimSpec(&obj.Spec.Spec, path.Child("spec"))...)
}

func declaredTemplate(obj *resourcev1.ResourceClaimTemplate) field.ErrorList {
	return declaredClaim(&obj.Spec.Spec.Devices, field.NewPath("spec", "spec", "devices"))
}
