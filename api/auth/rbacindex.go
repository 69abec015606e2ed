package auth

// The index of RBAC objects: for a user and a namespace, which bindings name
// him, and what the role of a binding allows.
//
// It holds the store's objects of four key ranges at one revision. Whoever
// asks first brings it up to the store's revision: the changes since the last
// time are read (they are in memory) and those of the four ranges applied. So
// an answer always counts every write that was acknowledged before the
// question, and there is no goroutine and nothing to invalidate. Roles are
// decoded when a rule of theirs is first needed.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/sqlstore"
)

// Source is the part of the store that the index reads; *sqlstore.Store is one.
type Source interface {
	Revision() int64
	Range(ctx context.Context, q sqlstore.Query) (sqlstore.Page, error)
	Changes(ctx context.Context, after int64, limit int) ([]*sqlstore.Change, error)
}

// The four key ranges.
const (
	clusterRolePrefix        = "/registry/clusterroles/"
	clusterRoleBindingPrefix = "/registry/clusterrolebindings/"
	rolePrefix               = "/registry/roles/"
	roleBindingPrefix        = "/registry/rolebindings/"
)

var rbacPrefixes = []string{clusterRolePrefix, clusterRoleBindingPrefix, rolePrefix, roleBindingPrefix}

type rbacIndex struct {
	source   Source
	revision atomic.Int64 // what the maps below show; -1 before the first load

	mu       sync.RWMutex
	roles    map[string]*indexedRole    // by key
	bindings map[string]*indexedBinding // by key
	subjects map[subjectKey][]*indexedBinding
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

func newRBACIndex(source Source) *rbacIndex {
	x := &rbacIndex{source: source}
	x.revision.Store(-1)
	return x
}

// sync brings the index up to the store's revision as it was when sync was called.
func (x *rbacIndex) sync(ctx context.Context) error {
	want := x.source.Revision()
	if x.revision.Load() >= want {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.revision.Load() < 0 {
		return x.load(ctx)
	}
	for at := x.revision.Load(); at < want; {
		changes, err := x.source.Changes(ctx, at, 1000)
		if sqlstore.CodeOf(err) == sqlstore.CodeCompacted {
			return x.load(ctx)
		}
		if err != nil {
			return fmt.Errorf("read changes for the RBAC index: %w", err)
		}
		for _, c := range changes {
			x.apply(c)
		}
		if len(changes) == 0 {
			at = want
		} else {
			at = changes[len(changes)-1].ModRevision
		}
		x.revision.Store(at)
	}
	return nil
}

// load reads the four ranges anew, all at one revision.
func (x *rbacIndex) load(ctx context.Context) error {
	roles, bindings := map[string]*indexedRole{}, map[string]*indexedBinding{}
	var revision int64
	for _, prefix := range rbacPrefixes {
		page, err := x.source.Range(ctx, sqlstore.Query{From: prefix, To: sqlstore.PrefixEnd(prefix), Revision: revision})
		if err != nil {
			return fmt.Errorf("load the RBAC index: %w", err)
		}
		if revision == 0 {
			revision = page.Revision
		}
		for i := range page.Rows {
			row := &page.Rows[i]
			if isRole(row.Key) {
				roles[row.Key] = &indexedRole{raw: row.Value}
			} else if b := decodeBinding(row.Key, row.Value); b != nil {
				bindings[row.Key] = b
			}
		}
	}
	x.roles, x.bindings, x.subjects = roles, bindings, map[subjectKey][]*indexedBinding{}
	for _, b := range bindings {
		x.add(b)
	}
	x.revision.Store(revision)
	return nil
}

func isRole(key string) bool {
	return strings.HasPrefix(key, clusterRolePrefix) || strings.HasPrefix(key, rolePrefix)
}

func (x *rbacIndex) apply(c *sqlstore.Change) {
	if !slices.ContainsFunc(rbacPrefixes, func(p string) bool { return strings.HasPrefix(c.Key, p) }) {
		return
	}
	if isRole(c.Key) {
		delete(x.roles, c.Key)
		if c.Version != 0 {
			x.roles[c.Key] = &indexedRole{raw: c.Value}
		}
		return
	}
	if old := x.bindings[c.Key]; old != nil {
		x.remove(old)
		delete(x.bindings, c.Key)
	}
	if c.Version != 0 {
		if b := decodeBinding(c.Key, c.Value); b != nil {
			x.bindings[c.Key] = b
			x.add(b)
		}
	}
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

// bindingsFor lists the bindings in one namespace that name u, in key order. The caller holds mu.
func (x *rbacIndex) bindingsFor(u user.Info, namespace string) []*indexedBinding {
	found := slices.Clone(x.subjects[subjectKey{namespace, rbacv1.UserKind, u.GetName()}])
	for _, g := range u.GetGroups() {
		found = append(found, x.subjects[subjectKey{namespace, rbacv1.GroupKind, g}]...)
	}
	slices.SortFunc(found, func(a, b *indexedBinding) int { return strings.Compare(a.key, b.key) })
	return slices.Compact(found)
}

// rulesOf resolves a role reference of a binding in namespace. The caller holds mu.
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
