package auth

// The RBAC authorizer: a request is allowed when one rule of one role that one
// binding grants to the user (by name, by group, or as a service account)
// matches it. Rules only add; there is no denying rule, so the order in which
// they are looked at decides nothing but which one the reason names.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// RBAC authorizes from the Role, ClusterRole and binding objects of the store.
type RBAC struct {
	unconditional
	index *rbacIndex
}

// NewRBAC reads nothing yet; the first question does.
func NewRBAC(source Source) *RBAC {
	r := &RBAC{index: newRBACIndex(source)}
	r.unconditional.authorize = r.Authorize
	return r
}

// Authorize says Allow with the binding as reason, or NoOpinion.
func (r *RBAC) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if err := r.index.Sync(ctx); err != nil {
		return authorizer.DecisionNoOpinion, "", err
	}
	u := a.GetUser()
	reason, allowed := "", false
	var missing []error
	r.visit(u, a.GetNamespace(), func(b *indexedBinding, rules []rbacv1.PolicyRule, err error) bool {
		if err != nil {
			missing = append(missing, err)
			return true
		}
		for i := range rules {
			if ruleAllows(&rules[i], a) {
				allowed, reason = true, "RBAC: allowed by "+b.describe(u)
				return false
			}
		}
		return true
	})
	if allowed {
		return authorizer.DecisionAllow, reason, nil
	}
	if len(missing) > 0 {
		reason = fmt.Sprintf("RBAC: %v", utilerrors.NewAggregate(missing))
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// visit calls f for the bindings of u, those of the cluster before those of the namespace, until it says false.
func (r *RBAC) visit(u user.Info, namespace string, f func(b *indexedBinding, rules []rbacv1.PolicyRule, err error) bool) {
	x := r.index
	x.RLock()
	defer x.RUnlock()
	scopes := []string{"", namespace}
	if namespace == "" {
		scopes = scopes[:1]
	}
	for _, ns := range scopes {
		for _, b := range x.bindingsFor(u, ns) {
			rules, err := x.rulesOf(b.ref, ns)
			if !f(b, rules, err) {
				return
			}
		}
	}
}

// Rules gives every rule that u holds in namespace, and what could not be resolved.
func (r *RBAC) Rules(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	if err := r.index.Sync(ctx); err != nil {
		return nil, err
	}
	var out []rbacv1.PolicyRule
	var missing []error
	r.visit(u, namespace, func(_ *indexedBinding, rules []rbacv1.PolicyRule, err error) bool {
		out = append(out, rules...)
		if err != nil {
			missing = append(missing, err)
		}
		return true
	})
	return out, utilerrors.NewAggregate(missing)
}

// RoleRules gives the rules of the role that a binding in namespace refers to.
func (r *RBAC) RoleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if err := r.index.Sync(ctx); err != nil {
		return nil, err
	}
	r.index.RLock()
	defer r.index.RUnlock()
	return r.index.rulesOf(ref, namespace)
}

// RulesFor serves SelfSubjectRulesReview.
func (r *RBAC) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	rules, err := r.Rules(ctx, u, namespace)
	var resource []authorizer.ResourceRuleInfo
	var other []authorizer.NonResourceRuleInfo
	for _, p := range rules {
		if len(p.Resources) > 0 {
			resource = append(resource, &authorizer.DefaultResourceRuleInfo{
				Verbs: p.Verbs, APIGroups: p.APIGroups, Resources: p.Resources, ResourceNames: p.ResourceNames})
		}
		if len(p.NonResourceURLs) > 0 {
			other = append(other, &authorizer.DefaultNonResourceRuleInfo{Verbs: p.Verbs, NonResourceURLs: p.NonResourceURLs})
		}
	}
	return resource, other, false, err
}

// describe words a binding as the reasons of access reviews do: ClusterRoleBinding "b" of ClusterRole "r" to Group "g".
func (b *indexedBinding) describe(u user.Info) string {
	kind, name := "ClusterRoleBinding", b.name
	if b.namespace != "" {
		kind, name = "RoleBinding", b.name+"/"+b.namespace
	}
	to := ""
	for _, s := range b.subjects {
		if subjectIs(s, u, b.namespace) {
			to = s.Name
			if s.Kind == rbacv1.ServiceAccountKind {
				to += "/" + accountNamespace(s, b.namespace)
			}
			to = fmt.Sprintf("%s %q", s.Kind, to)
			break
		}
	}
	return fmt.Sprintf("%s %q of %s %q to %s", kind, name, b.ref.Kind, b.ref.Name, to)
}

func subjectIs(s rbacv1.Subject, u user.Info, namespace string) bool {
	switch s.Kind {
	case rbacv1.UserKind:
		return s.Name == u.GetName()
	case rbacv1.GroupKind:
		return slices.Contains(u.GetGroups(), s.Name)
	case rbacv1.ServiceAccountKind:
		ns := accountNamespace(s, namespace)
		return ns != "" && serviceaccount.MatchesUsername(ns, s.Name, u.GetName())
	}
	return false
}

func ruleAllows(rule *rbacv1.PolicyRule, a authorizer.Attributes) bool {
	if !has(rule.Verbs, a.GetVerb(), rbacv1.VerbAll) {
		return false
	}
	if !a.IsResourceRequest() {
		return pathMatches(rule.NonResourceURLs, a.GetPath())
	}
	return has(rule.APIGroups, a.GetAPIGroup(), rbacv1.APIGroupAll) &&
		resourceMatches(rule.Resources, a.GetResource(), a.GetSubresource()) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.GetName()))
}

func has(list []string, s, all string) bool {
	for _, v := range list {
		if v == s || v == all {
			return true
		}
	}
	return false
}

// resourceMatches: "pods", "pods/log", "*/scale" (the subresource of every resource) or "*".
func resourceMatches(list []string, resource, subresource string) bool {
	for _, r := range list {
		if r == rbacv1.ResourceAll {
			return true
		}
		if subresource == "" {
			if r == resource {
				return true
			}
			continue
		}
		if before, after, ok := strings.Cut(r, "/"); ok && after == subresource && (before == resource || before == "*") {
			return true
		}
	}
	return false
}

// pathMatches: "*" anywhere but at the end is a literal star.
func pathMatches(list []string, path string) bool {
	for _, p := range list {
		if p == rbacv1.NonResourceAll || p == path {
			return true
		}
		if strings.HasSuffix(p, "*") && strings.HasPrefix(path, strings.TrimRight(p, "*")) {
			return true
		}
	}
	return false
}
