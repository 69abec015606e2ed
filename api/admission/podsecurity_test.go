package admission

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
)

// TestPodSecurityIsTold: the audit log learns which level held, and what the audit level would not let in.
func TestPodSecurityIsTold(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ name, level, enforced, violation string }{
		{"open", "", "privileged:latest", ""},
		{"audits", "restricted", "privileged:latest", `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false`},
	} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
		if c.level != "" {
			ns.Labels = map[string]string{"pod-security.kubernetes.io/audit": c.level}
		}
		w.put("namespaces", ns)
		w.put("serviceaccounts", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: c.name}})
		a := w.write("pods", "", pod(func(p *corev1.Pod) { p.Namespace = c.name }), nil)
		a.Ctx = audit.WithAuditContext(a.Ctx)
		if err := w.pass(a); err != nil {
			t.Fatal(err)
		}
		got := audit.AuditContextFrom(a.Ctx).GetEventAnnotations()
		if level := got["pod-security.kubernetes.io/enforce-policy"]; level != c.enforced {
			t.Errorf("%s: level %q, want %q", c.name, level, c.enforced)
		}
		v := got["pod-security.kubernetes.io/audit-violations"]
		if !strings.HasPrefix(v, c.violation) || c.violation == "" && v != "" {
			t.Errorf("%s: violation %q, want %q", c.name, v, c.violation)
		}
	}
}
