package controllers

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// The Job controller runs pods until enough of them have succeeded. Key: a Job. Woken by it and its pods.
//
// A pod is counted exactly once, though it may be deleted at any time: it carries a
// finalizer; when it has ended, its uid goes into status.uncountedTerminatedPods (first write), then
// the finalizer goes (second), then the uid becomes a number (third, in the next step). Whatever
// is interrupted between two of them is seen in the next step.

const (
	jobFinalizer    = batchv1.JobTrackingFinalizer
	jobBackoffFirst = 10 * time.Second // after a failed pod, doubled for each in a row
	jobBackoffMost  = 10 * time.Minute
)

var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// Job is job-controller.
func Job() Controller {
	return Controller{
		Name: "job-controller",
		Keys: keyMap{
			Jobs: itself,
			Pods: podOwnerKeys("Job", func(v View, pod *corev1.Pod) []Key {
				var keys []Key
				for _, j := range typed[*batchv1.Job](v.List(Jobs, pod.Namespace, nil)) {
					if s := selectorOf(j.Spec.Selector); !s.Empty() && s.Matches(labels.Set(pod.Labels)) {
						keys = append(keys, NameKey(j))
					}
				}
				return keys
			}),
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if j := get[*batchv1.Job](v, Jobs, k.Namespace, k.Name); j != nil {
					(&jobStep{v: v, k: k, job: j, status: *j.Status.DeepCopy(), now: metav1.NewTime(v.Now()), out: &out}).step()
				} else {
					releaseJobPods(v, k, &out)
				}
			}
			return out
		},
	}
}

// jobStep is one step of one Job.
type jobStep struct {
	v      View
	k      Key
	job    *batchv1.Job
	status batchv1.JobStatus // as it will be
	now    metav1.Time
	out    *Outcome

	pods      []*corev1.Pod
	active    []*corev1.Pod
	succeeded int32         // counted or not
	failed    int32         // counted or not
	freed     []*corev1.Pod // whose finalizer may go
	told      []Write       // events, after the status
	indexes   map[int]bool  // completed ones, of an indexed Job
}

// step does one.
func (s *jobStep) step() {
	if s.job.Spec.ManagedBy != nil && *s.job.Spec.ManagedBy != "kubernetes.io/job-controller" {
		return
	}
	s.claim()
	if s.finished() {
		s.release()
		return
	}
	if s.job.Spec.BackoffLimitPerIndex != nil || s.job.Spec.SuccessPolicy != nil {
		s.write(record(s.k, "job-controller", Reference(s.job, jobKind), corev1.EventTypeWarning, "Unsupported",
			"spec.backoffLimitPerIndex and spec.successPolicy have no effect in kuberow: the job is not started"))
		return
	}
	if s.status.UncountedTerminatedPods == nil {
		s.status.UncountedTerminatedPods = &batchv1.UncountedTerminatedPods{}
	}
	if s.status.StartTime == nil && !s.suspended() {
		s.status.StartTime = &s.now
	}
	s.settle()
	s.count()
	verdict := s.judge()
	var pods []Write
	if verdict != nil {
		pods = s.deletePods(s.active)
	} else if s.job.DeletionTimestamp == nil {
		pods = s.manage()
		verdict = s.success()
		if verdict == nil {
			s.noteSuspension()
		}
	}
	s.enter(verdict)
	s.storeStatus()
	for i, p := range s.freed {
		w := s.unfinalized(p)
		w.Beside = i > 0
		s.write(w)
	}
	s.write(pods...)
}

func (s *jobStep) write(w ...Write) { s.out.Writes = append(s.out.Writes, w...) }

func (s *jobStep) suspended() bool { return s.job.Spec.Suspend != nil && *s.job.Spec.Suspend }

func (s *jobStep) indexed() bool {
	return s.job.Spec.CompletionMode != nil && *s.job.Spec.CompletionMode == batchv1.IndexedCompletion
}

// finished says that the Job has its final condition.
func (s *jobStep) finished() bool {
	for _, c := range s.job.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// claim reads the Job's pods, adopting those that match and have no owner.
func (s *jobStep) claim() {
	selector := selectorOf(s.job.Spec.Selector)
	for _, p := range typed[*corev1.Pod](s.v.Owned(Pods, s.job.UID)) {
		if metav1.IsControlledBy(p, s.job) {
			s.pods = append(s.pods, p)
		}
	}
	if s.job.DeletionTimestamp == nil && !selector.Empty() && s.job.Spec.ManualSelector != nil && *s.job.Spec.ManualSelector {
		for _, p := range typed[*corev1.Pod](s.v.List(Pods, s.job.Namespace, selector)) {
			if controllerOf(p) == nil && p.DeletionTimestamp == nil {
				s.write(adoption(s.k, Pods, p, controllerRef(s.job, jobKind)))
				s.pods = append(s.pods, p)
			}
		}
	}
}

// settle turns uids whose pod lost its finalizer (or is gone) into numbers.
func (s *jobStep) settle() {
	held := map[types.UID]bool{}
	for _, p := range s.pods {
		held[p.UID] = slices.Contains(p.Finalizers, jobFinalizer)
	}
	keep := func(uids []types.UID, counter *int32) []types.UID {
		var left []types.UID
		for _, uid := range uids {
			if held[uid] {
				left = append(left, uid)
			} else {
				*counter++
			}
		}
		return left
	}
	u := s.status.UncountedTerminatedPods
	u.Succeeded = keep(u.Succeeded, &s.status.Succeeded)
	u.Failed = keep(u.Failed, &s.status.Failed)
}

// count puts newly ended pods among the uncounted, and counts the others.
func (s *jobStep) count() {
	u := s.status.UncountedTerminatedPods
	s.indexes = parseIndexes(s.status.CompletedIndexes)
	ready, terminating := int32(0), int32(0)
	for _, p := range s.pods {
		switch {
		case podActive(p):
			s.active = append(s.active, p)
			if podReady(p) {
				ready++
			}
		case podTerminating(p):
			terminating++
		}
		if !slices.Contains(p.Finalizers, jobFinalizer) {
			continue
		}
		switch {
		case p.Status.Phase == corev1.PodSucceeded:
			s.freed = append(s.freed, p)
			if s.indexed() {
				if i, ok := completionIndex(p); ok && i < int(*s.job.Spec.Completions) {
					s.indexes[i] = true
				}
			} else if !slices.Contains(u.Succeeded, p.UID) {
				u.Succeeded = append(u.Succeeded, p.UID)
			}
		case p.Status.Phase == corev1.PodFailed || (p.DeletionTimestamp != nil && s.replacesTerminating()):
			s.freed = append(s.freed, p)
			if counts, _ := failurePolicy(s.job, p); counts && !slices.Contains(u.Failed, p.UID) {
				u.Failed = append(u.Failed, p.UID)
			}
		case s.job.DeletionTimestamp != nil:
			s.freed = append(s.freed, p)
		}
	}
	if s.indexed() {
		s.status.CompletedIndexes = formatIndexes(s.indexes)
		s.status.Succeeded = int32(len(s.indexes))
	}
	s.status.Ready, s.status.Terminating = &ready, &terminating
	s.succeeded = s.status.Succeeded + int32(len(u.Succeeded))
	s.failed = s.status.Failed + int32(len(u.Failed))
}

// replacesTerminating says that a pod on its way out counts as failed already.
func (s *jobStep) replacesTerminating() bool {
	return s.job.Spec.PodReplacementPolicy == nil || *s.job.Spec.PodReplacementPolicy == batchv1.TerminatingOrFailed
}

// condition makes one.
func (s *jobStep) condition(t batchv1.JobConditionType, reason, message string) *batchv1.JobCondition {
	return &batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: s.now, LastTransitionTime: s.now}
}

// judge decides whether the Job is over by what is known already: the interim condition of an earlier
// step, or a reason to fail.
func (s *jobStep) judge() *batchv1.JobCondition {
	for i := range s.status.Conditions {
		c := &s.status.Conditions[i]
		if (c.Type == batchv1.JobSuccessCriteriaMet || c.Type == batchv1.JobFailureTarget) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	for _, p := range s.pods {
		if p.Status.Phase == corev1.PodFailed {
			if _, why := failurePolicy(s.job, p); why != "" {
				return s.condition(batchv1.JobFailureTarget, batchv1.JobReasonPodFailurePolicy, why)
			}
		}
	}
	if s.failed > *s.job.Spec.BackoffLimit || s.restartedTooOften() {
		return s.condition(batchv1.JobFailureTarget, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit")
	}
	if limit := s.job.Spec.ActiveDeadlineSeconds; limit != nil && s.status.StartTime != nil && !s.suspended() {
		end := s.status.StartTime.Add(time.Duration(*limit) * time.Second)
		if !end.After(s.now.Time) {
			return s.condition(batchv1.JobFailureTarget, batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
		}
		s.out.again(s.k, end)
	}
	return nil
}

// restartedTooOften is the back-off limit of pods that restart in place.
func (s *jobStep) restartedTooOften() bool {
	if s.job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		return false
	}
	n := int32(0)
	for _, p := range s.active {
		for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for _, c := range list {
				n += c.RestartCount
			}
		}
	}
	if *s.job.Spec.BackoffLimit == 0 {
		return n > 0
	}
	return n >= *s.job.Spec.BackoffLimit
}

// success says that enough pods have succeeded and none runs any more.
func (s *jobStep) success() *batchv1.JobCondition {
	enough := s.succeeded > 0
	if s.job.Spec.Completions != nil {
		enough = s.succeeded >= *s.job.Spec.Completions
	}
	if !enough || s.status.Active > 0 {
		return nil
	}
	return s.condition(batchv1.JobSuccessCriteriaMet, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods")
}

// noteSuspension keeps the Suspended condition.
func (s *jobStep) noteSuspension() {
	i := slices.IndexFunc(s.status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
	was := i >= 0 && s.status.Conditions[i].Status == corev1.ConditionTrue
	if was == s.suspended() {
		return
	}
	c, reason := s.condition(batchv1.JobSuspended, "JobSuspended", "Job suspended"), "Suspended"
	if s.suspended() {
		s.status.StartTime = nil
	} else {
		c.Status, c.Reason, c.Message, reason = corev1.ConditionFalse, "JobResumed", "Job resumed", "Resumed"
		s.status.StartTime = &s.now
	}
	if i >= 0 {
		s.status.Conditions[i] = *c
	} else {
		s.status.Conditions = append(s.status.Conditions, *c)
	}
	s.told = append(s.told, record(s.k, "job-controller", Reference(s.job, jobKind), corev1.EventTypeNormal, reason, c.Message))
}

// enter puts a verdict into the status: first as the interim condition, and when no pod is left to
// be counted or to end, as the final one.
func (s *jobStep) enter(verdict *batchv1.JobCondition) {
	if verdict == nil {
		return
	}
	if !slices.ContainsFunc(s.status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == verdict.Type }) {
		s.status.Conditions = append(s.status.Conditions, *verdict)
	}
	u := s.status.UncountedTerminatedPods
	if len(u.Succeeded)+len(u.Failed)+len(s.active) > 0 || *s.status.Terminating > 0 {
		return
	}
	about := Reference(s.job, jobKind)
	if verdict.Type == batchv1.JobFailureTarget {
		s.status.Conditions = append(s.status.Conditions, *s.condition(batchv1.JobFailed, verdict.Reason, verdict.Message))
		s.told = append(s.told, record(s.k, "job-controller", about, corev1.EventTypeWarning, verdict.Reason, verdict.Message))
		return
	}
	s.status.Conditions = append(s.status.Conditions, *s.condition(batchv1.JobComplete, verdict.Reason, verdict.Message))
	s.status.CompletionTime = &s.now
	s.told = append(s.told, record(s.k, "job-controller", about, corev1.EventTypeNormal, "Completed", "Job completed"))
}

// storeStatus makes the write of the status, when it changed.
func (s *jobStep) storeStatus() {
	if !equality.Semantic.DeepEqual(s.status, s.job.Status) {
		status := s.status
		s.write(mutation(s.k, Jobs, "status", s.job, func(now *batchv1.Job) error {
			now.Status = *status.DeepCopy()
			return nil
		}))
	}
	s.write(s.told...)
}

// unfinalized makes the write that lets a pod go.
func (s *jobStep) unfinalized(p *corev1.Pod) Write { return withoutJobFinalizer(s.k, p) }

func withoutJobFinalizer(k Key, p *corev1.Pod) Write {
	w := mutation(k, Pods, "", p, func(now *corev1.Pod) error {
		now.Finalizers = slices.DeleteFunc(slices.Clone(now.Finalizers), func(f string) bool { return f == jobFinalizer })
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	return w
}

// release lets the pods of a finished Job go.
func (s *jobStep) release() {
	for _, p := range s.pods {
		if slices.Contains(p.Finalizers, jobFinalizer) && (podEnded(p) || p.DeletionTimestamp != nil) {
			s.write(s.unfinalized(p))
		}
	}
}

// releaseJobPods lets pods go whose Job is gone.
func releaseJobPods(v View, k Key, out *Outcome) {
	for _, p := range typed[*corev1.Pod](v.List(Pods, k.Namespace, labels.SelectorFromSet(labels.Set{batchv1.JobNameLabel: k.Name}))) {
		ref := controllerOf(p)
		if slices.Contains(p.Finalizers, jobFinalizer) && (ref == nil || !v.Alive(ref.UID)) {
			out.Writes = append(out.Writes, withoutJobFinalizer(k, p))
		}
	}
}
