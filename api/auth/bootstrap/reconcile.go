package bootstrap

import (
	"context"
	"fmt"
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/component-helpers/auth/rbac/validation"

	"kuberow/api/kinds"
)

// At each start the default roles and bindings get back what was taken from
// them: rules, subjects, labels. What was added to them stays. An object that
// says rbac.authorization.kubernetes.io/autoupdate=false is left alone.

// Reconcile brings the default roles and bindings up to date. It goes through
// the pipeline of writes, and may run while clients are served.
func Reconcile(ctx context.Context, registry *kinds.Registry, reader kinds.Reader, client kinds.Client) error {
	wanted, err := Parse(objectsText)
	if err != nil {
		return err
	}
	for _, p := range wanted {
		if p.Group != rbacv1.GroupName {
			continue
		}
		gr := schema.GroupResource{Group: p.Group, Resource: p.Resource}
		want, err := decode(registry.Get(gr), []byte(p.Value))
		if err != nil {
			return err
		}
		have, err := reader.Get(ctx, gr, p.Namespace, p.Name)
		if apierrors.IsNotFound(err) {
			continue // Ensure has made it, and somebody deleted it since
		}
		if err != nil {
			return fmt.Errorf("reconcile %s %s: %w", p.Resource, p.Name, err)
		}
		if _, changed := restored(have, want); !changed {
			continue
		}
		_, err = client.Mutate(ctx, kinds.Write{
			User:  &user.DefaultInfo{Name: "system:apiserver", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
			Agent: "kube-apiserver", Resource: gr, Namespace: p.Namespace, Name: p.Name,
			Mutate: func(obj runtime.Object) error {
				full, _ := restored(obj, want)
				return assign(obj, full)
			},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("reconcile %s %s: %w", p.Resource, p.Name, err)
		}
	}
	return nil
}

// restored gives have with all that want has, and whether that is more than have.
func restored(have, want runtime.Object) (runtime.Object, bool) {
	out := have.DeepCopyObject()
	switch out := out.(type) {
	case *rbacv1.ClusterRole:
		want := want.(*rbacv1.ClusterRole)
		if !automatic(out.Annotations) {
			return out, false
		}
		out.Labels, out.Annotations = merged(out.Labels, want.Labels), merged(out.Annotations, want.Annotations)
		if want.AggregationRule == nil {
			out.Rules = covering(out.Rules, want.Rules)
			out.AggregationRule = nil
		} else {
			out.AggregationRule = aggregated(out.AggregationRule, want.AggregationRule)
		}
	case *rbacv1.Role:
		want := want.(*rbacv1.Role)
		if !automatic(out.Annotations) {
			return out, false
		}
		out.Labels, out.Annotations = merged(out.Labels, want.Labels), merged(out.Annotations, want.Annotations)
		out.Rules = covering(out.Rules, want.Rules)
	case *rbacv1.ClusterRoleBinding:
		want := want.(*rbacv1.ClusterRoleBinding)
		if !automatic(out.Annotations) {
			return out, false
		}
		out.Labels, out.Annotations = merged(out.Labels, want.Labels), merged(out.Annotations, want.Annotations)
		out.Subjects = withSubjects(out.Subjects, want.Subjects)
	case *rbacv1.RoleBinding:
		want := want.(*rbacv1.RoleBinding)
		if !automatic(out.Annotations) {
			return out, false
		}
		out.Labels, out.Annotations = merged(out.Labels, want.Labels), merged(out.Annotations, want.Annotations)
		out.Subjects = withSubjects(out.Subjects, want.Subjects)
	}
	return out, !equality.Semantic.DeepEqual(out, have)
}

// assign makes *into what from is.
func assign(into, from runtime.Object) error {
	switch into := into.(type) {
	case *rbacv1.ClusterRole:
		*into = *from.(*rbacv1.ClusterRole)
	case *rbacv1.Role:
		*into = *from.(*rbacv1.Role)
	case *rbacv1.ClusterRoleBinding:
		*into = *from.(*rbacv1.ClusterRoleBinding)
	case *rbacv1.RoleBinding:
		*into = *from.(*rbacv1.RoleBinding)
	default:
		return fmt.Errorf("reconcile: %T is no role or binding", into)
	}
	return nil
}

func automatic(annotations map[string]string) bool {
	return annotations[rbacv1.AutoUpdateAnnotationKey] != "false"
}

// merged adds what is missing in have; a value that is there stays.
func merged(have, want map[string]string) map[string]string {
	out := maps.Clone(have)
	for k, v := range want {
		if out == nil {
			out = map[string]string{}
		}
		if _, there := out[k]; !there {
			out[k] = v
		}
	}
	return out
}

// covering adds the rules that have does not cover.
func covering(have, want []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	_, missing := validation.Covers(have, want)
	return append(have, missing...)
}

func aggregated(have, want *rbacv1.AggregationRule) *rbacv1.AggregationRule {
	if have == nil {
		return want.DeepCopy()
	}
	for _, s := range want.ClusterRoleSelectors {
		if !slices.ContainsFunc(have.ClusterRoleSelectors, func(h metav1.LabelSelector) bool { return equality.Semantic.DeepEqual(h, s) }) {
			have.ClusterRoleSelectors = append(have.ClusterRoleSelectors, s)
		}
	}
	return have
}

func withSubjects(have, want []rbacv1.Subject) []rbacv1.Subject {
	for _, s := range want {
		if !slices.Contains(have, s) {
			have = append(have, s)
		}
	}
	return have
}
