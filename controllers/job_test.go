package controllers_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func job(name string, completions, parallelism int32, change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		TypeMeta:   metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: batchv1.JobSpec{Completions: &completions, Parallelism: &parallelism, Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "busybox:1"}}}}},
	}
	for _, f := range change {
		f(j)
	}
	return j
}

func TestJobsComplete(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	quiet(t, r)
	indexed := batchv1.IndexedCompletion
	e.Create(controllers.Jobs, job("plain", 4, 2))
	e.Create(controllers.Jobs, job("indexed", 3, 3, func(j *batchv1.Job) { j.Spec.CompletionMode = &indexed }))
	quiet(t, r)
	for name, want := range map[string]string{"plain": "4 []", "indexed": "3 [0-2]"} {
		j := controllertest.Get[*batchv1.Job](e, controllers.Jobs, "default", name)
		var types []batchv1.JobConditionType
		for _, c := range j.Status.Conditions {
			types = append(types, c.Type)
		}
		if got := fmt.Sprintf("%d [%s]", j.Status.Succeeded, j.Status.CompletedIndexes); got != want || fmt.Sprint(types) != "[SuccessCriteriaMet Complete]" ||
			j.Status.CompletionTime == nil || j.Status.Active != 0 {
			t.Errorf("%s: got %s, want %s; status %+v", name, got, want, j.Status)
		}
	}
	for _, p := range controllertest.List[*corev1.Pod](e, controllers.Pods, "default") {
		if len(p.Finalizers) != 0 {
			t.Errorf("%s still has finalizers %v", p.Name, p.Finalizers)
		}
	}
}

func TestAFailingJobWaitsThenGivesUp(t *testing.T) {
	limit := int32(1)
	j := job("j", 1, 1, func(j *batchv1.Job) { j.UID, j.Spec.BackoffLimit = "j-uid", &limit })
	failed := func(name string, at time.Time) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: []string{batchv1.JobTrackingFinalizer},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}},
			Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(at)}}}}},
		}
	}
	key := controllers.Key{Namespace: "default", Name: "j"}
	v := controllertest.NewView(t, j, failed("a", controllertest.Now))
	out := controllers.Job().Step(v, []controllers.Key{key})
	if at := out.Again[key]; !at.Equal(controllertest.Now.Add(10 * time.Second)) {
		t.Errorf("after one failure: called again at %v, want ten seconds later", at)
	}
	v = controllertest.NewView(t, j, failed("a", controllertest.Now), failed("b", controllertest.Now))
	out = controllers.Job().Step(v, []controllers.Key{key})
	now := v.Changed(out, controllers.Jobs, "default", "j").(*batchv1.Job)
	if c := now.Status.Conditions; len(c) != 1 || c[0].Type != batchv1.JobFailureTarget || c[0].Reason != "BackoffLimitExceeded" {
		t.Errorf("after two: conditions %+v", c)
	}
	if u := now.Status.UncountedTerminatedPods; len(u.Failed) != 2 {
		t.Errorf("uncounted: %+v", u)
	}
}

func TestCronJobStartsWhatIsDue(t *testing.T) {
	cj := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tick", UID: "tick-uid", CreationTimestamp: metav1.NewTime(controllertest.Now)},
		Spec:       batchv1.CronJobSpec{Schedule: "*/5 * * * *", ConcurrencyPolicy: batchv1.ForbidConcurrent},
	}
	key := controllers.Key{Namespace: "default", Name: "tick"}
	v := controllertest.NewView(t, cj)
	out := controllers.CronJob().Step(v, []controllers.Key{key})
	next := time.Date(2026, 1, 2, 3, 5, 0, 0, time.UTC)
	if len(out.Writes) != 0 || !out.Again[key].Equal(next) {
		t.Fatalf("before its time: writes %q, again at %v", v.Told(out), out.Again[key])
	}
	v.Time = next
	told := v.Told(controllers.CronJob().Step(v, []controllers.Key{key}))
	if len(told) != 3 || told[0] != fmt.Sprintf("create jobs tick-%d", next.Unix()/60) || told[2] != "  mutate cronjobs/status tick" {
		t.Errorf("at its time: got %q", told)
	}
	running := cj.DeepCopy()
	running.Status.Active = []corev1.ObjectReference{{Name: "tick-1", UID: "tick-1-uid"}}
	v = controllertest.NewView(t, running, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tick-1", UID: "tick-1-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cj, batchv1.SchemeGroupVersion.WithKind("CronJob"))}}})
	v.Time = next
	told = v.Told(controllers.CronJob().Step(v, []controllers.Key{key}))
	if len(told) != 1 || told[0] != "event Normal JobAlreadyActive: Not starting job because prior execution is running and concurrency policy is Forbid" {
		t.Errorf("while one runs: got %q", told)
	}
}

func TestAJobInACronJobsNameIsToldAndCounted(t *testing.T) {
	suspend, end := true, metav1.NewTime(controllertest.Now)
	cj := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tick", UID: "tick-uid"},
		Spec: batchv1.CronJobSpec{Suspend: &suspend}, Status: batchv1.CronJobStatus{Active: []corev1.ObjectReference{{Name: "lost", UID: "lost-uid"}}}}
	byHand := job("by-hand", 1, 1, func(j *batchv1.Job) {
		j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cj, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	})
	done := byHand.DeepCopy()
	done.Name, done.UID, done.Status.CompletionTime = "done", "done-uid", &end
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	v := controllertest.NewView(t, cj, byHand, done)
	out := controllers.CronJob().Step(v, []controllers.Key{{Namespace: "default", Name: "tick"}})
	want := []string{"event Warning UnexpectedJob: Saw a job that the controller did not create or forgot: by-hand",
		"event Normal MissingJob: Active job went missing: lost", "mutate cronjobs/status tick"}
	if told := v.Told(out); !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
	s := v.Changed(out, controllers.CronJobs, "default", "tick").(*batchv1.CronJob).Status
	if len(s.Active) != 0 || !s.LastSuccessfulTime.Equal(&end) {
		t.Errorf("status: %+v", s)
	}
}
