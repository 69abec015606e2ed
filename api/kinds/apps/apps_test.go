package apps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common/kindtest"
)

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
	}
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

func exampleDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.DeploymentSpec{Selector: selector(), Template: template()},
	}
}

func exampleDaemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.DaemonSetSpec{Selector: selector(), Template: template()},
	}
}

func exampleStatefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       appsv1.StatefulSetSpec{Selector: selector(), Template: template()},
	}
}

func create(t *testing.T, r *kinds.Resource, obj runtime.Object) {
	t.Helper()
	if faults := kindtest.Create(new(kindtest.Cluster).Context(), r.Strategy, obj); faults != nil {
		t.Fatalf("refused: %v", faults)
	}
}

func TestDeploymentGetsItsDefaults(t *testing.T) {
	d := exampleDeployment()
	d.Status.Replicas = 4
	create(t, deployments(), d)
	want := appsv1.DeploymentSpec{
		Replicas: new(int32(1)), RevisionHistoryLimit: new(int32(10)), ProgressDeadlineSeconds: new(int32(600)),
		Selector: selector(), Template: d.Spec.Template,
		Strategy: appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
			},
		},
	}
	if diff := cmp.Diff(want, d.Spec); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if d.Generation != 1 || d.Status.Replicas != 0 || d.Spec.Template.Spec.SchedulerName == "" {
		t.Errorf("generation %d, status %+v", d.Generation, d.Status)
	}
}

func TestDeploymentGenerationFollowsAnnotations(t *testing.T) {
	old := exampleDeployment()
	create(t, deployments(), old)
	for _, c := range []struct {
		name   string
		change func(d *appsv1.Deployment)
		want   int64
	}{
		{"nothing", func(*appsv1.Deployment) {}, 1},
		{"labels", func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, 1},
		{"annotations", func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, 2},
		{"replicas", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) }, 2},
	} {
		d := old.DeepCopy()
		c.change(d)
		kindtest.Update(new(kindtest.Cluster).Context(), deployments().Strategy, d, old)
		if d.Generation != c.want {
			t.Errorf("%s: generation %d, want %d", c.name, d.Generation, c.want)
		}
	}
}

func TestWorkloadsThatAreRefused(t *testing.T) {
	other := func(s *metav1.LabelSelector) { s.MatchLabels = map[string]string{"app": "other"} }
	deployment, stateful := exampleDeployment(), exampleStatefulSet()
	other(deployment.Spec.Selector)
	deployment.Spec.Replicas = new(int32(-1))
	stateful.Spec.Selector = nil
	waiting := exampleStatefulSet()
	waiting.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}}
	for _, c := range []struct {
		name     string
		resource *kinds.Resource
		obj      runtime.Object
		want     []string
	}{
		{"selector of other pods", deployments(), deployment, []string{
			"spec.replicas: Invalid value: -1: must be greater than or equal to 0",
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
		}},
		{"no selector", statefulSets(), stateful, []string{
			"spec.selector: Required value",
			"spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`",
		}},
		{"rolls on delete", statefulSets(), waiting, []string{
			"spec.updateStrategy.rollingUpdate: Invalid value: {\"Partition\":0,\"MaxUnavailable\":null}: only allowed for updateStrategy 'RollingUpdate'",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults := kindtest.Create(new(kindtest.Cluster).Context(), c.resource.Strategy, c.obj)
			if d := cmp.Diff(c.want, faults); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestStatefulSetKeepsItsServiceName(t *testing.T) {
	old := exampleStatefulSet()
	create(t, statefulSets(), old)
	s := old.DeepCopy()
	s.Spec.ServiceName = "other"
	faults := kindtest.Update(new(kindtest.Cluster).Context(), statefulSets().Strategy, s, old)
	if d := cmp.Diff([]string{`spec.serviceName: Invalid value: "other": field is immutable`}, faults); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestDaemonSetCountsItsTemplates(t *testing.T) {
	old := exampleDaemonSet()
	create(t, daemonSets(), old)
	d := old.DeepCopy()
	d.Annotations = nil // a client that replaces the annotations does not reset the count
	d.Spec.Template.Spec.Containers[0].Image = "nginx:2"
	kindtest.Update(new(kindtest.Cluster).Context(), daemonSets().Strategy, d, old)
	if was, now := templateGeneration(old), templateGeneration(d); was != 1 || now != 2 {
		t.Errorf("template generation %d, then %d", was, now)
	}
	after := d.DeepCopy()
	after.Annotations = nil // nor does one that writes the status
	daemonSets().Subresources[0].Strategy.PrepareForUpdate(new(kindtest.Cluster).Context(), after, d)
	if n := templateGeneration(after); n != 2 {
		t.Errorf("template generation %d after a change of the status", n)
	}
}

func TestDaemonSetThatDoesNotRollKeepsBothNumbers(t *testing.T) {
	d := exampleDaemonSet()
	d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{}}
	create(t, daemonSets(), d)
	if r := d.Spec.UpdateStrategy.RollingUpdate; r.MaxUnavailable == nil || r.MaxUnavailable.IntValue() != 0 || r.MaxSurge == nil {
		t.Errorf("rolling update %+v, want zeros", r)
	}
}

func TestScaleOfDeployment(t *testing.T) {
	d := exampleDeployment()
	create(t, deployments(), d)
	var scale *kinds.Scale
	for _, s := range deployments().Subresources {
		if s.Scale != nil {
			scale = s.Scale
		}
	}
	if err := scale.Set(d, 5); err != nil {
		t.Fatal(err)
	}
	replicas, _, text, err := scale.Get(d)
	if err != nil || replicas != 5 || text != "app=web" {
		t.Errorf("got %d, %q, %v", replicas, text, err)
	}
}
