package controllers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func replicaSet(size int32, change ...func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	labels := map[string]string{"app": "rs"}
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rs", UID: "rs-uid", Generation: 1},
		Spec: appsv1.ReplicaSetSpec{Replicas: &size, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}},
	}
	for _, f := range change {
		f(rs)
	}
	return rs
}

// pod is one of rs's, running on a node; ready since the given time, or not when that is zero.
func pod(name string, rs *appsv1.ReplicaSet, ready time.Time, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "rs"}},
		Spec:       corev1.PodSpec{NodeName: "node-1"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	if rs != nil {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	}
	if !ready.IsZero() {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(ready)}}
	}
	for _, f := range change {
		f(p)
	}
	return p
}

var rsKey = controllers.Key{Namespace: "default", Name: "rs"}

func stepReplicaSet(t *testing.T, objs ...runtime.Object) (*controllertest.View, controllers.Outcome) {
	t.Helper()
	v := controllertest.NewView(t, objs...)
	return v, controllers.ReplicaSet().Step(v, []controllers.Key{rsKey})
}

func TestReplicaSetCreatesInDoublingBatches(t *testing.T) {
	_, out := stepReplicaSet(t, replicaSet(10))
	var sizes []int
	for _, w := range out.Writes {
		if w.Verb != controllers.Create {
			continue
		}
		if w.Beside {
			sizes[len(sizes)-1]++
		} else {
			sizes = append(sizes, 1)
		}
	}
	if want := []int{1, 2, 4, 3}; !slices.Equal(sizes, want) {
		t.Errorf("batches: got %v, want %v", sizes, want)
	}
}

func TestReplicaSetTellsWhyItCannotCreate(t *testing.T) {
	v, out := stepReplicaSet(t, replicaSet(1))
	followed := out.Writes[0].Failed(errors.New("no room"))
	told := v.Told(controllers.Outcome{Writes: followed})
	if want := []string{"event Warning FailedCreate: Error creating: no room", "mutate replicasets/status rs"}; !slices.Equal(told, want) {
		t.Errorf("after a failure: got %q, want %q", told, want)
	}
	rs := v.Changed(controllers.Outcome{Writes: followed}, controllers.ReplicaSets, "default", "rs").(*appsv1.ReplicaSet)
	if c := rs.Status.Conditions; len(c) != 1 || c[0].Type != appsv1.ReplicaSetReplicaFailure || c[0].Reason != "FailedCreate" || c[0].Message != "no room" {
		t.Errorf("conditions: %+v", c)
	}
}

func TestReplicaSetDeletesWhatIsMissedLeast(t *testing.T) {
	long, short := controllertest.Now.Add(-time.Hour), controllertest.Now.Add(-time.Second)
	rs := replicaSet(1)
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"unassigned": {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, time.Time{}, func(p *corev1.Pod) { p.Spec.NodeName = "" })}, "b"},
		"pending":    {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, time.Time{}, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })}, "b"},
		"unready":    {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, time.Time{})}, "b"},
		"cheap": {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, long, func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.PodDeletionCost: "-5"}
		})}, "b"},
		"young": {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, short)}, "b"},
		"restarted": {[]*corev1.Pod{pod("a", rs, long), pod("b", rs, long, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}}
		})}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			objs := []runtime.Object{rs}
			for _, p := range test.pods {
				objs = append(objs, p)
			}
			v, out := stepReplicaSet(t, objs...)
			if told := v.Told(out); told[0] != "delete pods "+test.want {
				t.Errorf("got %q, want delete of %s", told, test.want)
			}
		})
	}
}

func TestReplicaSetAdoptsAndLetsGo(t *testing.T) {
	rs := replicaSet(2)
	other := pod("lost", rs, controllertest.Now, func(p *corev1.Pod) { p.Labels = map[string]string{"app": "other"} })
	v, out := stepReplicaSet(t, rs, pod("stray", nil, controllertest.Now), pod("mine", rs, controllertest.Now), other)
	for name, want := range map[string]int{"stray": 1, "mine": 1, "lost": 0} {
		p := v.Changed(out, controllers.Pods, "default", name).(*corev1.Pod)
		if len(p.OwnerReferences) != want {
			t.Errorf("%s: %d owners, want %d", name, len(p.OwnerReferences), want)
		}
	}
	for _, line := range v.Told(out) {
		if strings.HasPrefix(line, "create") || strings.HasPrefix(line, "delete") {
			t.Errorf("it has two pods, but wants to %s", line)
		}
	}
}

func TestReplicaSetCountsAvailability(t *testing.T) {
	rs := replicaSet(2, func(rs *appsv1.ReplicaSet) { rs.Spec.MinReadySeconds = 10 })
	v, out := stepReplicaSet(t, rs, pod("a", rs, controllertest.Now.Add(-time.Minute)), pod("b", rs, controllertest.Now.Add(-4*time.Second)))
	s := v.Changed(out, controllers.ReplicaSets, "default", "rs").(*appsv1.ReplicaSet).Status
	if got := fmt.Sprint(s.Replicas, s.ReadyReplicas, s.AvailableReplicas); got != "2 2 1" {
		t.Errorf("replicas, ready, available: got %s, want 2 2 1", got)
	}
	if at := out.Again[rsKey]; !at.Equal(controllertest.Now.Add(6 * time.Second)) {
		t.Errorf("called again at %v, want when b is available", at)
	}
}
