package scheduler_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
)

func weighs(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

// TestPreemption: whom a pod of priority 9 that asks for 3 of 4 CPUs sends off, and what it is told.
func TestPreemption(t *testing.T) {
	never := corev1.PreemptNever
	going := func(p *corev1.Pod) {
		now := metav1.Now()
		p.DeletionTimestamp = &now
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}}}
	for name, test := range map[string]struct {
		change []func(*corev1.Pod)
		more   []runtime.Object
		gone   []string
		said   string
	}{
		"the one in the way": {nil, []runtime.Object{node("a"), pod("x", asks("2"), on("a"), weighs(1)), pod("y", asks("1"), on("a"), weighs(1))}, []string{"x"},
			"0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node a, preempting 1 victims"},
		"the less important one": {nil, []runtime.Object{node("a"), pod("x", asks("2"), on("a"), weighs(3)), node("b"), pod("y", asks("2"), on("b"), weighs(2))}, []string{"y"},
			"0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node b, preempting 1 victims"},
		"not the one with a budget": {nil, []runtime.Object{node("a"), pod("x", asks("2"), on("a")), node("b"), pod("y", asks("2"), on("b")), budget}, []string{"y"},
			"0/2 nodes are available: 2 Insufficient cpu. preemption: found a potential placement for pod on node b, preempting 1 victims"},
		"nobody as important": {nil, []runtime.Object{node("a"), pod("x", asks("2"), on("a"), weighs(9))}, nil,
			"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		"not enough room": {nil, []runtime.Object{node("a"), pod("x", asks("2"), on("a"), weighs(9)), pod("y", asks("1"), on("a"))}, nil,
			"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."},
		"it must not": {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &never }}, []runtime.Object{node("a"), pod("x", asks("2"), on("a"))}, nil,
			"0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."},
		"it waits already": {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Status.NominatedNodeName = "a" }}, []runtime.Object{node("a"), pod("x", asks("2"), on("a"), going)}, nil,
			"0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node."},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", append(test.change, asks("3"), weighs(9))...)
			v, out, told := schedule(t, append(test.more, p)...)
			if told[0] != "event Warning FailedScheduling: "+test.said {
				t.Errorf("got  %s\nwant %s", told[0], test.said)
			}
			var gone []string
			for _, w := range out.Writes {
				if w.Verb == controllers.Delete {
					gone = append(gone, w.Name)
				}
			}
			if !slices.Equal(gone, test.gone) {
				t.Errorf("gone: %v, want %v", gone, test.gone)
			}
			now := v.Changed(out, controllers.Pods, "default", "p").(*corev1.Pod)
			if (now.Status.NominatedNodeName != "") != (len(test.gone) > 0 || name == "it waits already") {
				t.Errorf("nominated: %q", now.Status.NominatedNodeName)
			}
			for _, victim := range test.gone {
				c := v.Changed(out, controllers.Pods, "default", victim).(*corev1.Pod).Status.Conditions
				if len(c) != 1 || c[0].Message != "default-scheduler: preempting to accommodate a higher priority pod" {
					t.Errorf("%s: %+v", victim, c)
				}
			}
		})
	}
}
