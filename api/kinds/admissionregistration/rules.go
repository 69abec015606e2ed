// Rules say which requests a webhook or a policy sees. All kinds of the group
// use them.
package admissionregistration

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// The categories of all kinds here.
func categories() []string { return []string{"api-extensions"} }

func defaultRules(rules []v1.RuleWithOperations) {
	for i := range rules {
		defaultRule(&rules[i].Rule)
	}
}

func defaultRule(r *v1.Rule) {
	if r.Scope == nil {
		all := v1.AllScopes
		r.Scope = &all
	}
}

func defaultMatch(m *v1.MatchResources) {
	if m == nil {
		return
	}
	if m.MatchPolicy == nil {
		p := v1.Equivalent
		m.MatchPolicy = &p
	}
	if m.NamespaceSelector == nil {
		m.NamespaceSelector = &metav1.LabelSelector{}
	}
	if m.ObjectSelector == nil {
		m.ObjectSelector = &metav1.LabelSelector{}
	}
	for _, rules := range [][]v1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			defaultRule(&rules[i].Rule)
		}
	}
}

// validateMatch expects an object with its defaults: none of the pointers is nil.
func validateMatch(m *v1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	all := common.Among(*m.MatchPolicy, path.Child("matchPolicy"), v1.Equivalent, v1.Exact)
	all = append(all, common.LabelSelector(m.NamespaceSelector, path.Child("namespaceSelector"))...)
	all = append(all, common.LabelSelector(m.ObjectSelector, path.Child("objectSelector"))...)
	for i := range m.ResourceRules {
		all = append(all, validateNamedRule(&m.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range m.ExcludeResourceRules {
		all = append(all, validateNamedRule(&m.ExcludeResourceRules[i], path.Child("excludeResourceRules").Index(i))...)
	}
	return all
}

func validateNamedRule(r *v1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i, name := range r.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		all = append(all, common.Invalid(content.IsPathSegmentName(name), name, at)...)
		if seen[name] {
			all = append(all, field.Duplicate(at, name))
		}
		seen[name] = true
	}
	return append(all, validateRule(&r.RuleWithOperations, path)...)
}

func validateRule(r *v1.RuleWithOperations, path *field.Path) field.ErrorList {
	all := validateOperations(r.Operations, path.Child("operations"))
	all = append(all, wildcardAlone(r.APIGroups, path.Child("apiGroups"), "API groups")...)
	versions := path.Child("apiVersions")
	all = append(all, wildcardAlone(r.APIVersions, versions, "API versions")...)
	for i, v := range r.APIVersions {
		if v == "" {
			all = append(all, field.Required(versions.Index(i), ""))
		}
	}
	all = append(all, validateResources(r.Resources, path.Child("resources"))...)
	if s := r.Scope; s != nil && *s != v1.AllScopes && *s != v1.ClusterScope && *s != v1.NamespacedScope {
		all = append(all, field.NotSupported(path.Child("scope"), *s, []v1.ScopeType{v1.AllScopes, v1.ClusterScope, v1.NamespacedScope}))
	}
	return all
}

func wildcardAlone(values []string, path *field.Path, what string) field.ErrorList {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for _, v := range values {
		if v == "*" && len(values) > 1 {
			return field.ErrorList{field.Invalid(path, values, "if '*' is present, must not specify other "+what)}
		}
	}
	return nil
}

func validateOperations(operations []v1.OperationType, path *field.Path) field.ErrorList {
	if len(operations) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var all field.ErrorList
	for _, o := range operations {
		if o == v1.OperationAll && len(operations) > 1 {
			all = append(all, field.Invalid(path, operations, "if '*' is present, must not specify other operations"))
			break
		}
	}
	for i, o := range operations {
		switch o {
		case v1.OperationAll, v1.Create, v1.Update, v1.Delete, v1.Connect:
		default:
			all = append(all, field.NotSupported(path.Index(i), o,
				[]v1.OperationType{v1.OperationAll, v1.Connect, v1.Create, v1.Delete, v1.Update}))
		}
	}
	return all
}

// validateResources: a wildcard must not repeat what another entry already says.
func validateResources(resources []string, path *field.Path) field.ErrorList {
	if len(resources) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var all field.ErrorList
	anySub, anyResource := map[string]bool{}, map[string]bool{}
	var everything, star, plain bool
	for i, entry := range resources {
		if entry == "" {
			all = append(all, field.Required(path.Index(i), ""))
			continue
		}
		everything = everything || entry == "*/*"
		star = star || entry == "*"
		resource, sub, slash := strings.Cut(entry, "/")
		if !slash {
			plain = entry != "*"
			continue
		}
		if anySub[resource] {
			all = append(all, field.Invalid(path.Index(i), entry, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, entry)))
		}
		if anyResource[sub] {
			all = append(all, field.Invalid(path.Index(i), entry, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, entry)))
		}
		if sub == "*" {
			anySub[resource] = true
		}
		if resource == "*" {
			anyResource[sub] = true
		}
	}
	if len(resources) > 1 && everything {
		all = append(all, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if star && plain {
		all = append(all, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return all
}

// mutatingOperations refuses what a mutating policy cannot act on.
func mutatingOperations(m *v1.MatchResources, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if m == nil {
		return nil
	}
	for _, r := range m.ResourceRules {
		for _, o := range r.Operations {
			switch o {
			case v1.OperationAll, v1.Create, v1.Update, v1.Connect:
			default:
				all = append(all, field.NotSupported(path.Child("resourceRules", "operations"), o,
					[]v1.OperationType{v1.OperationAll, v1.Connect, v1.Create, v1.Update}))
			}
		}
	}
	return all
}
