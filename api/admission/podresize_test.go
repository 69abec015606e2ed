package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodGrowsWithinItsNode(t *testing.T) {
	w := newWorld(t)
	w.put("nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi")}}})
	w.put("nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w", Labels: map[string]string{corev1.LabelOSStable: "windows"}}})
	for _, c := range []struct {
		node, cpu  string
		generation int64
		want       string
	}{
		{"n", "2", 2, ""},
		{"n", "3", 2, `pods "p" is forbidden: node didn't have enough allocatable resources: cpu, requested: 3000, allocatable: 2000`},
		{"n", "3", 1, ""}, // nothing that the node must give changed
		{"w", "1", 2, `pods "p" is forbidden: pod resize is only supported on linux nodes, node "w" is "windows"`},
		{"gone", "1", 2, `pods "p" is forbidden: node "gone" not found`},
		{"", "9", 2, ""},
	} {
		old := pod(func(p *corev1.Pod) { p.Generation, p.Spec.NodeName = 1, c.node })
		changed := old.DeepCopy()
		changed.Generation = c.generation
		changed.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(c.cpu)}
		got := ""
		if err := podResize().Validate(w.write("pods", "resize", changed, old)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s cpu on node %q: got %q, want %q", c.cpu, c.node, got, c.want)
		}
	}
}

// A change that only some nodes can follow wants a node that says so.
func TestPodsChangeAsTheirNodesDeclare(t *testing.T) {
	w := newWorld(t)
	w.put("nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "old"}})
	w.put("nodes", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Status: corev1.NodeStatus{
		DeclaredFeatures: []string{"InPlacePodLevelResourcesVerticalScaling"}}})
	whole := func(p *corev1.Pod) { p.Spec.Resources = &corev1.ResourceRequirements{} }
	label := func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }
	for _, c := range []struct {
		node       string
		change     func(*corev1.Pod)
		generation int64
		want       string
	}{
		{"new", whole, 2, ""},
		{"old", whole, 2, `pods "p" is forbidden: pod update requires features InPlacePodLevelResourcesVerticalScaling which are not available on node "old"`},
		{"old", whole, 1, ""},
		{"old", label, 2, ""},
		{"gone", label, 2, ""},
		{"gone", whole, 2, `pods "p" is forbidden: node "gone" not found`},
		{"", whole, 2, ""},
	} {
		old := pod(func(p *corev1.Pod) { p.Generation, p.Spec.NodeName = 1, c.node })
		changed := old.DeepCopy()
		changed.Generation = c.generation
		c.change(changed)
		got := ""
		if err := nodeDeclaredFeatures().Validate(w.write("pods", "resize", changed, old)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("on node %q: got %q, want %q", c.node, got, c.want)
		}
	}
}
