package batch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds/common/kindtest"
)

func exampleJob() *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sum", UID: "u1"}}
	j.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox"}},
	}
	return j
}

func exampleCronJob(schedule string) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "nightly"}}
	c.Spec.Schedule, c.Spec.JobTemplate.Spec = schedule, exampleJob().Spec
	return c
}

func TestJobSelectsItsOwnPods(t *testing.T) {
	j := exampleJob()
	if faults := kindtest.Create(new(kindtest.Cluster).Context(), jobs().Strategy, j); faults != nil {
		t.Fatal(faults)
	}
	if d := cmp.Diff(map[string]string{batchv1.ControllerUidLabel: "u1"}, j.Spec.Selector.MatchLabels); d != "" {
		t.Errorf("selector (-want +got)\n%s", d)
	}
	want := map[string]string{
		batchv1.ControllerUidLabel: "u1", batchv1.JobNameLabel: "sum", "controller-uid": "u1", "job-name": "sum",
	}
	if d := cmp.Diff(want, j.Spec.Template.Labels); d != "" {
		t.Errorf("template's labels (-want +got)\n%s", d)
	}
	if d := cmp.Diff(want, j.Labels); d != "" {
		t.Errorf("labels (-want +got)\n%s", d)
	}
}

// A Job that has no labels shares those of its template, the generated ones too; one that has labels keeps to them.
func TestJobLabels(t *testing.T) {
	for _, c := range []struct {
		own, template map[string]string
		want          int
	}{
		{nil, map[string]string{"app": "a"}, 5},
		{map[string]string{"app": "a"}, map[string]string{"app": "a"}, 1},
	} {
		j := exampleJob()
		j.Labels, j.Spec.Template.Labels = c.own, c.template
		if faults := kindtest.Create(new(kindtest.Cluster).Context(), jobs().Strategy, j); faults != nil {
			t.Fatal(faults)
		}
		if len(j.Labels) != c.want || len(j.Spec.Template.Labels) != 5 {
			t.Errorf("got %v, template %v", j.Labels, j.Spec.Template.Labels)
		}
	}
}

func TestJobDefaults(t *testing.T) {
	j := exampleJob()
	jobs().Strategy.Default(j)
	s := j.Spec
	s.Template = corev1.PodTemplateSpec{}
	want := batchv1.JobSpec{
		Completions: new(int32(1)), Parallelism: new(int32(1)), BackoffLimit: new(int32(6)), Suspend: new(false),
		ManualSelector: new(false), CompletionMode: new(batchv1.NonIndexedCompletion), PodReplacementPolicy: new(batchv1.TerminatingOrFailed),
	}
	if d := cmp.Diff(want, s); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestJobsThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(j *batchv1.Job)
		want   string
	}{
		{"pods that restart for ever", func(j *batchv1.Job) { j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways },
			`spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"`},
		{"negative parallelism", func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(-1)) },
			"spec.parallelism: Invalid value: -1: must be greater than or equal to 0"},
		{"indexed without completions", func(j *batchv1.Job) {
			j.Spec.Parallelism, j.Spec.CompletionMode = new(int32(1)), new(batchv1.IndexedCompletion)
		}, "spec.completions: Required value: when completion mode is Indexed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := exampleJob()
			c.change(j)
			faults := kindtest.Create(new(kindtest.Cluster).Context(), jobs().Strategy, j)
			if len(faults) != 1 || faults[0] != c.want {
				t.Errorf("got %q, want %q", faults, c.want)
			}
		})
	}
}

func TestTemplateOfStartedJobIsFixed(t *testing.T) {
	old := exampleJob()
	kindtest.Create(new(kindtest.Cluster).Context(), jobs().Strategy, old)
	j := old.DeepCopy()
	j.Spec.Template.Spec.Containers[0].Image = "busybox:2"
	faults := kindtest.Update(new(kindtest.Cluster).Context(), jobs().Strategy, j, old)
	if len(faults) != 1 || !strings.HasPrefix(faults[0], "spec.template: Invalid value: ") || !strings.HasSuffix(faults[0], ": field is immutable") {
		t.Errorf("got %q", faults)
	}
}

func TestSchedules(t *testing.T) {
	for _, c := range []struct{ schedule, want string }{
		{"*/5 * * * *", ""},
		{"@hourly", ""},
		{"61 * * * *", `spec.schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61`},
		{"", "spec.schedule: Required value"},
	} {
		faults := kindtest.Create(new(kindtest.Cluster).Context(), cronJobs().Strategy, exampleCronJob(c.schedule))
		if got := strings.Join(faults, "; "); got != c.want {
			t.Errorf("%q: got %q, want %q", c.schedule, got, c.want)
		}
	}
}
