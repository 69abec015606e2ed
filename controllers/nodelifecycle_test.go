package controllers_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(controllertest.Now)},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
			LastHeartbeatTime: metav1.NewTime(controllertest.Now)}}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func TestASilentNodeBecomesUnknownThenTainted(t *testing.T) {
	c := controllers.NodeLifecycle()
	v := controllertest.NewView(t, node("node-1"))
	if told := v.Told(c.Step(v, []controllers.Key{{}})); len(told) != 0 {
		t.Errorf("while it is alive: %q", told)
	}
	v.Time = controllertest.Now.Add(51 * time.Second)
	out := c.Step(v, []controllers.Key{{}})
	n := v.Changed(out, controllers.Nodes, "", "node-1").(*corev1.Node)
	if got := n.Status.Conditions[0]; got.Status != corev1.ConditionUnknown || got.Message != "Kubelet stopped posting node status." {
		t.Errorf("after the grace period: %+v", got)
	}
	v = controllertest.NewView(t, n)
	out = c.Step(v, []controllers.Key{{Name: "node-1"}})
	n = v.Changed(out, controllers.Nodes, "", "node-1").(*corev1.Node)
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	if want := []string{"node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/unreachable:NoSchedule"}; !slices.Equal(taints, want) {
		t.Errorf("taints: got %v, want %v", taints, want)
	}
}

func TestTaintsEvictWhenPatienceIsOver(t *testing.T) {
	added := metav1.NewTime(controllertest.Now)
	tainted := node("node-1", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute, TimeAdded: &added}}
	})
	seconds := int64(300)
	patient := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: &seconds}}
	}
	forever := func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}
	}
	v := controllertest.NewView(t, tainted, pod("none", nil, added.Time), pod("some", nil, added.Time, patient), pod("all", nil, added.Time, forever))
	keys := []controllers.Key{{Namespace: "default", Name: "none"}, {Namespace: "default", Name: "some"}, {Namespace: "default", Name: "all"}}
	out := controllers.TaintEviction().Step(v, keys)
	deleted := func(out controllers.Outcome) (names []string) {
		for _, w := range out.Writes {
			if w.Verb == controllers.Delete {
				names = append(names, w.Name)
			}
		}
		return names
	}
	if got := deleted(out); !slices.Equal(got, []string{"none"}) {
		t.Errorf("at once: deleted %v, want none", got)
	}
	if at := out.Again[keys[1]]; !at.Equal(added.Add(300 * time.Second)) {
		t.Errorf("asked to be called at %v", at)
	}
	v.Time = added.Add(300 * time.Second)
	if got := deleted(controllers.TaintEviction().Step(v, keys[1:])); !slices.Equal(got, []string{"some"}) {
		t.Errorf("after five minutes: deleted %v, want some", got)
	}
}

func TestOldNamesOfNodeLabelsFollowTheNewOnes(t *testing.T) {
	v := controllertest.NewView(t, node("node-1", func(n *corev1.Node) {
		n.Labels = map[string]string{corev1.LabelOSStable: "linux", corev1.LabelArchStable: "arm64", "beta.kubernetes.io/arch": "amd64"}
	}))
	out := controllers.NodeLifecycle().Step(v, []controllers.Key{{Name: "node-1"}})
	got := v.Changed(out, controllers.Nodes, "", "node-1").(*corev1.Node).Labels
	if got["beta.kubernetes.io/os"] != "linux" || got["beta.kubernetes.io/arch"] != "arm64" {
		t.Errorf("labels: %v", got)
	}
}

func TestANodeThatNeverReportedKeepsWhatEvicts(t *testing.T) {
	v := controllertest.NewView(t, node("node-1", func(n *corev1.Node) {
		n.Status.Conditions = nil
		n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule},
			{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}, {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectPreferNoSchedule}}
	}))
	out := controllers.NodeLifecycle().Step(v, []controllers.Key{{Name: "node-1"}})
	got := v.Changed(out, controllers.Nodes, "", "node-1").(*corev1.Node).Spec.Taints
	if len(got) != 2 || got[0].Effect != corev1.TaintEffectNoExecute || got[1].Effect != corev1.TaintEffectPreferNoSchedule {
		t.Errorf("taints: %v", got)
	}
}
