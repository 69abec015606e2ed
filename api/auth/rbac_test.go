package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// rbacStore writes RBAC objects to a real store.
type rbacStore struct {
	*sqlstore.Store
	t     testing.TB
	index uint64
}

func (s *rbacStore) apply(ops ...sqlstore.Op) {
	s.t.Helper()
	tx, err := s.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.index++
	if r := tx.Apply(s.index, &sqlstore.Command{Txn: &sqlstore.Txn{Then: ops}}); r.Err != nil {
		s.t.Fatal(r.Err)
	}
	if err := tx.Commit(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *rbacStore) put(resource string, o metav1.Object) {
	s.t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	key := "/registry/" + resource + "/" + o.GetName()
	if o.GetNamespace() != "" {
		key = "/registry/" + resource + "/" + o.GetNamespace() + "/" + o.GetName()
	}
	s.apply(sqlstore.Op{Type: sqlstore.OpPut, Key: key, Value: data,
		Object: sqlstore.ObjectRef{Group: rbacv1.GroupName, Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(), UID: key}})
}

func (s *rbacStore) clusterRole(name string, rules ...rbacv1.PolicyRule) {
	s.put("clusterroles", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules})
}

func (s *rbacStore) bind(namespace, name, role string, subjects ...rbacv1.Subject) {
	ref := rbacv1.RoleRef{Kind: "ClusterRole", Name: role}
	if namespace == "" {
		s.put("clusterrolebindings", &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: ref, Subjects: subjects})
		return
	}
	s.put("rolebindings", &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, RoleRef: ref, Subjects: subjects})
}

func newRBACStore(t testing.TB) *rbacStore {
	s := &rbacStore{Store: storetest.Open(t), t: t}
	s.clusterRole("reader", rbacv1.PolicyRule{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "*/scale"}},
		rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"one"}},
		rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz", "/api/*"}})
	return s
}

func ask(u, verb, namespace, resource, sub, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: u, Groups: []string{"g:" + u, user.AllAuthenticated}},
		Verb: verb, Namespace: namespace, Resource: resource, Subresource: sub, Name: name, ResourceRequest: true}
}

func TestRulesMatchRequests(t *testing.T) {
	s := newRBACStore(t)
	s.bind("", "everywhere", "reader", rbacv1.Subject{Kind: "User", Name: "alice"})
	s.bind("ns", "here", "reader", rbacv1.Subject{Kind: "ServiceAccount", Name: "sa"}, rbacv1.Subject{Kind: "Group", Name: "g:bob"})
	z := NewRBAC(s)
	url := func(path, verb string) authorizer.AttributesRecord {
		return authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "alice"}, Verb: verb, Path: path}
	}
	const (
		everywhere = `RBAC: allowed by ClusterRoleBinding "everywhere" of ClusterRole "reader" to User "alice"`
		asBob      = `RBAC: allowed by RoleBinding "here/ns" of ClusterRole "reader" to Group "g:bob"`
		asAccount  = `RBAC: allowed by RoleBinding "here/ns" of ClusterRole "reader" to ServiceAccount "sa/ns"`
	)
	for _, c := range []struct {
		a      authorizer.AttributesRecord
		reason string // "" is refused
	}{
		{ask("alice", "list", "other", "pods", "", ""), everywhere},
		{ask("alice", "list", "", "pods", "", ""), everywhere},
		{ask("alice", "delete", "other", "pods", "", "x"), ""},
		{ask("alice", "get", "other", "pods", "log", "x"), ""},
		{ask("alice", "get", "other", "deployments", "scale", "x"), everywhere},
		{ask("alice", "get", "other", "deployments", "", "x"), ""},
		{ask("alice", "get", "other", "configmaps", "", "one"), everywhere},
		{ask("alice", "get", "other", "configmaps", "", "two"), ""},
		{ask("alice", "list", "other", "configmaps", "", ""), ""},
		{ask("bob", "get", "ns", "pods", "", "x"), asBob},
		{ask("bob", "get", "other", "pods", "", "x"), ""},
		{ask("bob", "get", "", "pods", "", "x"), ""},
		{ask("system:serviceaccount:ns:sa", "get", "ns", "pods", "", "x"), asAccount},
		{ask("system:serviceaccount:other:sa", "get", "ns", "pods", "", "x"), ""},
		{url("/healthz", "get"), everywhere},
		{url("/healthz", "post"), ""},
		{url("/api/v1", "get"), everywhere},
		{url("/apis", "get"), ""},
	} {
		want := authorizer.DecisionNoOpinion
		if c.reason != "" {
			want = authorizer.DecisionAllow
		}
		decision, reason, err := z.Authorize(t.Context(), c.a)
		if decision != want || reason != c.reason || err != nil {
			t.Errorf("%s %s %s/%s %q: %v %q %v, want %v %q", c.a.User.GetName(), c.a.Verb, c.a.Resource, c.a.Subresource, c.a.Path+c.a.Name,
				decision, reason, err, want, c.reason)
		}
	}
}

// A write counts for the next question, whatever it changes.
func TestChangesCountAtOnce(t *testing.T) {
	s := newRBACStore(t)
	z := NewRBAC(s)
	request := ask("alice", "get", "ns", "pods", "", "x")
	expect := func(step string, want authorizer.Decision) {
		t.Helper()
		if got, reason, err := z.Authorize(t.Context(), request); got != want || err != nil {
			t.Errorf("%s: %v %q %v, want %v", step, got, reason, err, want)
		}
	}
	alice := rbacv1.Subject{Kind: "User", Name: "alice"}
	expect("nothing bound", authorizer.DecisionNoOpinion)
	s.bind("ns", "b", "reader", alice)
	expect("bound", authorizer.DecisionAllow)
	s.clusterRole("reader")
	expect("role emptied", authorizer.DecisionNoOpinion)
	s.clusterRole("reader", rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}})
	expect("role filled", authorizer.DecisionAllow)
	s.bind("ns", "b", "reader", rbacv1.Subject{Kind: "User", Name: "bob"})
	expect("bound to another", authorizer.DecisionNoOpinion)
	s.bind("ns", "b", "reader", alice, alice)
	expect("bound twice", authorizer.DecisionAllow)
	s.apply(sqlstore.Op{Type: sqlstore.OpDelete, Key: "/registry/rolebindings/ns/b"})
	expect("binding deleted", authorizer.DecisionNoOpinion)
}

func TestMissingRoleIsNamed(t *testing.T) {
	s := newRBACStore(t)
	s.bind("", "b", "gone", rbacv1.Subject{Kind: "User", Name: "alice"})
	_, reason, err := NewRBAC(s).Authorize(t.Context(), ask("alice", "get", "", "pods", "", ""))
	if want := `RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found`; reason != want || err != nil {
		t.Errorf("reason %q, %v; want %q", reason, err, want)
	}
}

func TestForbiddenNamesTheRequest(t *testing.T) {
	for _, c := range []struct {
		a    authorizer.AttributesRecord
		want string
	}{
		{ask("alice", "list", "ns", "pods", "", ""), `pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "ns"`},
		{ask("alice", "get", "", "nodes", "proxy", "n"), `nodes "n" is forbidden: User "alice" cannot get resource "nodes/proxy" in API group "" at the cluster scope`},
		{authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "<b>"}, Verb: "get", Path: "/metrics"}, `forbidden: User "&lt;b&gt;" cannot get path "/metrics"`},
	} {
		if got := kinds.Forbidden(c.a, "").Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if got := kinds.Forbidden(ask("a", "get", "", "pods", "", ""), "because").Error(); got != `pods is forbidden: User "a" cannot get resource "pods" in API group "" at the cluster scope: because` {
		t.Error(got)
	}
}

func TestMastersNeedNoRole(t *testing.T) {
	z, err := NewAuthorizer([]string{ModeNode, ModeRBAC}, newRBACStore(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := ask("root", "delete", "", "nodes", "", "n")
	if err := z.Check(context.Background(), a); err == nil {
		t.Error("a user without any role may delete nodes")
	}
	a.User = &user.DefaultInfo{Name: "root", Groups: []string{user.SystemPrivilegedGroup}}
	if err := z.Check(context.Background(), a); err != nil {
		t.Error(err)
	}
}

func BenchmarkAuthorize(b *testing.B) {
	s := newRBACStore(b)
	for i := range 60 {
		s.bind("", fmt.Sprintf("b%d", i), "reader", rbacv1.Subject{Kind: "User", Name: fmt.Sprintf("u%d", i)})
	}
	z := NewRBAC(s)
	a := ask("u7", "list", "ns", "pods", "", "")
	for b.Loop() {
		if d, _, _ := z.Authorize(b.Context(), a); d != authorizer.DecisionAllow {
			b.Fatal("refused")
		}
	}
}
