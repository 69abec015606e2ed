// MutatingAdmissionPolicyBinding puts a mutating policy to work.
package admissionregistration

import (
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type mutatingBinding = v1.MutatingAdmissionPolicyBinding

func mutatingPolicyBindings() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding")
	version := common.Version[mutatingBinding, v1.MutatingAdmissionPolicyBindingList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "mutatingadmissionpolicybindings", Singular: "mutatingadmissionpolicybinding", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/mutatingadmissionpolicybindings",
		Strategy: common.Typed[mutatingBinding, *mutatingBinding]{
			Default:          func(obj *mutatingBinding) { defaultMatch(obj.Spec.MatchResources) },
			PrepareForCreate: func(_ *kinds.Context, obj *mutatingBinding) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *mutatingBinding) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate: func(_ *kinds.Context, obj *mutatingBinding) field.ErrorList {
				return append(validateMutatingBinding(&obj.Spec), validateNotStatic(obj.Name)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, _ *mutatingBinding) field.ErrorList {
				return validateMutatingBinding(&obj.Spec)
			},
			Warnings: func(_ *kinds.Context, obj, old *mutatingBinding) []string {
				if old == nil {
					return nil
				}
				return warnStatic(obj.Name)
			},
			ForbidUnconditionalUpdate: true,
			FreeFinalizers:            true,
		}.Strategy(),
	}
}

func validateMutatingBinding(spec *v1.MutatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	all, missing := policyName(spec.PolicyName, path.Child("policyName"))
	all = append(missing, all...)
	all = append(all, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	all = append(all, validateMatch(spec.MatchResources, path.Child("matchResources"))...)
	return append(all, mutatingOperations(spec.MatchResources, path.Child("matchResources"))...)
}
