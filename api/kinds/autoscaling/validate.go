package autoscaling

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of the spec and of the behavior. References must name an API group,
// except to a kind that only the core group has; an old reference stays valid.

const (
	maxWindow = 3600 // seconds of stabilization
	maxPeriod = 1800 // seconds of a policy
)

func validate(_ *kinds.Context, h *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	group := requireGroup
	if h.Spec.ScaleTargetRef.Kind == "ReplicationController" {
		group = emptyGroup
	}
	return spec(&h.Spec, group, emptyGroup)
}

func validateUpdate(_ *kinds.Context, h, old *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	group, object := requireGroup, emptyGroup
	now, was := h.Spec.ScaleTargetRef, old.Spec.ScaleTargetRef
	if now.APIVersion == was.APIVersion && now.Kind == was.Kind {
		group = anyGroup
	} else if now.Kind == "ReplicationController" {
		group = emptyGroup
	}
	for _, m := range old.Spec.Metrics {
		if m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil && object.check(m.Object.DescribedObject.APIVersion) != nil {
			object = anyGroup
		}
	}
	return spec(&h.Spec, group, object)
}

// groupRule says what a reference's apiVersion may be.
type groupRule int

const (
	requireGroup groupRule = iota
	emptyGroup
	anyGroup
)

func (g groupRule) check(apiVersion string) error {
	if g == anyGroup {
		return nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return err
	}
	if g == requireGroup && gv.Group == "" {
		return fmt.Errorf("apiVersion must specify API group")
	}
	return nil
}

func spec(s *autoscalingv2.HorizontalPodAutoscalerSpec, target, object groupRule) field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("spec")
	low, high := s.MinReplicas, path.Child("maxReplicas")
	if low != nil && s.MaxReplicas < *low {
		all = append(all, field.Invalid(high, s.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	all = append(all, reference(s.ScaleTargetRef, target, path.Child("scaleTargetRef"))...)
	all = append(all, metrics(s, object, path.Child("metrics"))...)
	if s.Behavior != nil {
		all = append(all, rules(s.Behavior.ScaleUp, path.Child("behavior", "scaleUp"))...)
		all = append(all, rules(s.Behavior.ScaleDown, path.Child("behavior", "scaleDown"))...)
	}
	return append(all, bounds(s, path)...)
}

// bounds come last: upstream generates these rules from the types and runs them after the others.
func bounds(s *autoscalingv2.HorizontalPodAutoscalerSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if low := s.MinReplicas; low != nil && *low < 0 {
		all = append(all, field.Invalid(path.Child("minReplicas"), *low, "must be greater than or equal to 0"))
	}
	if high := path.Child("maxReplicas"); s.MaxReplicas == 0 {
		all = append(all, field.Required(high, ""))
	} else if s.MaxReplicas < 0 {
		all = append(all, field.Invalid(high, s.MaxReplicas, "must be greater than or equal to 1"))
	}
	return all
}

func reference(r autoscalingv2.CrossVersionObjectReference, group groupRule, path *field.Path) field.ErrorList {
	all := segment(r.Kind, "", path.Child("kind"))
	all = append(all, segment(r.Name, "", path.Child("name"))...)
	if err := group.check(r.APIVersion); err != nil {
		all = append(all, field.Invalid(path.Child("apiVersion"), r.APIVersion, err.Error()))
	}
	return all
}

// segment wants what can stand in a URL path; missing is what is said when it is empty.
func segment(value, missing string, path *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, missing)}
	}
	return common.Invalid(pathvalidation.IsValidPathSegmentName(value), value, path)
}

func rules(r *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var all field.ErrorList
	window := path.Child("stabilizationWindowSeconds")
	if w := r.StabilizationWindowSeconds; w != nil && *w < 0 {
		all = append(all, field.Invalid(window, w, "must be greater than or equal to zero"))
	} else if w != nil && *w > maxWindow {
		all = append(all, field.Invalid(window, w, fmt.Sprintf("must be less than or equal to %v", maxWindow)))
	}
	if p := r.SelectPolicy; p != nil && *p != autoscalingv2.MaxChangePolicySelect && *p != autoscalingv2.MinChangePolicySelect && *p != autoscalingv2.DisabledPolicySelect {
		all = append(all, field.NotSupported(path.Child("selectPolicy"), p, []autoscalingv2.ScalingPolicySelect{
			autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect}))
	}
	if len(r.Policies) == 0 {
		all = append(all, field.Required(path.Child("policies"), "must specify at least one Policy"))
	}
	for i := range r.Policies {
		all = append(all, policy(&r.Policies[i], path.Child("policies").Index(i))...)
	}
	if r.Tolerance != nil && r.Tolerance.Sign() < 0 {
		all = append(all, field.Invalid(path.Child("tolerance"), r.Tolerance.String(), apivalidation.IsNegativeErrorMsg))
	}
	return all
}

func policy(p *autoscalingv2.HPAScalingPolicy, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if p.Type != autoscalingv2.PodsScalingPolicy && p.Type != autoscalingv2.PercentScalingPolicy {
		all = append(all, field.NotSupported(path.Child("type"), p.Type, []autoscalingv2.HPAScalingPolicyType{
			autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy}))
	}
	if p.Value <= 0 {
		all = append(all, field.Invalid(path.Child("value"), p.Value, "must be greater than zero"))
	}
	if p.PeriodSeconds <= 0 {
		all = append(all, field.Invalid(path.Child("periodSeconds"), p.PeriodSeconds, "must be greater than zero"))
	}
	if p.PeriodSeconds > maxPeriod {
		all = append(all, field.Invalid(path.Child("periodSeconds"), p.PeriodSeconds, fmt.Sprintf("must be less than or equal to %v", maxPeriod)))
	}
	return all
}

func validateStatus(_ *kinds.Context, h, _ *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("status")
	for i, c := range h.Status.Conditions {
		if c.ObservedGeneration != nil {
			all = append(all, common.NonNegative(*c.ObservedGeneration, path.Child("conditions").Index(i).Child("observedGeneration"))...)
		}
	}
	all = append(all, common.NonNegative(int64(h.Status.CurrentReplicas), path.Child("currentReplicas"))...)
	return append(all, common.NonNegative(int64(h.Status.DesiredReplicas), path.Child("desiredReplicas"))...)
}
