package rbac

// Nobody hands out more than he has. A role may be written by whoever holds
// all of its rules, or the verb escalate on it; a binding may be made by
// whoever holds all rules of its role, or the verb bind on that. Group
// system:masters holds everything. The controller that aggregates ClusterRoles
// has escalate.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"
	"kuberow/api/kinds"
)

// everything is what one must hold to let a controller fill in the rules of a role.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

func mayWriteRole(r *kinds.Context, name string, rules []rbacv1.PolicyRule) error {
	if mayEscalate(r) {
		return nil
	}
	return holdsAll(r, name, rules)
}

func mayWriteClusterRole(r *kinds.Context, o *rbacv1.ClusterRole, aggregates bool) error {
	if mayEscalate(r) {
		return nil
	}
	if err := holdsAll(r, o.Name, o.Rules); err != nil {
		return err
	}
	if aggregates && holdsAll(r, o.Name, everything) != nil {
		return apierrors.NewForbidden(r.Resource.GroupResource(), o.Name, errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	return nil
}

func mayEscalate(r *kinds.Context) bool {
	if slices.Contains(r.User.GetGroups(), user.SystemPrivilegedGroup) {
		return true
	}
	name := r.Name
	if r.Verb == "create" {
		name = "" // the request's URL does not name it
	}
	return holds(r, authorizer.AttributesRecord{
		User: r.User, Verb: "escalate", APIGroup: rbacv1.GroupName, APIVersion: "*", Resource: r.Resource.Name,
		Name: name, Namespace: r.Namespace, ResourceRequest: true,
	})
}

func mayBind(r *kinds.Context, name string, ref rbacv1.RoleRef) error {
	if slices.Contains(r.User.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	resources := map[string]string{"ClusterRole": "clusterroles", "Role": "roles"}
	if resource := resources[ref.Kind]; resource != "" && holds(r, authorizer.AttributesRecord{
		User: r.User, Verb: "bind", Namespace: r.Namespace, APIGroup: ref.APIGroup, APIVersion: "*",
		Resource: resource, Name: ref.Name, ResourceRequest: true,
	}) {
		return nil
	}
	access, err := accessOf(r)
	if err != nil {
		return err
	}
	rules, err := access.RoleRules(r.Ctx, ref, r.Namespace)
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(r.Resource.GroupResource(), ref.Name) // upstream names what is asked for, not what is missing
	}
	if err != nil {
		return err
	}
	return holdsAll(r, name, rules)
}

func holds(r *kinds.Context, a authorizer.AttributesRecord) bool {
	access, err := accessOf(r)
	if err != nil {
		return false
	}
	decision, _, _ := access.Authorize(r.Ctx, a) // an error is a reason to refuse, and the refusal says why
	return decision == authorizer.DecisionAllow
}

func accessOf(r *kinds.Context) (kinds.Access, error) {
	if r.Cluster == nil || r.Cluster.Access == nil {
		return nil, apierrors.NewInternalError(errors.New("check escalation: there is no authorizer"))
	}
	return r.Cluster.Access, nil
}

// holdsAll refuses, with a list of what is missing.
func holdsAll(r *kinds.Context, name string, rules []rbacv1.PolicyRule) error {
	access, err := accessOf(r)
	if err != nil {
		return err
	}
	held, unresolved := access.Rules(r.Ctx, r.User, r.Namespace)
	covered, missing := validation.Covers(held, rules)
	if covered {
		return nil
	}
	text := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		r.User.GetName(), r.User.GetGroups(), strings.Join(describe(missing), "\n"))
	if unresolved != nil {
		text += fmt.Sprintf("; resolution errors: %v", []error{unresolved})
	}
	return apierrors.NewForbidden(r.Resource.GroupResource(), name, errors.New(text))
}

// describe lists rules, those of one resource joined to one line.
func describe(rules []rbacv1.PolicyRule) []string {
	lines := map[string]bool{}
	type one struct{ group, resource, name string }
	verbs := map[one][]string{}
	for _, p := range rules {
		if len(p.NonResourceURLs) > 0 {
			lines[compact(p)] = true
			continue
		}
		k := one{group: p.APIGroups[0], resource: p.Resources[0]}
		if len(p.ResourceNames) > 0 {
			k.name = p.ResourceNames[0]
		}
		verbs[k] = append(verbs[k], p.Verbs...)
	}
	for k, v := range verbs {
		p := rbacv1.PolicyRule{APIGroups: []string{k.group}, Resources: []string{k.resource}, Verbs: v}
		if k.name != "" {
			p.ResourceNames = []string{k.name}
		}
		lines[compact(p)] = true
	}
	return slices.Sorted(maps.Keys(lines))
}

func compact(p rbacv1.PolicyRule) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{{"APIGroups", p.APIGroups}, {"Resources", p.Resources}, {"NonResourceURLs", p.NonResourceURLs}, {"ResourceNames", p.ResourceNames}, {"Verbs", p.Verbs}} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", part.name, part.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// onlyForGC: owners and finalizers may be changed without holding the rules,
// or the garbage collector could not delete a role.
func onlyForGC(obj, old runtime.Object) bool {
	copied := obj.DeepCopyObject()
	m, err := meta.Accessor(copied)
	if err != nil {
		return false
	}
	before, err := meta.Accessor(old)
	if err != nil {
		return false
	}
	m.SetOwnerReferences(before.GetOwnerReferences())
	m.SetFinalizers(before.GetFinalizers())
	m.SetManagedFields(before.GetManagedFields())
	m.SetResourceVersion(before.GetResourceVersion())
	copied.GetObjectKind().SetGroupVersionKind(old.GetObjectKind().GroupVersionKind())
	return apiequality.Semantic.DeepEqual(copied, old)
}
