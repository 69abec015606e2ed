package core

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds/common/kindtest"
)

func examplePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}},
	}
}

func createdPod(t testing.TB) *corev1.Pod {
	t.Helper()
	p := examplePod()
	if faults := kindtest.Create(new(kindtest.Cluster).Context(), pods().Strategy, p); faults != nil {
		t.Fatalf("a plain pod is refused: %v", faults)
	}
	return p
}

func TestPodGetsItsDefaults(t *testing.T) {
	want := examplePod()
	want.Generation = 1
	want.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, DNSPolicy: corev1.DNSClusterFirst, SchedulerName: "default-scheduler",
		TerminationGracePeriodSeconds: new(int64(30)), SecurityContext: &corev1.PodSecurityContext{}, EnableServiceLinks: new(true),
		Containers: []corev1.Container{{
			Name: "c", Image: "nginx:1.27", ImagePullPolicy: corev1.PullIfNotPresent,
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		}},
	}
	want.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort}
	if d := cmp.Diff(want, createdPod(t)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestQOSClassFollowsTheResources(t *testing.T) {
	list := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("1Gi")}
	}
	for _, c := range []struct {
		name             string
		requests, limits corev1.ResourceList
		want             corev1.PodQOSClass
	}{
		{"limits alone become requests", nil, list("1"), corev1.PodQOSGuaranteed},
		{"requests below limits", list("500m"), list("1"), corev1.PodQOSBurstable},
		{"requests alone", list("1"), nil, corev1.PodQOSBurstable},
		{"nothing", nil, nil, corev1.PodQOSBestEffort},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := examplePod()
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: c.requests, Limits: c.limits}
			kindtest.Create(new(kindtest.Cluster).Context(), pods().Strategy, p)
			if p.Status.QOSClass != c.want {
				t.Errorf("got %s, want %s", p.Status.QOSClass, c.want)
			}
		})
	}
}

func TestRunningPodIsRefusedChanges(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(p *corev1.Pod)
		want   string // beginning of the only fault; "" allows the change
	}{
		{"image", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nginx:1.28" }, ""},
		{"toleration added", func(p *corev1.Pod) {
			p.Spec.Tolerations = []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}}
		}, ""},
		{"command", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"sh"} },
			"spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"},
		{"container added", func(p *corev1.Pod) {
			second := p.Spec.Containers[0]
			second.Name = "d"
			p.Spec.Containers = append(p.Spec.Containers, second)
		}, "spec.containers: Forbidden: pod updates may not add or remove containers"},
		{"no image", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "" }, "spec.containers[0].image: Required value"},
	} {
		t.Run(c.name, func(t *testing.T) {
			old := createdPod(t)
			p := old.DeepCopy()
			c.change(p)
			faults := kindtest.Update(new(kindtest.Cluster).Context(), pods().Strategy, p, old)
			switch {
			case c.want == "" && len(faults) > 0:
				t.Errorf("refused: %v", faults)
			case c.want != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0], c.want)):
				t.Errorf("got %q, want %q", faults, c.want)
			}
			if c.want == "" && p.Generation != 2 {
				t.Errorf("generation %d, want 2", p.Generation)
			}
		})
	}
}

func TestPodGracePeriod(t *testing.T) {
	for _, c := range []struct {
		name  string
		node  string
		phase corev1.PodPhase
		asked *int64
		want  int64
	}{
		{"not scheduled", "", corev1.PodPending, new(int64(50)), 0},
		{"finished", "n", corev1.PodSucceeded, nil, 0},
		{"running", "n", corev1.PodRunning, nil, 30},
		{"asked", "n", corev1.PodRunning, new(int64(5)), 5},
		{"asked for less than nothing", "n", corev1.PodRunning, new(int64(-1)), 1},
	} {
		p := createdPod(t)
		p.Spec.NodeName, p.Status.Phase = c.node, c.phase
		if got := pods().Strategy.GracePeriod(nil, p, c.asked); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestAppArmorAnnotationBecomesField(t *testing.T) {
	p := examplePod()
	p.Annotations = map[string]string{appArmorPrefix + "c": "localhost/strict"}
	var c kindtest.Cluster
	if faults := kindtest.Create(c.Context(), pods().Strategy, p); faults != nil {
		t.Fatal(faults)
	}
	got := p.Spec.Containers[0].SecurityContext
	if got == nil || got.AppArmorProfile == nil || *got.AppArmorProfile.LocalhostProfile != "strict" || len(c.Warnings) != 1 {
		t.Errorf("got %+v and warnings %q", got, c.Warnings)
	}
}

func BenchmarkDefaultPod(b *testing.B) {
	s := pods().Strategy
	for b.Loop() {
		s.Default(examplePod())
	}
}

func BenchmarkCreatePod(b *testing.B) {
	s, r := pods().Strategy, new(kindtest.Cluster).Context()
	for b.Loop() {
		kindtest.Create(r, s, examplePod())
	}
}
