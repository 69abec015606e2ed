package controllers

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// The CronJob controller creates a Job each time that a schedule is due. Key: a
// CronJob. Woken by it and its Jobs; it asks to be called at the next time of the schedule.
//
// The name of a Job is made of the time that it is for, so that no time gets two.

// mostMissed is how many missed times are looked through before the controller gives up counting.
const mostMissed = 100

var cronJobKind = batchv1.SchemeGroupVersion.WithKind("CronJob")

// CronJob is cronjob-controller.
func CronJob() Controller {
	return Controller{
		Name: "cronjob-controller",
		Keys: keyMap{
			CronJobs: itself,
			Jobs:     func(_ View, c Object) []Key { return ownerKeys(c, "CronJob") },
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if cj := get[*batchv1.CronJob](v, CronJobs, k.Namespace, k.Name); cj != nil {
					(&cronStep{v: v, k: k, cj: cj, status: *cj.Status.DeepCopy(), out: &out}).step()
				}
			}
			return out
		},
	}
}

// cronStep is one step of one CronJob.
type cronStep struct {
	v      View
	k      Key
	cj     *batchv1.CronJob
	status batchv1.CronJobStatus
	out    *Outcome
}

func (s *cronStep) write(w ...Write) { s.out.Writes = append(s.out.Writes, w...) }

func (s *cronStep) tell(eventType, reason, message string) {
	s.write(record(s.k, "cronjob-controller", Reference(s.cj, cronJobKind), eventType, reason, message))
}

func (s *cronStep) step() {
	var jobs []*batchv1.Job
	for _, j := range typed[*batchv1.Job](s.v.Owned(Jobs, s.cj.UID)) {
		if metav1.IsControlledBy(j, s.cj) {
			jobs = append(jobs, j)
		}
	}
	s.reconcileActive(jobs)
	s.forgetOld(jobs)
	if s.cj.DeletionTimestamp == nil && (s.cj.Spec.Suspend == nil || !*s.cj.Spec.Suspend) {
		s.schedule(jobs)
	}
	s.storeStatus()
}

// reconcileActive drops finished and vanished Jobs from status.active. A Job that somebody else made in the CronJob's name is
// told of while it runs, and counts when it succeeds.
func (s *cronStep) reconcileActive(jobs []*batchv1.Job) {
	known, running := map[types.UID]bool{}, map[types.UID]bool{}
	for _, ref := range s.status.Active {
		known[ref.UID] = true
	}
	for _, j := range jobs {
		switch ended := finalCondition(j); {
		case ended == "" && !known[j.UID]:
			s.tell(corev1.EventTypeWarning, "UnexpectedJob", "Saw a job that the controller did not create or forgot: "+j.Name)
		case ended == "":
			running[j.UID] = true
		case known[j.UID]:
			s.tell(corev1.EventTypeNormal, "SawCompletedJob", fmt.Sprintf("Saw completed job: %s, condition: %s", j.Name, ended))
			fallthrough
		case ended == batchv1.JobComplete:
			if end := j.Status.CompletionTime; ended == batchv1.JobComplete && (s.status.LastSuccessfulTime == nil || s.status.LastSuccessfulTime.Before(end)) {
				s.status.LastSuccessfulTime = end
			}
		}
		delete(known, j.UID)
	}
	s.status.Active = slices.DeleteFunc(slices.Clone(s.status.Active), func(ref corev1.ObjectReference) bool {
		if known[ref.UID] {
			s.tell(corev1.EventTypeNormal, "MissingJob", "Active job went missing: "+ref.Name)
		}
		return !running[ref.UID]
	})
}

// finalCondition is how a Job ended.
func finalCondition(j *batchv1.Job) batchv1.JobConditionType {
	for _, c := range j.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

// forgetOld deletes finished Jobs beyond the history limits, the oldest first.
func (s *cronStep) forgetOld(jobs []*batchv1.Job) {
	for t, limit := range map[batchv1.JobConditionType]*int32{batchv1.JobComplete: s.cj.Spec.SuccessfulJobsHistoryLimit, batchv1.JobFailed: s.cj.Spec.FailedJobsHistoryLimit} {
		if limit == nil {
			continue
		}
		var done []*batchv1.Job
		for _, j := range jobs {
			if finalCondition(j) == t && j.DeletionTimestamp == nil {
				done = append(done, j)
			}
		}
		sort.SliceStable(done, func(i, j int) bool { return done[i].CreationTimestamp.Before(&done[j].CreationTimestamp) })
		for i := 0; i < len(done)-int(*limit); i++ {
			w := deletion(s.k, Jobs, done[i])
			w.Propagation = string(metav1.DeletePropagationBackground)
			w.Done = func(runtime.Object) []Write {
				return []Write{record(s.k, "cronjob-controller", Reference(s.cj, cronJobKind), corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job "+done[i].Name)}
			}
			s.write(w)
		}
	}
}

// schedule creates the Job of the last time that is due, if any, and asks for the next.
func (s *cronStep) schedule(jobs []*batchv1.Job) {
	spec := s.cj.Spec.Schedule
	if zone := s.cj.Spec.TimeZone; zone != nil {
		if _, err := time.LoadLocation(*zone); err != nil {
			s.tell(corev1.EventTypeWarning, "UnknownTimeZone", fmt.Sprintf("invalid timeZone: %q: %s", *zone, err))
			return
		}
		spec = "TZ=" + *zone + " " + spec
	}
	plan, err := cron.ParseStandard(spec)
	if err != nil {
		s.tell(corev1.EventTypeWarning, "UnparseableSchedule", fmt.Sprintf("unparseable schedule: %q : %s", s.cj.Spec.Schedule, err))
		return
	}
	now := s.v.Now()
	s.out.again(s.k, plan.Next(now))
	due := s.due(plan, now)
	if due.IsZero() || (s.status.LastScheduleTime != nil && s.status.LastScheduleTime.Time.Equal(due)) {
		return
	}
	if d := s.cj.Spec.StartingDeadlineSeconds; d != nil && due.Add(time.Duration(*d)*time.Second).Before(now) {
		s.tell(corev1.EventTypeWarning, "MissSchedule", "Missed scheduled time to start a job: "+due.UTC().Format(time.RFC1123Z))
		return
	}
	if len(s.status.Active) > 0 {
		switch s.cj.Spec.ConcurrencyPolicy {
		case batchv1.ForbidConcurrent:
			s.tell(corev1.EventTypeNormal, "JobAlreadyActive", "Not starting job because prior execution is running and concurrency policy is Forbid")
			return
		case batchv1.ReplaceConcurrent:
			s.replace(jobs)
		}
	}
	s.create(due)
}

// due is the last time of the schedule that has passed since the last Job; zero when there is none.
func (s *cronStep) due(plan cron.Schedule, now time.Time) time.Time {
	from := s.cj.CreationTimestamp.Time
	if s.status.LastScheduleTime != nil {
		from = s.status.LastScheduleTime.Time
	}
	if d := s.cj.Spec.StartingDeadlineSeconds; d != nil {
		if limit := now.Add(-time.Duration(*d) * time.Second); limit.After(from) {
			from = limit
		}
	}
	last, missed := time.Time{}, 0
	for t := plan.Next(from); !t.IsZero() && !t.After(now); t = plan.Next(t) {
		last = t
		if missed++; missed == mostMissed {
			s.tell(corev1.EventTypeWarning, "TooManyMissedTimes", "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew")
		}
		if missed > mostMissed { // leap: the exact time is near now anyway
			if near := now.Add(-24 * time.Hour); near.After(t) {
				t = near
			}
		}
	}
	return last
}

// replace deletes the Jobs that run.
func (s *cronStep) replace(jobs []*batchv1.Job) {
	for _, j := range jobs {
		if jobEnd(j).IsZero() && j.DeletionTimestamp == nil {
			w := deletion(s.k, Jobs, j)
			w.Propagation = string(metav1.DeletePropagationBackground)
			s.write(w)
		}
	}
	s.status.Active = nil
}

// create makes the Job for a time. Its uid is known afterwards only, so the status is stored by what follows the create.
func (s *cronStep) create(due time.Time) {
	t := s.cj.Spec.JobTemplate.DeepCopy()
	annotations := maps.Clone(t.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = due.Format(time.RFC3339)
	at := metav1.NewTime(due)
	w := creation(s.k, Jobs, &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.cj.Name + "-" + strconv.FormatInt(due.Unix()/60, 10), Namespace: s.cj.Namespace,
			Labels: t.Labels, Annotations: annotations, CreationTimestamp: at,
			OwnerReferences: []metav1.OwnerReference{controllerRef(s.cj, cronJobKind)},
		},
		Spec: t.Spec,
	})
	status := *s.status.DeepCopy()
	status.LastScheduleTime = &at
	about := Reference(s.cj, cronJobKind)
	w.Done = func(obj runtime.Object) []Write {
		ref := Reference(obj, jobKind)
		status.Active = append(status.Active, ref)
		return []Write{
			record(s.k, "cronjob-controller", about, corev1.EventTypeNormal, "SuccessfulCreate", "Created job "+ref.Name),
			s.statusWrite(status),
		}
	}
	w.Ignore = func(err error) bool { return There(err) || terminating(err) }
	w.Failed = func(err error) []Write {
		return []Write{record(s.k, "cronjob-controller", about, corev1.EventTypeWarning, "FailedCreate", "Error creating job: "+err.Error())}
	}
	s.storeStatus()
	s.write(w)
	s.cj = s.cj.DeepCopy()
	s.cj.Status = s.status // what is stored already
}

func (s *cronStep) statusWrite(status batchv1.CronJobStatus) Write {
	return mutation(s.k, CronJobs, "status", s.cj, func(now *batchv1.CronJob) error {
		now.Status = *status.DeepCopy()
		return nil
	})
}

// storeStatus makes the write of the status, when it changed.
func (s *cronStep) storeStatus() {
	if !equality.Semantic.DeepEqual(s.status, s.cj.Status) {
		s.write(s.statusWrite(s.status))
	}
}
