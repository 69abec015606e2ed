package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"kuberow/api/kinds/common/kindtest"
)

func TestRuntimeClassesThatAreRefused(t *testing.T) {
	toleration := corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists}
	for _, c := range []struct {
		name string
		obj  nodev1.RuntimeClass
		want []string
	}{
		{"without a handler", nodev1.RuntimeClass{}, []string{"handler: Required value"}},
		{"an overhead in no known resource", nodev1.RuntimeClass{Handler: "h", Overhead: &nodev1.Overhead{
			PodFixed: corev1.ResourceList{"x": resource.MustParse("1")}}}, []string{
			`overhead.limits[x]: Invalid value: "x": must be a standard resource type or fully qualified`,
			`overhead.limits[x]: Invalid value: "x": must be a standard resource for containers`}},
		{"a toleration twice", nodev1.RuntimeClass{Handler: "h", Scheduling: &nodev1.Scheduling{Tolerations: []corev1.Toleration{toleration, toleration}}},
			[]string{`scheduling.tolerations[1]: Duplicate value: {"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}`}},
	} {
		got := kindtest.Create(new(kindtest.Cluster).Context(), runtimeClasses().Strategy, &c.obj)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

func TestHandlerIsFixed(t *testing.T) {
	old := nodev1.RuntimeClass{Handler: "runc"}
	for handler, want := range map[string][]string{
		"kata": {"handler: Invalid value: null: field is immutable"},
		"":     {"handler: Invalid value: null: field is immutable", "handler: Required value"},
	} {
		got := kindtest.Update(new(kindtest.Cluster).Context(), runtimeClasses().Strategy, &nodev1.RuntimeClass{Handler: handler}, &old)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got)\n%s", handler, d)
		}
	}
}

func TestOldNodeLabelsAreWarnedOf(t *testing.T) {
	obj := &nodev1.RuntimeClass{Handler: "h", Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{"beta.kubernetes.io/os": "linux", "zone": "a"}}}
	got := runtimeClasses().Strategy.Warnings(nil, obj, nil)
	want := []string{`scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead`}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
