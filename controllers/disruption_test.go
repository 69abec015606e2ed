package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func TestBudgetsCountWhatMayGo(t *testing.T) {
	ready, minute := controllertest.Now.Add(-time.Hour), time.Minute
	rs := replicaSet(4)
	three := []runtime.Object{rs, pod("a", rs, ready), pod("b", rs, ready), pod("c", rs, ready)}
	least := func(v string) policyv1.PodDisruptionBudgetSpec {
		n := intstr.Parse(v)
		return policyv1.PodDisruptionBudgetSpec{MinAvailable: &n}
	}
	most := func(v string) policyv1.PodDisruptionBudgetSpec {
		n := intstr.Parse(v)
		return policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &n}
	}
	taken := func(ago time.Duration) map[string]metav1.Time {
		return map[string]metav1.Time{"a": metav1.NewTime(controllertest.Now.Add(-ago)), "gone": metav1.NewTime(controllertest.Now)}
	}
	stray := func(kind string) *corev1.Pod {
		return pod("s", nil, ready, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind(kind))}
		})
	}
	// want: current, desired, allowed, expected, names held back, reason; then the events
	for name, c := range map[string]struct {
		spec      policyv1.PodDisruptionBudgetSpec
		disrupted map[string]metav1.Time
		objs      []runtime.Object
		want      string
		events    []string
	}{
		"no pods":                {least("1"), nil, nil, "0 1 0 0 [] InsufficientPods", []string{"event Normal NoPods: No matching pods found"}},
		"a number":               {least("2"), nil, three, "3 2 1 3 [] SufficientPods", nil},
		"a percentage of four":   {least("50%"), nil, three, "3 2 1 4 [] SufficientPods", nil},
		"at most one missing":    {most("1"), nil, three, "3 3 0 4 [] InsufficientPods", nil},
		"a third rounds up":      {most("30%"), nil, three, "3 2 1 4 [] SufficientPods", nil},
		"more than there are":    {most("9"), nil, three, "3 0 3 4 [] SufficientPods", nil},
		"one is evicted":         {least("2"), taken(minute), three, "2 2 0 3 [a] InsufficientPods", nil},
		"it was never deleted":   {least("2"), taken(3 * minute), three, "3 2 1 3 [] SufficientPods", []string{"event Warning NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't"}},
		"not ready":              {least("1"), nil, []runtime.Object{rs, pod("a", rs, time.Time{})}, "0 1 0 1 [] InsufficientPods", nil},
		"of an unscalable owner": {most("1"), nil, []runtime.Object{stray("DaemonSet")}, "0 0 0 0 [] SyncFailed", []string{"event Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: daemonsets.apps does not implement the scale subresource"}},
		"of an owner that is not": {most("1"), nil, []runtime.Object{stray("Deployment")}, "0 0 0 0 [] SyncFailed",
			[]string{`event Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: found no controllers for pod "s"`}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", Generation: 2}, Spec: c.spec,
				Status: policyv1.PodDisruptionBudgetStatus{DisruptedPods: c.disrupted}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "rs"}}
			v := controllertest.NewView(t, append([]runtime.Object{b}, c.objs...)...)
			out := controllers.Disruption().Step(v, []controllers.Key{{Namespace: "default", Name: "b"}})
			s := v.Changed(out, controllers.PodDisruptionBudgets, "default", "b").(*policyv1.PodDisruptionBudget).Status
			var held []string
			for p := range s.DisruptedPods {
				if s.Conditions[0].Reason != policyv1.SyncFailedReason {
					held = append(held, p)
				}
			}
			got := fmt.Sprint(s.CurrentHealthy, s.DesiredHealthy, s.DisruptionsAllowed, s.ExpectedPods, held, " ", s.Conditions[0].Reason)
			if got != c.want {
				t.Errorf("status: got %s, want %s", got, c.want)
			}
			told := slices.DeleteFunc(v.Told(out), func(l string) bool { return l == "mutate poddisruptionbudgets/status b" })
			if !slices.Equal(told, c.events) {
				t.Errorf("told %q, want %q", told, c.events)
			}
			if again := len(out.Again) > 0; again != (len(held) > 0) {
				t.Errorf("called again: %v", out.Again)
			}
		})
	}
}

func TestADisruptionThatNeverCameIsTakenBack(t *testing.T) {
	for ago, want := range map[time.Duration]corev1.ConditionStatus{time.Minute: corev1.ConditionTrue, 3 * time.Minute: corev1.ConditionFalse} {
		p := pod("a", nil, controllertest.Now, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(controllertest.Now.Add(-ago))}}
		})
		v := controllertest.NewView(t, p)
		keys := controllers.Disruption().Keys[controllers.Pods](v, controllers.Object{Resource: controllers.Pods, Now: p})
		out := controllers.Disruption().Step(v, keys)
		if got := v.Changed(out, controllers.Pods, "default", "a").(*corev1.Pod).Status.Conditions[0].Status; len(keys) != 1 || got != want {
			t.Errorf("after %v: %s, want %s (keys %v)", ago, got, want, keys)
		}
	}
}
