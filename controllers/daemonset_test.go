package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func daemonSet(image string, change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	labels, limit, one := map[string]string{"app": "agent"}, int32(10), intstr.FromInt32(1)
	d := &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", Generation: 1},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: &limit,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &one}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}},
		},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

func TestDaemonSetSteps(t *testing.T) {
	uid := func(d *appsv1.DaemonSet) { d.UID = "agent-uid" }
	d := daemonSet("agent:1", uid)
	surging := daemonSet("agent:1", uid, func(d *appsv1.DaemonSet) {
		one, zero := intstr.FromInt32(1), intstr.FromInt32(0)
		d.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateDaemonSet{MaxSurge: &one, MaxUnavailable: &zero}
	})
	onDelete := daemonSet("agent:1", uid, func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	})
	picky := daemonSet("agent:1", uid, func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	node := func(name string, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "ssd-not"}}, Spec: corev1.NodeSpec{Taints: taints}}
	}
	taint := func(effect corev1.TaintEffect) corev1.Taint { return corev1.Taint{Key: "k", Effect: effect} }
	cordoned := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	// The hash is that of the template, as a Deployment's is.
	hash := func(d *appsv1.DaemonSet) string {
		v := controllertest.NewView(t, d)
		out := controllers.DaemonSet().Step(v, []controllers.Key{controllers.NameKey(d)})
		return out.Writes[0].Name[len("agent-"):]
	}
	on := func(d *appsv1.DaemonSet, name, node, hash string, change ...func(*corev1.Pod)) *corev1.Pod {
		return pod(name, nil, controllertest.Now.Add(-time.Hour), append([]func(*corev1.Pod){func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
			p.Labels = map[string]string{"app": "agent", appsv1.DefaultDaemonSetUniqueLabelKey: hash}
			p.Spec.NodeName = node
		}}, change...)...)
	}
	now := hash(d)
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }
	created := []string{"create pods agent-*", "  event Normal SuccessfulCreate: Created pod: agent-*"}
	deleted := func(name string) []string {
		return []string{"delete pods " + name, "  event Normal SuccessfulDelete: Deleted pod: " + name}
	}
	for name, test := range map[string]struct {
		objs   []runtime.Object
		want   []string
		status string // desired, current, misscheduled, ready, updated
	}{
		"a pod for each node":              {[]runtime.Object{d, node("a"), node("b")}, slices.Concat(created, created), "2 0 0 0 0"},
		"nothing to do":                    {[]runtime.Object{d, node("a"), on(d, "p", "a", now)}, nil, "1 1 0 1 1"},
		"not where it does not fit":        {[]runtime.Object{picky, node("a"), on(d, "p", "a", hash(picky))}, deleted("p"), "0 0 1 0 0"},
		"not on a tainted node":            {[]runtime.Object{d, node("a", taint(corev1.TaintEffectNoSchedule))}, nil, "0 0 0 0 0"},
		"there it may stay":                {[]runtime.Object{d, node("a", taint(corev1.TaintEffectNoSchedule)), on(d, "p", "a", now)}, nil, "0 0 1 0 0"},
		"but not against NoExecute":        {[]runtime.Object{d, node("a", taint(corev1.TaintEffectNoExecute)), on(d, "p", "a", now)}, deleted("p"), "0 0 1 0 0"},
		"a cordoned node has one too":      {[]runtime.Object{d, node("a", cordoned)}, created, "1 0 0 0 0"},
		"the younger of two goes":          {[]runtime.Object{d, node("a"), on(d, "p", "a", now), on(d, "q", "a", now)}, deleted("q"), "1 1 0 1 1"},
		"one outdated at a time":           {[]runtime.Object{d, node("a"), node("b"), on(d, "p", "a", "old"), on(d, "q", "b", "old")}, deleted("p"), "2 2 0 2 0"},
		"not while another is missing":     {[]runtime.Object{d, node("a"), node("b"), on(d, "p", "a", now, unready), on(d, "q", "b", "old")}, nil, "2 2 0 1 1"},
		"what serves nobody goes at once":  {[]runtime.Object{d, node("a"), on(d, "p", "a", "old", unready)}, deleted("p"), "1 1 0 0 0"},
		"OnDelete leaves that to you":      {[]runtime.Object{onDelete, node("a"), on(d, "p", "a", "old")}, nil, "1 1 0 1 0"},
		"surging, the new one comes first": {[]runtime.Object{surging, node("a"), on(d, "p", "a", "old")}, created, "1 1 0 1 0"},
		"then the old one goes":            {[]runtime.Object{surging, node("a"), on(d, "p", "a", "old"), on(d, "q", "a", now)}, deleted("p"), "1 1 0 1 0"},
		"not before the new one is ready":  {[]runtime.Object{surging, node("a"), on(d, "p", "a", "old"), on(d, "q", "a", now, unready)}, nil, "1 1 0 1 0"},
		"a failed one": {[]runtime.Object{d, node("a"), on(d, "p", "a", now, failed)},
			append([]string{"event Warning FailedDaemonPod: Found failed daemon pod default/p on node a, will try to kill it"}, deleted("p")...), "1 1 0 1 1"},
	} {
		t.Run(name, func(t *testing.T) {
			v := controllertest.NewView(t, test.objs...)
			out := controllers.DaemonSet().Step(v, []controllers.Key{{Namespace: "default", Name: "agent"}})
			var told []string
			for _, l := range v.Told(out) {
				if l != "create controllerrevisions agent-"+now && l != "create controllerrevisions agent-"+hash(picky) && l != "mutate daemonsets/status agent" {
					told = append(told, l)
				}
			}
			if !slices.Equal(told, test.want) {
				t.Errorf("got  %q\nwant %q", told, test.want)
			}
			s := v.Changed(out, controllers.DaemonSets, "default", "agent").(*appsv1.DaemonSet).Status
			if got := fmt.Sprint(s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberMisscheduled, s.NumberReady, s.UpdatedNumberScheduled); got != test.status {
				t.Errorf("status %s, want %s", got, test.status)
			}
		})
	}
}

func TestADaemonSetRunsOnEveryNodeAndRollsOut(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(3)...)
	quiet(t, r)
	e.Create(controllers.DaemonSets, daemonSet("agent:1"))
	quiet(t, r)
	e.Mutate(controllers.DaemonSets, "default", "agent", "", func(obj runtime.Object) {
		obj.(*appsv1.DaemonSet).Spec.Template.Spec.Containers[0].Image = "agent:2"
	})
	quiet(t, r)
	nodes := map[string]string{}
	for _, p := range controllertest.List[*corev1.Pod](e, controllers.Pods, "default") {
		nodes[p.Spec.NodeName] += p.Spec.Containers[0].Image
	}
	if want := "map[node-1:agent:2 node-2:agent:2 node-3:agent:2]"; fmt.Sprint(nodes) != want {
		t.Errorf("pods on %v, want %s", nodes, want)
	}
	s := controllertest.Get[*appsv1.DaemonSet](e, controllers.DaemonSets, "default", "agent").Status
	if s.DesiredNumberScheduled != 3 || s.NumberAvailable != 3 || s.UpdatedNumberScheduled != 3 || s.NumberUnavailable != 0 || s.ObservedGeneration != 2 {
		t.Errorf("status %+v", s)
	}
	if n := len(controllertest.List[*appsv1.ControllerRevision](e, controllers.ControllerRevisions, "default")); n != 2 {
		t.Errorf("%d revisions, want 2", n)
	}
}
