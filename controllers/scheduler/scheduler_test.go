package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
	"kuberow/controllers/scheduler"
)

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 1, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{SchedulerName: "default-scheduler", Containers: []corev1.Container{{Name: "c"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func asks(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

// schedule runs a step over everything and gives each pod's line.
func schedule(t *testing.T, objs ...runtime.Object) (*controllertest.View, controllers.Outcome, []string) {
	t.Helper()
	v := controllertest.NewView(t, objs...)
	out := scheduler.New().Step(v, []controllers.Key{{}})
	return v, out, v.Told(out)
}

func TestWhyNot(t *testing.T) {
	never := corev1.PreemptNever
	terms := []corev1.PodAffinityTerm{{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}}
	for name, test := range map[string]struct {
		nodes []*corev1.Node
		pod   *corev1.Pod
		more  []runtime.Object
		want  string
	}{
		"no nodes": {nil, pod("p"), nil, "no nodes available to schedule pods"},
		"counts by reason": {[]*corev1.Node{node("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }), node("b"), node("c"), node("d")}, pod("p", asks("5")), nil,
			"0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient cpu. preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling."},
		"full": {[]*corev1.Node{node("a")}, pod("p", asks("3")), []runtime.Object{pod("x", asks("2"), on("a"))},
			"0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		"must not preempt": {[]*corev1.Node{node("a")}, pod("p", asks("3"), func(p *corev1.Pod) { p.Spec.PreemptionPolicy = &never }), []runtime.Object{pod("x", asks("2"), on("a"))},
			"0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."},
		"tainted": {[]*corev1.Node{node("a", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}} })}, pod("p"), nil,
			"0/1 nodes are available: 1 node(s) had untolerated taint(s). preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
		"a missing claim": {[]*corev1.Node{node("a")}, pod("p", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "none"}}}}
		}), nil, `0/1 nodes are available: persistentvolumeclaim "none" not found. not found`},
		"anti-affinity": {[]*corev1.Node{node("a")}, pod("p", func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
		}), []runtime.Object{pod("db", on("a"))},
			"0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules. preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod."},
	} {
		t.Run(name, func(t *testing.T) {
			objs := append([]runtime.Object{test.pod}, test.more...)
			for _, n := range test.nodes {
				objs = append(objs, n)
			}
			v, out, told := schedule(t, objs...)
			if told[0] != "event Warning FailedScheduling: "+test.want {
				t.Errorf("event:\ngot  %s\nwant %s", told[0], test.want)
			}
			c := v.Changed(out, controllers.Pods, "default", "p").(*corev1.Pod).Status.Conditions
			if len(c) != 1 || c[0].Reason != corev1.PodReasonUnschedulable || c[0].Message != test.want || c[0].ObservedGeneration != 1 {
				t.Errorf("condition: %+v", c)
			}
		})
	}
}

func TestWhere(t *testing.T) {
	disk := func(n *corev1.Node) { n.Labels["disk"] = "ssd" }
	prefers := func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"ssd"}}}}}}}}
	}
	for name, test := range map[string]struct {
		objs []runtime.Object
		want string
	}{
		"the emptier node":   {[]runtime.Object{node("a"), node("b"), pod("x", asks("2"), on("a")), pod("p", asks("1"))}, "b"},
		"the selected node":  {[]runtime.Object{node("a"), node("b", disk), pod("p", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })}, "b"},
		"the preferred node": {[]runtime.Object{node("a"), node("b", disk), pod("x", asks("1"), on("b")), pod("p", prefers)}, "b"},
		"the free port":      {[]runtime.Object{node("a"), node("b"), pod("x", on("a"), hostPort), pod("p", hostPort)}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, told := schedule(t, test.objs...)
			want := []string{"create pods p to " + test.want, "  event Normal Scheduled: Successfully assigned default/p to " + test.want}
			want[0] = "create pods/binding p to " + test.want
			if !slices.Equal(told, want) {
				t.Errorf("got %q, want %q", told, want)
			}
		})
	}
}

func hostPort(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
}

func TestOthersPodsAreLeftAlone(t *testing.T) {
	_, _, told := schedule(t, node("a"),
		pod("other", func(p *corev1.Pod) { p.Spec.SchedulerName = "someone-else" }),
		pod("gated", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }),
		pod("leaving", func(p *corev1.Pod) { now := metav1.NewTime(controllertest.Now); p.DeletionTimestamp = &now }))
	if len(told) != 0 {
		t.Errorf("got %q, want nothing", told)
	}
}

// Placements of one step count for the next: a node takes no more than it has.
func TestOneStepFillsNodes(t *testing.T) {
	objs := []runtime.Object{node("a"), node("b")}
	for i := range 10 {
		objs = append(objs, pod(fmt.Sprintf("p%d", i), asks("1")))
	}
	_, out, _ := schedule(t, objs...)
	bound, refused := map[string]int{}, 0
	for _, w := range out.Writes {
		if b, ok := w.Object.(*corev1.Binding); ok {
			bound[b.Target.Name]++
		}
		if w.Verb == controllers.Mutate {
			refused++
		}
	}
	if bound["a"] != 4 || bound["b"] != 4 || refused != 2 {
		t.Errorf("bound %v, refused %d; want 4 and 4, 2", bound, refused)
	}
}

func TestAThousandPodsAreOneQuickStep(t *testing.T) {
	var objs []runtime.Object
	for i := range 10 {
		objs = append(objs, node(fmt.Sprintf("n%d", i)))
	}
	for i := range 1000 {
		objs = append(objs, pod(fmt.Sprintf("p%d", i)))
	}
	v := controllertest.NewView(t, objs...)
	began := time.Now()
	out := scheduler.New().Step(v, []controllers.Key{{}})
	if len(out.Writes) != 1000 {
		t.Errorf("%d writes, want 1000", len(out.Writes))
	}
	t.Logf("took %v", time.Since(began))
}
