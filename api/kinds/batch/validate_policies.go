package batch

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// The rules of podFailurePolicy, successPolicy and podReplacementPolicy.

const (
	maxPolicyRules  = 20
	maxExitCodes    = 255
	maxIndexesBytes = 64 * 1024
)

func failureActions() []batchv1.PodFailurePolicyAction {
	return []batchv1.PodFailurePolicyAction{
		batchv1.PodFailurePolicyActionCount, batchv1.PodFailurePolicyActionFailIndex,
		batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore,
	}
}

func jobPolicies(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if s.PodFailurePolicy != nil {
		all = append(all, failurePolicy(s, path.Child("podFailurePolicy", "rules"))...)
	}
	if s.SuccessPolicy != nil {
		if indexed(s) {
			all = append(all, successPolicy(s, path.Child("successPolicy", "rules"))...)
		} else {
			all = append(all, field.Invalid(path.Child("successPolicy"), common.Internal(*s.SuccessPolicy), "requires indexed completion mode"))
		}
	}
	if p := s.PodReplacementPolicy; p != nil {
		allowed := []batchv1.PodReplacementPolicy{batchv1.Failed}
		if s.PodFailurePolicy == nil {
			allowed = append(allowed, batchv1.TerminatingOrFailed)
		}
		if !sets.New(allowed...).Has(*p) {
			all = append(all, field.NotSupported(path.Child("podReplacementPolicy"), *p, allowed))
		}
	}
	return all
}

func failurePolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if n := len(s.PodFailurePolicy.Rules); n > maxPolicyRules {
		all = append(all, field.TooMany(path, n, maxPolicyRules))
	}
	names := sets.New[string]()
	for _, list := range [][]corev1.Container{s.Template.Spec.Containers, s.Template.Spec.InitContainers} {
		for i := range list {
			names.Insert(list[i].Name)
		}
	}
	for i := range s.PodFailurePolicy.Rules {
		all = append(all, failureRule(s, &s.PodFailurePolicy.Rules[i], names, path.Index(i))...)
	}
	return all
}

func failureRule(s *batchv1.JobSpec, rule *batchv1.PodFailurePolicyRule, names sets.Set[string], path *field.Path) field.ErrorList {
	var all field.ErrorList
	action := path.Child("action")
	switch {
	case rule.Action == "":
		all = append(all, field.Required(action, fmt.Sprintf("valid values: %q", failureActions())))
	case rule.Action == batchv1.PodFailurePolicyActionFailIndex:
		if s.BackoffLimitPerIndex == nil {
			all = append(all, field.Invalid(action, rule.Action, "requires the backoffLimitPerIndex to be set"))
		}
	case !sets.New(failureActions()...).Has(rule.Action):
		all = append(all, field.NotSupported(action, rule.Action, failureActions()))
	}
	if rule.OnExitCodes != nil {
		all = append(all, exitCodes(rule.OnExitCodes, names, path.Child("onExitCodes"))...)
	}
	if len(rule.OnPodConditions) > 0 {
		all = append(all, podConditions(rule.OnPodConditions, path.Child("onPodConditions"))...)
	}
	switch {
	case rule.OnExitCodes != nil && len(rule.OnPodConditions) > 0:
		all = append(all, field.Invalid(path, field.OmitValueType{}, "specifying both OnExitCodes and OnPodConditions is not supported"))
	case rule.OnExitCodes == nil && len(rule.OnPodConditions) == 0:
		all = append(all, field.Invalid(path, field.OmitValueType{}, "specifying one of OnExitCodes and OnPodConditions is required"))
	}
	return all
}

func podConditions(patterns []batchv1.PodFailurePolicyOnPodConditionsPattern, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if len(patterns) > maxPolicyRules {
		all = append(all, field.TooMany(path, len(patterns), maxPolicyRules))
	}
	known := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
	for i, p := range patterns {
		path := path.Index(i)
		all = append(all, common.QualifiedName(string(p.Type), path.Child("type"))...)
		if !sets.New(known...).Has(p.Status) {
			all = append(all, field.NotSupported(path.Child("status"), p.Status, known))
		}
	}
	return all
}

func exitCodes(r *batchv1.PodFailurePolicyOnExitCodesRequirement, names sets.Set[string], path *field.Path) field.ErrorList {
	var all field.ErrorList
	operators := []batchv1.PodFailurePolicyOnExitCodesOperator{batchv1.PodFailurePolicyOnExitCodesOpIn, batchv1.PodFailurePolicyOnExitCodesOpNotIn}
	if r.Operator == "" {
		all = append(all, field.Required(path.Child("operator"), fmt.Sprintf("valid values: %q", operators)))
	} else if !sets.New(operators...).Has(r.Operator) {
		all = append(all, field.NotSupported(path.Child("operator"), r.Operator, operators))
	}
	if r.ContainerName != nil && !names.Has(*r.ContainerName) {
		all = append(all, field.Invalid(path.Child("containerName"), *r.ContainerName, "must be one of the container or initContainer names in the pod template"))
	}
	values := path.Child("values")
	if len(r.Values) == 0 {
		all = append(all, field.Invalid(values, r.Values, "at least one value is required"))
	} else if len(r.Values) > maxExitCodes {
		all = append(all, field.TooMany(values, len(r.Values), maxExitCodes))
	}
	ordered, seen := true, sets.New[int32]()
	for i, code := range r.Values {
		if r.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && code == 0 {
			all = append(all, field.Invalid(values.Index(i), code, "must not be 0 for the In operator"))
		}
		if seen.Has(code) {
			all = append(all, field.Duplicate(values.Index(i), code))
		}
		seen.Insert(code)
		ordered = ordered && (i == 0 || r.Values[i-1] <= code)
	}
	if !ordered {
		all = append(all, field.Invalid(values, r.Values, "must be ordered"))
	}
	return all
}

func successPolicy(s *batchv1.JobSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	rules := s.SuccessPolicy.Rules
	if len(rules) == 0 {
		all = append(all, field.Required(path, "at least one rules must be specified when the successPolicy is specified"))
	}
	if len(rules) > maxPolicyRules {
		all = append(all, field.TooMany(path, len(rules), maxPolicyRules))
	}
	if s.Completions == nil { // said already: an indexed Job must have them
		return all
	}
	for i := range rules {
		all = append(all, successRule(&rules[i], *s.Completions, path.Index(i))...)
	}
	return all
}

func successRule(rule *batchv1.SuccessPolicyRule, completions int32, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if rule.SucceededCount == nil && rule.SucceededIndexes == nil {
		all = append(all, field.Required(path, "at least one of succeededCount or succeededIndexes must be specified"))
	}
	var named int32
	if text := rule.SucceededIndexes; text != nil {
		path := path.Child("succeededIndexes")
		all = append(all, common.MaxBytes(*text, maxIndexesBytes, path)...)
		var err error
		if named, err = indexList(*text, completions); err != nil {
			all = append(all, field.Invalid(path, *text, "error parsing succeededIndexes: "+err.Error()))
		}
	}
	if count := rule.SucceededCount; count != nil {
		path := path.Child("succeededCount")
		all = append(all, common.NonNegative(int64(*count), path)...)
		if *count > completions {
			all = append(all, field.Invalid(path, *count, fmt.Sprintf("must be less than or equal to %d (the number of specified completions)", completions)))
		}
		if rule.SucceededIndexes != nil && *count > named {
			all = append(all, field.Invalid(path, *count, fmt.Sprintf("must be less than or equal to %d (the number of indexes in the specified succeededIndexes field)", named)))
		}
	}
	return all
}
