package flowcontrol

// The rules of a FlowSchema: whose requests, for which resources or URLs.

import (
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

var flowVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

func validateFlowRules(rule *flowcontrolv1.PolicyRulesWithSubjects, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(rule.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for i := range rule.Subjects {
		errs = append(errs, validateFlowSubject(&rule.Subjects[i], path.Child("subjects").Index(i))...)
	}
	if len(rule.ResourceRules) == 0 && len(rule.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range rule.ResourceRules {
		errs = append(errs, validateResourceRule(&rule.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range rule.NonResourceRules {
		errs = append(errs, validateURLRule(&rule.NonResourceRules[i], path.Child("nonResourceRules").Index(i))...)
	}
	return errs
}

func validateFlowSubject(s *flowcontrolv1.Subject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Kind {
	case flowcontrolv1.SubjectKindServiceAccount:
		errs = validateAccountSubject(s.ServiceAccount, path.Child("serviceAccount"))
	case flowcontrolv1.SubjectKindUser:
		errs = named(s.User != nil, func() string { return s.User.Name }, path.Child("user"), "user is required when subject kind is 'User'")
	case flowcontrolv1.SubjectKindGroup:
		errs = named(s.Group != nil, func() string { return s.Group.Name }, path.Child("group"), "group is required when subject kind is 'Group'")
	default:
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, []string{"Group", "ServiceAccount", "User"})}
	}
	for _, f := range []struct {
		set  bool
		kind flowcontrolv1.SubjectKind
		name string
	}{
		{s.ServiceAccount != nil, flowcontrolv1.SubjectKindServiceAccount, "serviceAccount"},
		{s.User != nil, flowcontrolv1.SubjectKindUser, "user"},
		{s.Group != nil, flowcontrolv1.SubjectKindGroup, "group"},
	} {
		if f.set && f.kind != s.Kind {
			errs = append(errs, field.Forbidden(path.Child(f.name), f.name+" is forbidden when subject kind is not '"+string(f.kind)+"'"))
		}
	}
	return errs
}

func named(there bool, name func() string, path *field.Path, missing string) field.ErrorList {
	if !there {
		return field.ErrorList{field.Required(path, missing)}
	}
	if name() == "" {
		return field.ErrorList{field.Required(path.Child("name"), "")}
	}
	return nil
}

func validateAccountSubject(s *flowcontrolv1.ServiceAccountSubject, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "serviceAccount is required when subject kind is 'ServiceAccount'")}
	}
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else if s.Name != flowcontrolv1.NameAll {
		errs = append(errs, common.Invalid(apivalidation.ValidateServiceAccountName(s.Name, false), s.Name, path.Child("name"))...)
	}
	if s.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	errs = append(errs, common.Invalid(apivalidation.ValidateNamespaceName(s.Namespace, false), s.Namespace, path.Child("namespace"))...)
	return errs
}

func validateVerbs(verbs []string, path *field.Path) field.ErrorList {
	switch {
	case len(verbs) == 0:
		return field.ErrorList{field.Required(path, "verbs must contain at least one value")}
	case slices.Contains(verbs, "*"):
		return alone(verbs, path, "verbs")
	case slices.ContainsFunc(verbs, func(v string) bool { return !slices.Contains(flowVerbs, v) }):
		return field.ErrorList{field.NotSupported(path, verbs, flowVerbs)}
	}
	return nil
}

// alone: a star stands by itself.
func alone(list []string, path *field.Path, what string) field.ErrorList {
	if len(list) > 1 && slices.Contains(list, "*") {
		return field.ErrorList{field.Invalid(path, list, "if '*' is present, must not specify other "+what)}
	}
	return nil
}

func validateResourceRule(rule *flowcontrolv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(rule.Verbs, path.Child("verbs"))
	if len(rule.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	errs = append(errs, alone(rule.APIGroups, path.Child("apiGroups"), "api groups")...)
	if len(rule.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	errs = append(errs, alone(rule.Resources, path.Child("resources"), "resources")...)
	namespaces := path.Child("namespaces")
	switch {
	case len(rule.Namespaces) == 0 && !rule.ClusterScope:
		errs = append(errs, field.Required(namespaces, "resource rules that are not cluster scoped must supply at least one namespace"))
	case slices.Contains(rule.Namespaces, "*"):
		errs = append(errs, alone(rule.Namespaces, namespaces, "namespaces")...)
	default:
		for i, ns := range rule.Namespaces {
			for _, msg := range apivalidation.ValidateNamespaceName(ns, false) {
				errs = append(errs, field.Invalid(namespaces.Index(i), ns, "each member of this list must be '*' or a DNS-1123 label; "+msg))
			}
		}
	}
	return errs
}

func validateURLRule(rule *flowcontrolv1.NonResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(rule.Verbs, path.Child("verbs"))
	urls := path.Child("nonResourceURLs")
	switch {
	case len(rule.NonResourceURLs) == 0:
		errs = append(errs, field.Required(urls, "nonResourceURLs must contain at least one value"))
	case slices.Contains(rule.NonResourceURLs, "*"):
		errs = append(errs, alone(rule.NonResourceURLs, urls, "non-resource URLs")...)
	default:
		for i, u := range rule.NonResourceURLs {
			if msg := badURL(u); msg != "" {
				errs = append(errs, field.Invalid(urls.Index(i), u, msg))
			}
		}
	}
	return errs
}

func badURL(u string) string {
	switch stars := strings.Count(u, "*"); {
	case u == "":
		return "must not be empty"
	case u == "/":
	case !strings.HasPrefix(u, "/"):
		return "must start with slash"
	case strings.Contains(u, " "):
		return "must not contain white-space"
	case strings.Contains(u, "//"):
		return "must not contain double slash"
	case stars > 1, stars == 1 && !strings.HasSuffix(u, "/*"):
		return "wildcard can only do suffix matching"
	}
	return ""
}
