// ValidatingAdmissionPolicyBinding puts a policy to work: where, with which
// parameters, and what a violation does.
package admissionregistration

import (
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type validatingBinding = v1.ValidatingAdmissionPolicyBinding

func validatingPolicyBindings() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding")
	version := common.Version[validatingBinding, v1.ValidatingAdmissionPolicyBindingList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "validatingadmissionpolicybindings", Singular: "validatingadmissionpolicybinding", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/validatingadmissionpolicybindings",
		Strategy: common.Typed[validatingBinding, *validatingBinding]{
			Default:          func(obj *validatingBinding) { defaultMatch(obj.Spec.MatchResources) },
			PrepareForCreate: func(_ *kinds.Context, obj *validatingBinding) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *validatingBinding) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate: func(_ *kinds.Context, obj *validatingBinding) field.ErrorList {
				return append(validateValidatingBinding(&obj.Spec), validateNotStatic(obj.Name)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, _ *validatingBinding) field.ErrorList {
				return validateValidatingBinding(&obj.Spec)
			},
			Warnings: func(_ *kinds.Context, obj, old *validatingBinding) []string {
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

func validateValidatingBinding(spec *v1.ValidatingAdmissionPolicyBindingSpec) field.ErrorList {
	path := field.NewPath("spec")
	all, missing := policyName(spec.PolicyName, path.Child("policyName"))
	all = append(all, validateParamRef(spec.ParamRef, path.Child("paramRef"))...)
	all = append(all, validateMatch(spec.MatchResources, path.Child("matchResources"))...)
	actions, none := validateActions(spec.ValidationActions, path.Child("validationActions"))
	// Upstream finds missing fields in a later pass.
	return append(append(append(all, actions...), missing...), none...)
}

func validateActions(actions []v1.ValidationAction, path *field.Path) (all, none field.ErrorList) {
	if len(actions) == 0 {
		return nil, field.ErrorList{field.Required(path, "")}
	}
	seen := map[v1.ValidationAction]bool{}
	for i, a := range actions {
		all = append(all, common.Among(a, path.Index(i), v1.Audit, v1.Deny, v1.Warn)...)
		if seen[a] {
			all = append(all, field.Duplicate(path.Index(i), a))
		}
		seen[a] = true
	}
	if seen[v1.Deny] && seen[v1.Warn] {
		all = append(all, field.Invalid(path, actions, "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)"))
	}
	return all, nil
}
