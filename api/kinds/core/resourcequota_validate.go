package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a ResourceQuota: names that can be counted, and scopes that suit them.

func quotaNames() sets.Set[corev1.ResourceName] {
	names := standardNames()
	names.Delete(corev1.ResourceStorage)
	return names
}

// ValidateQuotaName checks the name of a resource that a quota counts.
func ValidateQuotaName(name corev1.ResourceName, at *field.Path) field.ErrorList {
	all := resourceName(name, at)
	if !strings.Contains(string(name), "/") && !quotaNames().Has(name) && !isQuotaHugePages(name) {
		all = append(all, field.Invalid(at, name, "must be a standard resource for quota"))
	}
	return all
}

func (f *faults) quotaAmounts(list corev1.ResourceList, at *field.Path) {
	for _, name := range common.Keys(list) {
		at := at.Key(string(name))
		f.add(ValidateQuotaName(name, at))
		f.add(resourceAmount(name, list[name], at))
	}
}

func validateResourceQuota(_ *kinds.Context, q *corev1.ResourceQuota) field.ErrorList {
	var f faults
	f.quotaSpec(&q.Spec, field.NewPath("spec"))
	return f.all
}

func (f *faults) quotaSpec(s *corev1.ResourceQuotaSpec, at *field.Path) {
	f.quotaAmounts(s.Hard, at.Child("hard"))
	scopes := at.Child("scopes")
	seen := sets.New[corev1.ResourceQuotaScope]()
	for _, scope := range s.Scopes {
		if !isScope(scope) {
			f.invalid(scopes, s.Scopes, "unsupported scope")
		}
		for _, name := range common.Keys(s.Hard) {
			if !scopeSuits(scope, name) {
				f.invalid(scopes, s.Scopes, "unsupported scope applied to resource")
			}
		}
		seen.Insert(scope)
	}
	f.conflicting(seen, s.Scopes, scopes)
	if s.ScopeSelector == nil {
		return
	}
	at = at.Child("scopeSelector", "matchExpressions")
	seen = sets.New[corev1.ResourceQuotaScope]()
	for i := range s.ScopeSelector.MatchExpressions {
		f.scopeExpression(&s.ScopeSelector.MatchExpressions[i], s, at)
		seen.Insert(s.ScopeSelector.MatchExpressions[i].ScopeName)
	}
	f.conflicting(seen, s.Scopes, at)
}

func (f *faults) conflicting(seen sets.Set[corev1.ResourceQuotaScope], scopes []corev1.ResourceQuotaScope, at *field.Path) {
	if seen.HasAll(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) {
		f.invalid(at, scopes, "conflicting scopes")
	}
	if seen.HasAll(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		f.invalid(at, scopes, "conflicting scopes")
	}
}

func isScope(scope corev1.ResourceQuotaScope) bool {
	switch scope {
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return true
	}
	return false
}

// scopeSuits: most scopes are about pods, and limit only what pods use.
func scopeSuits(scope corev1.ResourceQuotaScope, name corev1.ResourceName) bool {
	if !quotaNames().Has(name) && !isQuotaHugePages(name) {
		return true
	}
	pods := name == corev1.ResourcePods
	compute := sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory).Has(name)
	switch scope {
	case corev1.ResourceQuotaScopeBestEffort:
		return pods
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return pods || compute
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return name == corev1.ResourcePersistentVolumeClaims || name == corev1.ResourceRequestsStorage
	}
	return true
}

func (f *faults) scopeExpression(e *corev1.ScopedResourceSelectorRequirement, s *corev1.ResourceQuotaSpec, at *field.Path) {
	if !isScope(e.ScopeName) {
		f.invalid(at.Child("scopeName"), e.ScopeName, "unsupported scope")
	}
	for _, name := range common.Keys(s.Hard) {
		if !scopeSuits(e.ScopeName, name) {
			f.invalid(at, s.ScopeSelector, "unsupported scope applied to resource")
		}
	}
	switch e.ScopeName {
	case corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		if e.Operator != corev1.ScopeSelectorOpExists {
			f.invalid(at.Child("operator"), e.Operator, "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity")
		}
	}
	switch e.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(e.Values) == 0 {
			f.required(at.Child("values"), "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(e.Values) != 0 {
			f.invalid(at.Child("values"), e.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")
		}
	default:
		f.invalid(at.Child("operator"), e.Operator, "not a valid selector operator")
	}
}

func validateResourceQuotaUpdate(r *kinds.Context, q, old *corev1.ResourceQuota) field.ErrorList {
	all := validateResourceQuota(r, q)
	if !sets.New(q.Spec.Scopes...).Equal(sets.New(old.Spec.Scopes...)) {
		all = append(all, field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return all
}

func validateResourceQuotaStatus(_ *kinds.Context, q, _ *corev1.ResourceQuota) field.ErrorList {
	var f faults
	f.quotaAmounts(q.Status.Hard, field.NewPath("status", "hard"))
	f.quotaAmounts(q.Status.Used, field.NewPath("status", "used"))
	return f.all
}
