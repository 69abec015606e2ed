// MutatingAdmissionPolicy: patches in CEL. It does nothing until a binding
// names it.
package admissionregistration

import (
	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type mutatingPolicy = v1.MutatingAdmissionPolicy

func mutatingPolicies() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy")
	version := common.Version[mutatingPolicy, v1.MutatingAdmissionPolicyList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "mutatingadmissionpolicies", Singular: "mutatingadmissionpolicy", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/mutatingadmissionpolicies",
		Strategy: common.Typed[mutatingPolicy, *mutatingPolicy]{
			Default: func(obj *mutatingPolicy) {
				fill(&obj.Spec.FailurePolicy, v1.Fail)
				defaultMatch(obj.Spec.MatchConstraints)
			},
			PrepareForCreate: func(_ *kinds.Context, obj *mutatingPolicy) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *mutatingPolicy) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate: func(_ *kinds.Context, obj *mutatingPolicy) field.ErrorList {
				return append(validateMutatingPolicy(&obj.Spec), validateNotStatic(obj.Name)...)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, _ *mutatingPolicy) field.ErrorList {
				return validateMutatingPolicy(&obj.Spec)
			},
			Warnings: func(_ *kinds.Context, obj, old *mutatingPolicy) []string {
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

func validateMutatingPolicy(spec *v1.MutatingAdmissionPolicySpec) field.ErrorList {
	path := field.NewPath("spec")
	all := common.Among(*spec.FailurePolicy, path.Child("failurePolicy"), v1.Fail, v1.Ignore)
	all = append(all, validateParamKind(spec.ParamKind, path.Child("paramKind"))...)
	all = append(all, validateConstraints(spec.MatchConstraints, path.Child("matchConstraints"))...)
	all = append(all, mutatingOperations(spec.MatchConstraints, path.Child("matchConstraints"))...)
	all = append(all, validateMatchConditions(spec.MatchConditions, spec.ParamKind != nil, path.Child("matchConditions"))...)
	compiler := policyCompiler(spec.Variables, spec.ParamKind)
	all = append(all, validateVariables(spec.Variables, compiler, path.Child("variables"))...)
	mutations := path.Child("mutations")
	if len(spec.Mutations) == 0 {
		all = append(all, field.Required(mutations, "mutations must contain at least one item"))
	}
	for i := range spec.Mutations {
		all = append(all, validateMutation(&spec.Mutations[i], compiler, mutations.Index(i))...)
	}
	return append(all, common.OneOf(spec.ReinvocationPolicy, path.Child("reinvocationPolicy"), v1.IfNeededReinvocationPolicy, v1.NeverReinvocationPolicy)...)
}

func validateMutation(m *v1.Mutation, compiler *compiler, path *field.Path) field.ErrorList {
	var all field.ErrorList
	patch, apply := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case "":
		return field.ErrorList{field.Required(path.Child("patchType"), "")}
	case v1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			all = append(all, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else if blank(m.JSONPatch.Expression) {
			all = append(all, field.Required(patch.Child("expression"), ""))
		} else {
			list := celgo.ListType(celgo.ObjectType("JSONPatch"))
			all = append(all, compiler.patch(m.JSONPatch.Expression, patch.Child("expression"), list)...)
		}
		if m.ApplyConfiguration != nil {
			all = append(all, field.Invalid(apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
	case v1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			all = append(all, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else if blank(m.ApplyConfiguration.Expression) {
			all = append(all, field.Required(apply.Child("expression"), ""))
		} else {
			all = append(all, compiler.patch(m.ApplyConfiguration.Expression, apply.Child("expression"), celgo.ObjectType("Object"))...)
		}
		if m.JSONPatch != nil {
			all = append(all, field.Invalid(patch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		all = append(all, field.NotSupported(path.Child("patchType"), m.PatchType, []v1.PatchType{v1.PatchTypeApplyConfiguration, v1.PatchTypeJSONPatch}))
	}
	return all
}
