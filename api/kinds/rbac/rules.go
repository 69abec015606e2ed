package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateRules checks the rules of a role. A rule is for resources or for
// URLs that are none; the latter belong to no namespace.
func validateRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("rules")
	for i, rule := range rules {
		errs = append(errs, validateRule(rule, namespaced, path.Index(i))...)
	}
	return errs
}

// declaredRules is what the Go type declares: verbs. It is reported last.
func declaredRules(rules []rbacv1.PolicyRule) field.ErrorList {
	var errs field.ErrorList
	for i, rule := range rules {
		if len(rule.Verbs) == 0 {
			errs = append(errs, field.Required(field.NewPath("rules").Index(i).Child("verbs"), ""))
		}
	}
	return errs
}

func validateRule(rule rbacv1.PolicyRule, namespaced bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(rule.NonResourceURLs) > 0 {
		urls := path.Child("nonResourceURLs")
		if namespaced {
			errs = append(errs, field.Invalid(urls, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
		}
		if len(rule.APIGroups) > 0 || len(rule.Resources) > 0 || len(rule.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(urls, rule.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(rule.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(rule.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}
