package policy

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A PodDisruptionBudget says how many pods of a set may be away at once by
// somebody's choice. Its status is written by its controller and by evictions.

// Resources lists policy/v1.
func Resources() []*kinds.Resource {
	parts := common.NewParts(
		func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetSpec { return &b.Spec },
		func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudgetStatus { return &b.Status })
	strategy := common.Typed[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]{
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate:         validate,
		FreeMeta:         true,
		ValidateUpdate: func(r *kinds.Context, b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
			return validate(r, b)
		},
		ResetFields:               []string{"status"},
		ForbidUnconditionalUpdate: true,
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateStatus
	status.ResetFields = []string{"spec"}
	gvk := policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")
	v := common.Version[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList](gvk)
	return []*kinds.Resource{{
		Group: gvk.Group, Kind: gvk.Kind, Name: "poddisruptionbudgets", Singular: "poddisruptionbudget", ShortNames: []string{"pdb"},
		Namespaced: true, Verbs: common.Verbs(), Prefix: "/registry/poddisruptionbudgets", StorageVersionHash: "EVWiDmWqyJw=",
		Versions: []*kinds.Version{v}, Hub: v, Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}}
}

func validate(_ *kinds.Context, b *policyv1.PodDisruptionBudget) field.ErrorList {
	var all field.ErrorList
	s, path := &b.Spec, field.NewPath("spec")
	if s.MinAvailable != nil && s.MaxUnavailable != nil {
		all = append(all, field.Invalid(path, common.Internal(*s), "minAvailable and maxUnavailable cannot be both set"))
	}
	if s.MinAvailable != nil {
		all = append(all, common.IntOrPercent(*s.MinAvailable, path.Child("minAvailable"))...)
		all = append(all, common.AtMost100Percent(*s.MinAvailable, path.Child("minAvailable"))...)
	}
	if s.MaxUnavailable != nil {
		all = append(all, common.IntOrPercent(*s.MaxUnavailable, path.Child("maxUnavailable"))...)
		all = append(all, common.AtMost100Percent(*s.MaxUnavailable, path.Child("maxUnavailable"))...)
	}
	all = append(all, common.LabelSelector(s.Selector, path.Child("selector"))...)
	if p := s.UnhealthyPodEvictionPolicy; p != nil && *p != policyv1.IfHealthyBudget && *p != policyv1.AlwaysAllow {
		all = append(all, field.NotSupported(path.Child("unhealthyPodEvictionPolicy"), *p,
			[]policyv1.UnhealthyPodEvictionPolicyType{policyv1.AlwaysAllow, policyv1.IfHealthyBudget}))
	}
	return all
}

func validateStatus(_ *kinds.Context, b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	s, path := &b.Status, field.NewPath("status")
	all := metav1validation.ValidateConditions(s.Conditions, path.Child("conditions"))
	for _, n := range []struct {
		name  string
		value int32
	}{
		{"disruptionsAllowed", s.DisruptionsAllowed}, {"currentHealthy", s.CurrentHealthy},
		{"desiredHealthy", s.DesiredHealthy}, {"expectedPods", s.ExpectedPods},
	} {
		all = append(all, common.NonNegative(int64(n.value), path.Child(n.name))...)
	}
	return all
}
