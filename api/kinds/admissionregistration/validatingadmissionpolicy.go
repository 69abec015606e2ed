// ValidatingAdmissionPolicy: rules in CEL that refuse objects. It does nothing
// until a binding names it.
package admissionregistration

import (
	"fmt"
	"strings"

	celgo "github.com/google/cel-go/cel"
	v1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	maxAuditAnnotations = 20
	maxValueExpression  = 5 * 1024
)

type validatingPolicy = v1.ValidatingAdmissionPolicy

func validatingPolicies() *kinds.Resource {
	gvk := v1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy")
	version := common.Version[validatingPolicy, v1.ValidatingAdmissionPolicyList](gvk)
	main := common.Typed[validatingPolicy, *validatingPolicy]{
		Default: func(obj *validatingPolicy) {
			fill(&obj.Spec.FailurePolicy, v1.Fail)
			defaultMatch(obj.Spec.MatchConstraints)
		},
		ResetFields: []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *validatingPolicy) {
			obj.Status = v1.ValidatingAdmissionPolicyStatus{}
			obj.Generation = 1
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *validatingPolicy) {
			obj.Status = old.Status
			common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
		},
		Validate: func(_ *kinds.Context, obj *validatingPolicy) field.ErrorList {
			return append(validateValidatingPolicy(obj), validateNotStatic(obj.Name)...)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, _ *validatingPolicy) field.ErrorList {
			return validateValidatingPolicy(obj)
		},
		Warnings: func(_ *kinds.Context, obj, old *validatingPolicy) []string {
			if old == nil {
				return nil
			}
			return warnStatic(obj.Name)
		},
		ForbidUnconditionalUpdate: true,
		FreeFinalizers:            true,
	}
	status := common.Typed[validatingPolicy, *validatingPolicy]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *validatingPolicy) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, _ *validatingPolicy) field.ErrorList {
			return validatePolicyStatus(&obj.Status, field.NewPath("status"))
		},
		ForbidUnconditionalUpdate: true,
		FreeFinalizers:            true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "validatingadmissionpolicies", Singular: "validatingadmissionpolicy", Kind: gvk.Kind,
		Categories: categories(),
		Verbs:      common.Verbs(), Versions: []*kinds.Version{version}, Hub: version, Prefix: "/registry/validatingadmissionpolicies",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

func validateValidatingPolicy(obj *validatingPolicy) field.ErrorList {
	spec, path := &obj.Spec, field.NewPath("spec")
	all := common.Among(*spec.FailurePolicy, path.Child("failurePolicy"), v1.Fail, v1.Ignore)
	all = append(all, validateParamKind(spec.ParamKind, path.Child("paramKind"))...)
	all = append(all, validateConstraints(spec.MatchConstraints, path.Child("matchConstraints"))...)
	all = append(all, validateMatchConditions(spec.MatchConditions, spec.ParamKind != nil, path.Child("matchConditions"))...)
	compiler := policyCompiler(spec.Variables, spec.ParamKind)
	all = append(all, validateVariables(spec.Variables, compiler, path.Child("variables"))...)
	validations, annotations := path.Child("validations"), path.Child("auditAnnotations")
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		const one = "validations or auditAnnotations must contain at least one item"
		return append(all, field.Required(validations, one), field.Required(annotations, one))
	}
	for i := range spec.Validations {
		all = append(all, validateValidation(&spec.Validations[i], compiler, validations.Index(i))...)
	}
	if len(spec.AuditAnnotations) > maxAuditAnnotations {
		all = append(all, field.Invalid(annotations, spec.AuditAnnotations, fmt.Sprintf("must not have more than %d auditAnnotations", maxAuditAnnotations)))
	}
	seen := map[string]bool{}
	for i, a := range spec.AuditAnnotations {
		all = append(all, validateAuditAnnotation(obj.Name, a, compiler, annotations.Index(i))...)
		if seen[a.Key] {
			all = append(all, field.Duplicate(annotations.Index(i).Child("key"), a.Key))
		}
		seen[a.Key] = true
	}
	return all
}

// validateConstraints: a policy, other than a binding, must say what it is about.
func validateConstraints(m *v1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	all := validateMatch(m, path)
	if len(m.ResourceRules) == 0 {
		all = append(all, field.Required(path.Child("resourceRules"), ""))
	}
	return all
}

func validateValidation(v *v1.Validation, compiler *compiler, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if blank(v.Expression) {
		all = append(all, field.Required(path.Child("expression"), "expression is not specified"))
	} else {
		all = append(all, compiler.check(v.Expression, path.Child("expression"), celgo.BoolType)...)
	}
	if at := path.Child("messageExpression"); !blank(v.MessageExpression) {
		all = append(all, compiler.message(v.MessageExpression, at)...)
	} else if v.MessageExpression != "" {
		all = append(all, field.Invalid(at, v.MessageExpression, "must be non-empty if specified"))
	}
	if v.Message != "" && blank(v.Message) {
		all = append(all, field.Invalid(path.Child("message"), v.Message, "must be non-empty if specified"))
	} else if strings.ContainsAny(strings.TrimSpace(v.Message), "\n\r") {
		all = append(all, field.Invalid(path.Child("message"), v.Message, "must not contain line breaks"))
	}
	if r := v.Reason; r != nil {
		switch *r {
		case metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge:
		default:
			all = append(all, field.NotSupported(path.Child("reason"), *r, []metav1.StatusReason{
				metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge}))
		}
	}
	return all
}

func validateAuditAnnotation(policy string, a v1.AuditAnnotation, compiler *compiler, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if policy == "" {
		all = append(all, field.Invalid(path.Child("key"), a.Key, "requires metadata.name be non-empty"))
	} else {
		all = append(all, common.QualifiedName(policy+"/"+a.Key, path.Child("key"))...)
	}
	value := strings.TrimSpace(a.ValueExpression)
	if value == "" {
		all = append(all, field.Required(path.Child("valueExpression"), "valueExpression is not specified"))
	} else if len(value) > maxValueExpression {
		all = append(all, field.Required(path.Child("valueExpression"), fmt.Sprintf("must not exceed %d bytes in length", maxValueExpression)))
	} else {
		all = append(all, compiler.annotation(a.ValueExpression, path.Child("valueExpression"))...)
	}
	return all
}

func validatePolicyStatus(s *v1.ValidatingAdmissionPolicyStatus, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if s.TypeChecking != nil {
		for i, w := range s.TypeChecking.ExpressionWarnings {
			at := path.Child("typeChecking", "expressionWarnings").Index(i)
			if w.Warning == "" {
				all = append(all, field.Required(at.Child("warning"), ""))
			}
			all = append(all, validateFieldRef(strings.TrimSpace(w.FieldRef), at.Child("fieldRef"))...)
		}
	}
	return append(all, metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))...)
}

func validateFieldRef(ref string, path *field.Path) field.ErrorList {
	if ref == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if err := jsonpath.New("spec").Parse("{" + ref + "}"); err != nil {
		return field.ErrorList{field.Invalid(path, ref, fmt.Sprintf("invalid JSONPath: %v", err))}
	}
	return nil
}
