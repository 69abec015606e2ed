package auth

// The index of RBAC objects: for a user and a namespace, which bindings name
// him, and what the role of a binding allows. It is a Mirror of four key
// ranges, so a binding counts for the very next request. Roles are decoded
// when a rule of theirs is first needed.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/sqlstore"
)

// The four key ranges.
const (
	clusterRolePrefix        = "/registry/clusterroles/"
	clusterRoleBindingPrefix = "/registry/clusterrolebindings/"
	rolePrefix               = "/registry/roles/"
	roleBindingPrefix        = "/registry/rolebindings/"
)

// rbacIndex is read and written under the lock of its Mirror.
type rbacIndex struct {
	*Mirror
	roles    map[string]*indexedRole    // by key
	bindings map[string]*indexedBinding // by key
	subjects map[subjectKey][]*indexedBinding
}

func newRBACIndex(source Source) *rbacIndex {
	x := &rbacIndex{}
	x.Mirror = NewMirror(source, x, clusterRolePrefix, clusterRoleBindingPrefix, rolePrefix, roleBindingPrefix)
	return x
}

// Reset implements Owner.
func (x *rbacIndex) Reset() {
	x.roles, x.bindings, x.subjects = map[string]*indexedRole{}, map[string]*indexedBinding{}, map[subjectKey][]*indexedBinding{}
}

// Put implements Owner.
func (x *rbacIndex) Put(kv *sqlstore.KV) {
	if strings.HasPrefix(kv.Key, clusterRolePrefix) || strings.HasPrefix(kv.Key, rolePrefix) {
		delete(x.roles, kv.Key)
		if kv.Version != 0 {
			x.roles[kv.Key] = &indexedRole{raw: kv.Value}
		}
		return
	}
	if old := x.bindings[kv.Key]; old != nil {
		x.remove(old)
		delete(x.bindings, kv.Key)
	}
	if kv.Version != 0 {
		if b := decodeBinding(kv.Key, kv.Value); b != nil {
			x.bindings[kv.Key] = b
			x.add(b)
		}
	}
}

// subjectKey is one thing that a binding names: namespace is the binding's ("" for cluster role bindings).
type subjectKey struct{ namespace, kind, name string }

type indexedRole struct {
	raw   []byte
	once  sync.Once
	rules []rbacv1.PolicyRule
	err   error
}

type indexedBinding struct {
	key       string
	namespace string
	name      string
	subjects  []rbacv1.Subject
	ref       rbacv1.RoleRef
}

func (x *rbacIndex) add(b *indexedBinding) {
	for _, k := range b.subjectKeys() {
		if !slices.Contains(x.subjects[k], b) {
			x.subjects[k] = append(x.subjects[k], b)
		}
	}
}

func (x *rbacIndex) remove(b *indexedBinding) {
	for _, k := range b.subjectKeys() {
		left := slices.DeleteFunc(slices.Clone(x.subjects[k]), func(o *indexedBinding) bool { return o == b })
		if len(left) == 0 {
			delete(x.subjects, k)
		} else {
			x.subjects[k] = left
		}
	}
}

// subjectKeys: a service account is looked up by the user name its tokens have.
func (b *indexedBinding) subjectKeys() []subjectKey {
	var out []subjectKey
	for _, s := range b.subjects {
		switch s.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
			out = append(out, subjectKey{b.namespace, s.Kind, s.Name})
		case rbacv1.ServiceAccountKind:
			if ns := accountNamespace(s, b.namespace); ns != "" {
				out = append(out, subjectKey{b.namespace, rbacv1.UserKind, serviceaccount.MakeUsername(ns, s.Name)})
			}
		}
	}
	return out
}

func accountNamespace(s rbacv1.Subject, binding string) string {
	if s.Namespace != "" {
		return s.Namespace
	}
	return binding
}

// decodeBinding gives nil for what is not a binding: etcd's door may put anything under a key.
func decodeBinding(key string, value []byte) *indexedBinding {
	var o rbacv1.RoleBinding // a ClusterRoleBinding has the same fields
	if json.Unmarshal(value, &o) != nil {
		return nil
	}
	return &indexedBinding{key: key, namespace: o.Namespace, name: o.Name, subjects: o.Subjects, ref: o.RoleRef}
}

// bindingsFor lists the bindings in one namespace that name u, in key order. The caller holds the lock.
func (x *rbacIndex) bindingsFor(u user.Info, namespace string) []*indexedBinding {
	found := slices.Clone(x.subjects[subjectKey{namespace, rbacv1.UserKind, u.GetName()}])
	for _, g := range u.GetGroups() {
		found = append(found, x.subjects[subjectKey{namespace, rbacv1.GroupKind, g}]...)
	}
	slices.SortFunc(found, func(a, b *indexedBinding) int { return strings.Compare(a.key, b.key) })
	return slices.Compact(found)
}

// rulesOf resolves a role reference of a binding in namespace. The caller holds the lock.
func (x *rbacIndex) rulesOf(ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	var key, resource string
	switch ref.Kind {
	case "Role":
		key, resource = rolePrefix+namespace+"/"+ref.Name, "role"
	case "ClusterRole":
		key, resource = clusterRolePrefix+ref.Name, "clusterrole"
	default:
		return nil, fmt.Errorf("unsupported role reference kind: %q", ref.Kind)
	}
	role := x.roles[key]
	if role == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: rbacv1.GroupName, Resource: resource}, ref.Name)
	}
	role.once.Do(func() {
		var o rbacv1.ClusterRole // a Role has the same fields
		role.err = json.Unmarshal(role.raw, &o)
		role.rules, role.raw = o.Rules, nil
	})
	return role.rules, role.err
}
