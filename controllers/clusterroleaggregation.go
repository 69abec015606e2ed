package controllers

import (
	"sort"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
)

// The aggregation controller fills ClusterRoles that have an aggregationRule
// with the rules of those that it selects: admin, edit and view grow that way. Key: such a
// ClusterRole. Woken by any ClusterRole.

// ClusterRoleAggregation is clusterrole-aggregation-controller.
func ClusterRoleAggregation() Controller {
	return Controller{
		Name: "clusterrole-aggregation-controller",
		Keys: keyMap{ClusterRoles: func(v View, _ Object) []Key {
			var keys []Key
			for _, r := range typed[*rbacv1.ClusterRole](v.List(ClusterRoles, "", nil)) {
				if r.AggregationRule != nil {
					keys = append(keys, NameKey(r))
				}
			}
			return keys
		}},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				r := get[*rbacv1.ClusterRole](v, ClusterRoles, "", k.Name)
				if r != nil && r.AggregationRule != nil {
					aggregate(v, k, r, &out)
				}
			}
			return out
		},
	}
}

// aggregate makes the write that brings a ClusterRole's rules up to date.
func aggregate(v View, k Key, r *rbacv1.ClusterRole, out *Outcome) {
	var rules []rbacv1.PolicyRule
	for i := range r.AggregationRule.ClusterRoleSelectors {
		for _, part := range partsOf(v, r, selectorOf(&r.AggregationRule.ClusterRoleSelectors[i])) {
			for _, rule := range part.Rules {
				if !hasRule(rules, rule) {
					rules = append(rules, rule)
				}
			}
		}
	}
	if equality.Semantic.DeepEqual(rules, r.Rules) {
		return
	}
	w := mutation(k, ClusterRoles, "", r, func(now *rbacv1.ClusterRole) error {
		now.Rules = rules
		return nil
	})
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// partsOf gives the selected ClusterRoles by name, without the one they are for.
func partsOf(v View, r *rbacv1.ClusterRole, selector labels.Selector) []*rbacv1.ClusterRole {
	var parts []*rbacv1.ClusterRole
	for _, part := range typed[*rbacv1.ClusterRole](v.List(ClusterRoles, "", selector)) {
		if part.Name != r.Name {
			parts = append(parts, part)
		}
	}
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].Name < parts[j].Name })
	return parts
}

func hasRule(rules []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	for _, have := range rules {
		if equality.Semantic.DeepEqual(have, rule) {
			return true
		}
	}
	return false
}
