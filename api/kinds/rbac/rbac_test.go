package rbac

import (
	"context"
	"errors"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

// door is an Access whose user holds some rules and is allowed some verbs.
type door struct {
	kinds.Access
	held  []rbacv1.PolicyRule
	verbs []string // escalate, bind
	roles map[string][]rbacv1.PolicyRule
}

func (d door) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(d.verbs, a.GetVerb()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (d door) Rules(context.Context, user.Info, string) ([]rbacv1.PolicyRule, error) {
	return d.held, nil
}

func (d door) RoleRules(_ context.Context, ref rbacv1.RoleRef, _ string) ([]rbacv1.PolicyRule, error) {
	if rules, ok := d.roles[ref.Name]; ok {
		return rules, nil
	}
	return nil, errors.New("no such role")
}

func request(d door, res *kinds.Resource) *kinds.Context {
	return &kinds.Context{Ctx: context.Background(), User: &user.DefaultInfo{Name: "alice", Groups: []string{"devs"}}, Verb: "create",
		Resource: res, Namespace: "ns", Cluster: &kinds.Cluster{Access: d}}
}

func rule(verbs, resources []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{""}, Resources: resources}
}

func TestNobodyGrantsMoreThanHeHas(t *testing.T) {
	get := rule([]string{"get"}, []string{"pods"})
	more := rule([]string{"get", "list"}, []string{"pods", "secrets"})
	all := door{roles: map[string][]rbacv1.PolicyRule{"get": {get}, "more": {more}}, held: []rbacv1.PolicyRule{get}}
	missing := `roles.rbac.authorization.k8s.io "r" is forbidden: user "alice" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:
{APIGroups:[""], Resources:["pods"], Verbs:["list"]}
{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}`
	role := func(r rbacv1.PolicyRule) runtime.Object {
		return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{r}}
	}
	bind := func(name string) runtime.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "r"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name}}
	}
	for _, c := range []struct {
		name  string
		res   *kinds.Resource
		o     runtime.Object
		verbs []string
		want  string // "*" is any refusal
	}{
		{"what he has", roles(), role(get), nil, ""},
		{"more", roles(), role(more), nil, missing},
		{"more, with escalate", roles(), role(more), []string{"escalate"}, ""},
		{"more, with bind only", roles(), role(more), []string{"bind"}, "*"},
		{"bind what he has", roleBindings(), bind("get"), nil, ""},
		{"bind more", roleBindings(), bind("more"), nil, "*"},
		{"bind more, with bind", roleBindings(), bind("more"), []string{"bind"}, ""},
		{"bind more, with escalate only", roleBindings(), bind("more"), []string{"escalate"}, "*"},
		{"bind a role that is missing", roleBindings(), bind("gone"), nil, "no such role"},
	} {
		d := all
		d.verbs = c.verbs
		err := c.res.Strategy.BeginCreate(request(d, c.res), c.o)
		switch {
		case c.want == "" && err != nil, c.want != "" && err == nil, c.want != "" && c.want != "*" && err.Error() != c.want:
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestAggregationNeedsEverything(t *testing.T) {
	o := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "sum"}, AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{}}}}
	res := clusterRoles()
	err := res.Strategy.BeginCreate(request(door{held: []rbacv1.PolicyRule{rule([]string{"*"}, []string{"*"})}}, res), o)
	if want := `clusterroles.rbac.authorization.k8s.io "sum" is forbidden: must have cluster-admin privileges to use the aggregationRule`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := res.Strategy.BeginCreate(request(door{held: everything}, res), o); err != nil {
		t.Error(err)
	}
}

func TestGarbageCollectorNeedsNoRules(t *testing.T) {
	old := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r", ResourceVersion: "1", Finalizers: []string{"x/y"}}, Rules: []rbacv1.PolicyRule{rule([]string{"*"}, []string{"*"})}}
	o := old.DeepCopy()
	o.Finalizers = nil
	res := roles()
	if err := res.Strategy.BeginUpdate(request(door{}, res), o, old); err != nil {
		t.Errorf("taking a finalizer away: %v", err)
	}
	o.Labels = map[string]string{"a": "b"}
	if err := res.Strategy.BeginUpdate(request(door{}, res), o, old); err == nil {
		t.Error("a label was changed on a role that the user does not hold")
	}
}

func TestValidation(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{`rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs`,
			validateRules([]rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x"}}}, true).ToAggregate().Error()},
		{`[rules[0].apiGroups: Required value: resource rules must supply at least one api group, rules[0].resources: Required value: resource rules must supply at least one resource, rules[0].verbs: Required value]`,
			validateRole(&rbacv1.Role{Rules: []rbacv1.PolicyRule{{}}}).ToAggregate().Error()},
		{`[roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole", roleRef.name: Required value]`,
			validateBinding(rbacv1.RoleRef{APIGroup: rbacv1.GroupName}, nil, true, "Role", "ClusterRole").ToAggregate().Error()},
		{`[subjects[0].namespace: Required value, subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"]`,
			validateBinding(rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "r"},
				[]rbacv1.Subject{{Kind: "ServiceAccount", Name: "x"}, {Kind: "Robot", Name: "y"}}, false, "ClusterRole").ToAggregate().Error()},
		{`roleRef: Invalid value: {"APIGroup":"g","Kind":"Role","Name":"b"}: field is immutable`,
			validateRoleRefUpdate(rbacv1.RoleRef{APIGroup: "g", Kind: "Role", Name: "b"}, rbacv1.RoleRef{APIGroup: "g", Kind: "Role", Name: "a"}).ToAggregate().Error()},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

// kubectl auth reconcile and the bootstrap put roles and bindings that may not be there yet.
func TestPutMakesRolesAndBindings(t *testing.T) {
	for _, r := range Resources() {
		if !r.Strategy.AllowCreateOnUpdate {
			t.Errorf("a PUT of a new object of %s is refused", r.Name)
		}
	}
}
