package batch

import (
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a Job's status. A rule over two fields is applied only when one of
// them changed in this write: an update that is about something else must pass
// even when an older server stored what is no longer allowed.

func isTrue(j *batchv1.Job, t batchv1.JobConditionType) bool {
	return hasCondition(j, t, corev1.ConditionTrue)
}

func hasCondition(j *batchv1.Job, t batchv1.JobConditionType, status corev1.ConditionStatus) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == t && c.Status == status {
			return true
		}
	}
	return false
}

func isFinished(j *batchv1.Job) bool {
	return isTrue(j, batchv1.JobComplete) || isTrue(j, batchv1.JobFailed)
}

// statusCheck is one update of a status under test.
type statusCheck struct {
	job, old *batchv1.Job
	path     *field.Path
	all      field.ErrorList
}

func validateJobStatus(_ *kinds.Context, j, old *batchv1.Job) field.ErrorList {
	c := &statusCheck{job: j, old: old, path: field.NewPath("status")}
	c.numbers()
	c.uncounted()
	c.conditions()
	c.finished()
	c.indexes()
	c.rest()
	c.transitions()
	return c.all
}

func (c *statusCheck) add(e *field.Error) { c.all = append(c.all, e) }

func (c *statusCheck) condition(detail string) {
	c.add(field.Invalid(c.path.Child("conditions"), field.OmitValueType{}, detail))
}

// changed tells whether the truth of a condition is another one than before.
func (c *statusCheck) changed(t batchv1.JobConditionType) bool {
	return isTrue(c.job, t) != isTrue(c.old, t)
}

func (c *statusCheck) numbers() {
	s := &c.job.Status
	number := func(name string, n int32) {
		c.all = append(c.all, common.NonNegative(int64(n), c.path.Child(name))...)
	}
	number("active", s.Active)
	number("succeeded", s.Succeeded)
	number("failed", s.Failed)
	if s.Ready != nil {
		number("ready", *s.Ready)
	}
	if s.Terminating != nil {
		number("terminating", *s.Terminating)
	}
}

func (c *statusCheck) uncounted() {
	u := c.job.Status.UncountedTerminatedPods
	if u == nil {
		return
	}
	seen := sets.New[types.UID]()
	for _, list := range []struct {
		name string
		uids []types.UID
	}{{"succeeded", u.Succeeded}, {"failed", u.Failed}} {
		for i, uid := range list.uids {
			path := c.path.Child("uncountedTerminatedPods", list.name).Index(i)
			if uid == "" {
				c.add(field.Invalid(path, uid, "must not be empty"))
			} else if seen.Has(uid) {
				c.add(field.Duplicate(path, uid))
			}
			seen.Insert(uid)
		}
	}
}

func (c *statusCheck) conditions() {
	j, s := c.job, &c.job.Status
	complete := isTrue(j, batchv1.JobComplete)
	completeChanged, failedChanged := c.changed(batchv1.JobComplete), c.changed(batchv1.JobFailed)
	if (completeChanged || failedChanged) && complete && isTrue(j, batchv1.JobFailed) {
		c.condition("cannot set Complete=True and Failed=true conditions")
	}
	if (completeChanged || c.changed(batchv1.JobFailureTarget)) && complete && isTrue(j, batchv1.JobFailureTarget) {
		c.condition("cannot set Complete=True and FailureTarget=true conditions")
	}
	startChanged := !s.StartTime.Equal(c.old.Status.StartTime)
	endChanged := !s.CompletionTime.Equal(c.old.Status.CompletionTime)
	end := c.path.Child("completionTime")
	if completeChanged || endChanged {
		if s.CompletionTime != nil && !complete {
			c.add(field.Invalid(end, s.CompletionTime, "cannot set completionTime when there is no Complete=True condition"))
		}
		if s.CompletionTime == nil && complete {
			c.add(field.Required(end, "completionTime is required for Complete jobs"))
		}
	}
	if (startChanged || endChanged) && s.StartTime != nil && s.CompletionTime != nil && s.CompletionTime.Before(s.StartTime) {
		c.add(field.Invalid(end, s.CompletionTime, "must be equal to or after `startTime`"))
	}
	if (failedChanged || c.failedIndexesChanged()) && isTrue(j, batchv1.JobFailed) && !isTrue(j, batchv1.JobFailureTarget) {
		c.condition("cannot set Failed=True condition without the FailureTarget=true condition")
	}
	if (completeChanged || c.changed(batchv1.JobSuccessCriteriaMet)) && complete && !isTrue(j, batchv1.JobSuccessCriteriaMet) {
		c.condition("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
	}
}

func (c *statusCheck) failedIndexesChanged() bool {
	return !common.Equal(c.job.Status.FailedIndexes, c.old.Status.FailedIndexes)
}

func (c *statusCheck) finished() {
	s, was := &c.job.Status, &c.old.Status
	if !isFinished(c.job) {
		return
	}
	changed := !isFinished(c.old)
	if (changed || s.Active != was.Active) && s.Active > 0 {
		c.add(field.Invalid(c.path.Child("active"), s.Active, "active>0 is invalid for finished job"))
	}
	spec := &c.job.Spec
	neverRan := spec.Suspend != nil && *spec.Suspend && spec.Completions != nil && *spec.Completions == 0
	if (changed || !s.StartTime.Equal(was.StartTime)) && !neverRan && s.StartTime == nil {
		c.add(field.Required(c.path.Child("startTime"), "startTime is required for finished job"))
	}
	u := s.UncountedTerminatedPods
	if (changed || !common.Equal(u, was.UncountedTerminatedPods)) && u != nil && len(u.Failed)+len(u.Succeeded) > 0 {
		c.add(field.Invalid(c.path.Child("uncountedTerminatedPods"), common.Internal(u), "must be empty for finished job"))
	}
}

func (c *statusCheck) indexes() {
	s, spec := &c.job.Status, &c.job.Spec
	completedChanged, failedChanged := s.CompletedIndexes != c.old.Status.CompletedIndexes, c.failedIndexesChanged()
	completed, failed := c.path.Child("completedIndexes"), c.path.Child("failedIndexes")
	if completedChanged && spec.Completions != nil {
		if _, err := indexList(s.CompletedIndexes, *spec.Completions); err != nil {
			c.add(field.Invalid(completed, s.CompletedIndexes, "error parsing completedIndexes: "+err.Error()))
		}
	}
	if failedChanged && spec.Completions != nil && spec.BackoffLimitPerIndex != nil && s.FailedIndexes != nil {
		if _, err := indexList(*s.FailedIndexes, *spec.Completions); err != nil {
			c.add(field.Invalid(failed, s.FailedIndexes, "error parsing failedIndexes: "+err.Error()))
		}
	}
	if completedChanged && s.CompletedIndexes != "" && !indexed(spec) {
		c.add(field.Invalid(completed, s.CompletedIndexes, "cannot set non-empty completedIndexes when non-indexed completion mode"))
	}
	if failedChanged && spec.BackoffLimitPerIndex == nil && s.FailedIndexes != nil {
		c.add(field.Invalid(failed, *s.FailedIndexes, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"))
	}
	if (failedChanged || completedChanged) && spec.Completions != nil && s.FailedIndexes != nil {
		if index, overlap := overlapping(s.CompletedIndexes, *s.FailedIndexes, *spec.Completions); overlap {
			c.add(field.Invalid(failed, *s.FailedIndexes, fmt.Sprintf("failedIndexes and completedIndexes overlap at index: %d", index)))
		}
	}
}

// overlapping finds the first index that two lists name. Parts that cannot be parsed are
// skipped, they are reported on their own.
func overlapping(a, b string, completions int32) (int32, bool) {
	if a == "" || b == "" {
		return 0, false
	}
	for _, x := range strings.Split(a, ",") {
		x1, x2, err := indexRange(x, completions)
		if err != nil {
			continue
		}
		for _, y := range strings.Split(b, ",") {
			y1, y2, err := indexRange(y, completions)
			if err == nil && x1 <= y2 && y1 <= x2 {
				return max(x1, y1), true
			}
		}
	}
	return 0, false
}

func (c *statusCheck) rest() {
	j, s, was := c.job, &c.job.Status, &c.old.Status
	ended := isFinished(j) != isFinished(c.old) || !common.Equal(s.Terminating, was.Terminating)
	if ended && s.Terminating != nil && *s.Terminating > 0 && isFinished(j) {
		c.add(field.Invalid(c.path.Child("terminating"), s.Terminating, "terminating>0 is invalid for finished job"))
	}
	if (!common.Equal(s.Ready, was.Ready) || s.Active != was.Active) && s.Ready != nil && *s.Ready > s.Active {
		c.add(field.Invalid(c.path.Child("ready"), *s.Ready, "cannot set more ready pods than active"))
	}
	met := isTrue(j, batchv1.JobSuccessCriteriaMet)
	if met && isTrue(j, batchv1.JobFailed) {
		c.condition("cannot set SuccessCriteriaMet=True and Failed=true conditions")
	}
	if met && isTrue(j, batchv1.JobFailureTarget) {
		c.condition("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
	}
	if j.Spec.SuccessPolicy != nil && !met && isTrue(j, batchv1.JobComplete) {
		c.condition("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")
	}
}

// transitions: what is over stays over, and counters only grow.
func (c *statusCheck) transitions() {
	j, s, was := c.job, &c.job.Status, &c.old.Status
	for _, t := range []batchv1.JobConditionType{batchv1.JobFailed, batchv1.JobComplete, batchv1.JobFailureTarget} {
		if isTrue(c.old, t) && !isTrue(j, t) {
			c.condition(fmt.Sprintf("cannot disable the terminal %s=True condition", t))
		}
	}
	if s.Failed < was.Failed {
		c.add(field.Invalid(c.path.Child("failed"), s.Failed, "cannot decrease the failed counter"))
	}
	// An indexed Job that scales both numbers together may be scaled down.
	scalable := indexed(&j.Spec) && common.Equal(j.Spec.Completions, j.Spec.Parallelism)
	if !scalable && s.Succeeded < was.Succeeded {
		c.add(field.Invalid(c.path.Child("succeeded"), s.Succeeded, "cannot decrease the succeeded counter"))
	}
	if s.CompletionTime != nil && was.CompletionTime != nil && !s.CompletionTime.Equal(was.CompletionTime) {
		c.add(field.Invalid(c.path.Child("completionTime"), s.CompletionTime, "field is immutable"))
	}
	c.startTime(s.StartTime, was.StartTime)
	if isTrue(c.old, batchv1.JobSuccessCriteriaMet) && !isTrue(j, batchv1.JobSuccessCriteriaMet) {
		c.condition("cannot disable the SuccessCriteriaMet=True condition")
	}
	if isTrue(c.old, batchv1.JobComplete) && !isTrue(c.old, batchv1.JobSuccessCriteriaMet) && isTrue(j, batchv1.JobSuccessCriteriaMet) {
		c.condition("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
	}
}

// startTime may be set, cleared while suspended, and set again when the Job goes on.
func (c *statusCheck) startTime(now, was *metav1.Time) {
	suspended := c.job.Spec.Suspend != nil && *c.job.Spec.Suspend
	resuming := isTrue(c.old, batchv1.JobSuspended) && hasCondition(c.job, batchv1.JobSuspended, corev1.ConditionFalse)
	if was != nil && !now.Equal(was) && !suspended && !resuming {
		c.add(field.Invalid(c.path.Child("startTime"), now, "field is immutable for unsuspended job once set"))
	}
}
