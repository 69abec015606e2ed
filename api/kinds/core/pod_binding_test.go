package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds/common/kindtest"
)

func TestBindingSetsTheNodeOnce(t *testing.T) {
	p := createdPod(t)
	c := &kindtest.Cluster{Objects: map[string][]runtime.Object{"pods": {p}}}
	r := c.Context()
	r.Name = p.Name
	b := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}
	b.Name = p.Name
	b.Annotations = map[string]string{"zone": "a"}
	if _, err := createBinding(r, b); err != nil {
		t.Fatal(err)
	}
	if p.Spec.NodeName != "n1" || p.Annotations["zone"] != "a" || len(p.Status.Conditions) != 1 || p.Status.Conditions[0].Type != corev1.PodScheduled {
		t.Errorf("after binding: %+v", p)
	}
	_, err := createBinding(r, b)
	want := `Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1"`
	if !errors.IsConflict(err) || err.Error() != want {
		t.Errorf("second binding: got %v, want %s", err, want)
	}
}

func TestBindingWithoutTargetIsRefused(t *testing.T) {
	r := new(kindtest.Cluster).Context()
	b := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Pod"}}
	_, err := createBinding(r, b)
	want := `[target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// evicted asks for the eviction of a running pod with a budget that allows so many disruptions.
func evicted(t *testing.T, allowed int32) (*kindtest.Cluster, error) {
	t.Helper()
	p := createdPod(t)
	p.Labels = map[string]string{"app": "web"}
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: p.Labels}
	budget.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, DesiredHealthy: 2, CurrentHealthy: 2 + allowed}
	c := &kindtest.Cluster{Objects: map[string][]runtime.Object{"pods": {p}, "poddisruptionbudgets": {budget}}}
	r := c.Context()
	r.Name = p.Name
	e := &policyv1.Eviction{}
	e.Name = p.Name
	_, err := createEviction(r, e)
	return c, err
}

func TestEvictionTakesADisruption(t *testing.T) {
	c, err := evicted(t, 1)
	if err != nil {
		t.Fatal(err)
	}
	status := c.Objects["poddisruptionbudgets"][0].(*policyv1.PodDisruptionBudget).Status
	if _, noted := status.DisruptedPods["web"]; !noted || status.DisruptionsAllowed != 0 {
		t.Errorf("budget: %+v", status)
	}
	if left := len(c.Objects["pods"]); left != 0 {
		t.Errorf("%d pods left", left)
	}
}

func TestEvictionWaitsForItsBudget(t *testing.T) {
	c, err := evicted(t, 0)
	if !errors.IsTooManyRequests(err) {
		t.Fatalf("got %v, want 429", err)
	}
	causes := err.(errors.APIStatus).Status().Details.Causes
	want := metav1.StatusCause{Type: "DisruptionBudget", Message: "The disruption budget b needs 2 healthy pods and has 2 currently"}
	if len(causes) != 1 || causes[0] != want {
		t.Errorf("got %+v, want %+v", causes, want)
	}
	if left := len(c.Objects["pods"]); left != 1 {
		t.Errorf("%d pods left", left)
	}
}
