package controllers

import (
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// The status of a Deployment: counts, and the conditions Available, Progressing and ReplicaFailure.

// findCondition finds a condition, nil when there is none.
func findCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range s.Conditions {
		if s.Conditions[i].Type == t {
			return &s.Conditions[i]
		}
	}
	return nil
}

// dropCondition removes one. The list is copied: others may share it.
func dropCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	var kept []appsv1.DeploymentCondition
	for _, c := range s.Conditions {
		if c.Type != t {
			kept = append(kept, c)
		}
	}
	s.Conditions = kept
}

// setCondition sets one, unless status and reason are what they were.
func (r *rollout) setCondition(s *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) {
	putCondition(s, appsv1.DeploymentCondition{
		Type: t, Status: status, Reason: reason, Message: message, LastUpdateTime: r.now, LastTransitionTime: r.now,
	})
}

// putCondition is setCondition with the times given.
func putCondition(s *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	old := findCondition(s, c.Type)
	if old != nil && old.Status == c.Status && old.Reason == c.Reason {
		return
	}
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	dropCondition(s, c.Type)
	s.Conditions = append(s.Conditions, c)
}

// hasDeadline says whether progress is watched.
func hasDeadline(d *appsv1.Deployment) bool {
	return d.Spec.ProgressDeadlineSeconds != nil && *d.Spec.ProgressDeadlineSeconds != math.MaxInt32
}

// count computes the status but for Progressing and ReplicaFailure.
func (r *rollout) count() appsv1.DeploymentStatus {
	s := appsv1.DeploymentStatus{
		ObservedGeneration: r.d.Generation,
		CollisionCount:     r.d.Status.CollisionCount,
		AvailableReplicas:  available(r.sets),
	}
	s.Conditions = append(s.Conditions, r.d.Status.Conditions...)
	s.UnavailableReplicas = max(0, wanted(r.sets)-s.AvailableReplicas)
	gone, known := int32(0), true
	for _, rs := range r.sets {
		s.Replicas += rs.Status.Replicas
		s.ReadyReplicas += rs.Status.ReadyReplicas
		switch {
		case rs.Status.TerminatingReplicas != nil:
			gone += *rs.Status.TerminatingReplicas
		case rs.Status.ObservedGeneration != 0:
			known = false // a ReplicaSet that was looked at but does not say
		}
	}
	if known {
		s.TerminatingReplicas = &gone
	}
	if r.latest != nil {
		s.UpdatedReplicas = r.latest.Status.Replicas
	}
	if s.AvailableReplicas >= *r.d.Spec.Replicas-maxUnavailable(r.d) {
		r.setCondition(&s, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.setCondition(&s, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	return s
}

// complete says that a status shows the rollout's end.
func (r *rollout) complete(s *appsv1.DeploymentStatus) bool {
	want := *r.d.Spec.Replicas
	return s.UpdatedReplicas == want && s.Replicas == want && s.AvailableReplicas == want && s.ObservedGeneration >= r.d.Generation
}

// notePause marks the begin and the end of a pause, so that the time in it does not count against the deadline.
func (r *rollout) notePause() {
	c := findCondition(&r.d.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) || (c != nil && c.Reason == "ProgressDeadlineExceeded") {
		return
	}
	noted := c != nil && c.Reason == "DeploymentPaused"
	switch {
	case r.d.Spec.Paused && !noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused")
	case !r.d.Spec.Paused && noted:
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	}
}

// syncRollout computes the status in a rollout, with its progress.
func (r *rollout) syncRollout() {
	s := r.count()
	current := findCondition(&r.d.Status, appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) {
		dropCondition(&s, appsv1.DeploymentProgressing)
	} else if done := s.Replicas == s.UpdatedReplicas && current != nil && current.Reason == "NewReplicaSetAvailable"; !done {
		r.progress(&s, current)
	}
	if c := r.failure(); c != nil {
		putCondition(&s, *c)
	} else {
		dropCondition(&s, appsv1.DeploymentReplicaFailure)
	}
	r.wakeForDeadline(&s)
	r.d.Status = s
	r.storeStatus()
}

// progress sets the Progressing condition of a rollout that has not ended.
func (r *rollout) progress(s *appsv1.DeploymentStatus, current *appsv1.DeploymentCondition) {
	about := fmt.Sprintf("Deployment %q", r.d.Name)
	if r.latest != nil {
		about = fmt.Sprintf("ReplicaSet %q", r.latest.Name)
	}
	before := &r.d.Status
	switch {
	case r.complete(s):
		r.setCondition(s, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetAvailable", about+" has successfully progressed.")
	case s.UpdatedReplicas > before.UpdatedReplicas,
		s.Replicas-s.UpdatedReplicas < before.Replicas-before.UpdatedReplicas,
		s.ReadyReplicas > before.ReadyReplicas,
		s.AvailableReplicas > before.AvailableReplicas:
		c := appsv1.DeploymentCondition{
			Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated",
			Message: about + " is progressing.", LastUpdateTime: r.now, LastTransitionTime: r.now,
		}
		if current != nil && current.Status == corev1.ConditionTrue {
			c.LastTransitionTime = current.LastTransitionTime
		}
		dropCondition(s, appsv1.DeploymentProgressing) // so that the same reason gets a new lastUpdateTime
		putCondition(s, c)
	case r.timedOut(s):
		r.setCondition(s, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", about+" has timed out progressing.")
	}
}

// deadline is when the progress that was last seen is too long ago.
func (r *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second)
}

// timedOut says that there was no progress for too long.
func (r *rollout) timedOut(s *appsv1.DeploymentStatus) bool {
	c := findCondition(s, appsv1.DeploymentProgressing)
	if c == nil || c.Reason == "NewReplicaSetAvailable" {
		return false
	}
	return c.Reason == "ProgressDeadlineExceeded" || r.deadline(c).Before(r.now.Time)
}

// wakeForDeadline asks to be called when the deadline is over. A second more makes up for times being stored in seconds.
func (r *rollout) wakeForDeadline(s *appsv1.DeploymentStatus) {
	c := findCondition(s, appsv1.DeploymentProgressing)
	if !hasDeadline(r.d) || c == nil || c.Reason == "ProgressDeadlineExceeded" || r.complete(s) {
		return
	}
	at := r.deadline(c).Add(time.Second)
	if !at.After(r.now.Time) {
		at = r.now.Add(time.Second)
	}
	r.out.again(r.key, at)
}

// failure takes over a ReplicaSet's ReplicaFailure, the latest one's first.
func (r *rollout) failure() *appsv1.DeploymentCondition {
	sets := r.old()
	if r.latest != nil {
		sets = append([]*appsv1.ReplicaSet{r.latest}, sets...)
	}
	for _, rs := range sets {
		for _, c := range rs.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return &appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastUpdateTime: c.LastTransitionTime, LastTransitionTime: c.LastTransitionTime,
				}
			}
		}
	}
	return nil
}

// storeStatus makes the write of the status and the revision, when they changed.
func (r *rollout) storeStatus() {
	revision := r.d.Annotations[revisionAnnotation]
	if revision == r.stored.Annotations[revisionAnnotation] && equality.Semantic.DeepEqual(r.d.Status, r.stored.Status) {
		return
	}
	status := r.d.Status
	r.write(mutation(r.key, Deployments, "status", r.stored, func(now *appsv1.Deployment) error {
		now.Status = *status.DeepCopy()
		if revision != "" {
			if now.Annotations == nil {
				now.Annotations = map[string]string{}
			}
			now.Annotations[revisionAnnotation] = revision
		}
		return nil
	}))
}
