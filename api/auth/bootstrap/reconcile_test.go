package bootstrap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRestored: what was taken from a default role comes back, what was added stays, and who says autoupdate=false is left alone.
func TestRestored(t *testing.T) {
	pods := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	nodes := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}
	role := func(update string, labels map[string]string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
		r := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Rules: rules}
		if update != "" {
			r.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: update}
		}
		return r
	}
	defaults := map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"}
	mine := map[string]string{"kubernetes.io/bootstrapping": "mine", "a": "b"}
	for what, c := range map[string]struct{ have, want, result *rbacv1.ClusterRole }{
		"as it was":       {role("true", defaults, pods), role("true", defaults, pods), nil},
		"a rule is gone":  {role("true", defaults), role("true", defaults, pods), role("true", defaults, pods)},
		"a rule is added": {role("true", defaults, nodes, pods), role("true", defaults, pods), nil},
		"labels":          {role("true", mine, pods), role("true", defaults, pods), nil},
		"the annotation":  {role("", defaults, pods), role("true", defaults, pods), role("true", defaults, pods)},
		"left alone":      {role("false", nil), role("true", defaults, pods), nil},
	} {
		got, changed := restored(c.have, c.want)
		want := c.result
		if want == nil {
			want = c.have
		}
		if diff := cmp.Diff(want, got); diff != "" || changed != (c.result != nil) {
			t.Errorf("%s: changed %v (-want +got):\n%s", what, changed, diff)
		}
	}
	have := &rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: "User", Name: "mine"}}}
	want := &rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:masters"}}}
	got, changed := restored(have, want)
	if subjects := got.(*rbacv1.ClusterRoleBinding).Subjects; !changed || len(subjects) != 2 {
		t.Errorf("a binding: %v %v", changed, subjects)
	}
}
