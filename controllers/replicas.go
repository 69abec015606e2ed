package controllers

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Keeping a number of pods, which ReplicaSets and ReplicationControllers do alike.
// A step of one of them (replicaCount.step) claims its pods, creates or deletes some,
// and says what its status should be. The two differ in replicaCount.write only.

// burst is how many pods one step creates or deletes at most.
const burst = 500

// replicaCount is a ReplicaSet, or a ReplicationController seen as one.
type replicaCount struct {
	set       *appsv1.ReplicaSet // shared: not to be changed
	gvk       schema.GroupVersionKind
	gr        schema.GroupResource
	component string // of events
	countGone bool   // report terminating pods
	selector  labels.Selector
	// write makes the write that stores a status.
	write func(status appsv1.ReplicaSetStatus) Write
	// related gives the pods that stand beside these (those of the other ReplicaSets of a Deployment).
	related func() []*corev1.Pod
}

// step decides for one owner.
func (rc *replicaCount) step(v View, k Key, out *Outcome) {
	pods, terminating := rc.claim(v, k, out)
	if rc.set.DeletionTimestamp == nil {
		rc.adjust(v, k, pods, terminating, out)
	}
	now := v.Now()
	status := rc.status(pods, terminating, nil, now)
	if !sameReplicaStatus(rc.set, status) {
		out.Writes = append(out.Writes, rc.write(status))
	}
	rc.wakeForAvailability(k, pods, now, out)
}

// claim gives the active pods that are the owner's, adopting those that match
// and have no owner, and letting go of those that no longer match; and those that are on their way out.
func (rc *replicaCount) claim(v View, k Key, out *Outcome) (active, terminating []*corev1.Pod) {
	owned := typed[*corev1.Pod](v.Owned(Pods, rc.set.UID))
	for _, p := range owned {
		ref := controllerOf(p)
		if ref == nil || ref.UID != rc.set.UID {
			continue
		}
		fits := rc.selector.Matches(labels.Set(p.Labels))
		switch {
		case podTerminating(p) && fits:
			terminating = append(terminating, p)
		case podActive(p) && fits:
			active = append(active, p)
		case podActive(p) && rc.set.DeletionTimestamp == nil:
			out.Writes = append(out.Writes, release(k, Pods, p, rc.set.UID))
		}
	}
	if rc.set.DeletionTimestamp != nil || rc.selector.Empty() {
		return active, terminating
	}
	for _, p := range typed[*corev1.Pod](v.List(Pods, rc.set.Namespace, rc.selector)) {
		if podActive(p) && controllerOf(p) == nil {
			out.Writes = append(out.Writes, adoption(k, Pods, p, controllerRef(rc.set, rc.gvk)))
			active = append(active, p)
		}
	}
	return active, terminating
}

// adjust creates or deletes pods.
func (rc *replicaCount) adjust(v View, k Key, pods, terminating []*corev1.Pod, out *Outcome) {
	diff := len(pods) - int(*rc.set.Spec.Replicas)
	failed := func(reason string, err error) []Write {
		status := rc.status(pods, terminating, &appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: reason, Message: err.Error(),
			LastTransitionTime: metav1.NewTime(v.Now()),
		}, v.Now())
		return []Write{rc.write(status)}
	}
	if diff < 0 {
		out.Writes = append(out.Writes, rc.creates(k, min(-diff, burst), func(err error) []Write { return failed("FailedCreate", err) })...)
	}
	if diff > 0 {
		doomed := rc.choose(pods, min(diff, burst), v.Now())
		out.Writes = append(out.Writes, rc.deletes(k, doomed, func(err error) []Write { return failed("FailedDelete", err) })...)
	}
}

// creates makes n pods in batches of 1, 2, 4 and so on: when the first is refused
// (a quota), the others are not even tried.
func (rc *replicaCount) creates(k Key, n int, failed func(error) []Write) []Write {
	about := Reference(rc.set, rc.gvk)
	ref := controllerRef(rc.set, rc.gvk)
	var writes []Write
	for size, left := 1, n; left > 0; size *= 2 {
		for i := range min(size, left) {
			w := creation(k, Pods, podFromTemplate(&rc.set.Spec.Template, rc.set, ref))
			w.Beside = i > 0
			w.Ignore = terminating
			w.Done = func(pod runtime.Object) []Write {
				return []Write{record(k, rc.component, about, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+accessor(pod).GetName())}
			}
			w.Failed = func(err error) []Write {
				told := record(k, rc.component, about, corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
				return append([]Write{told}, failed(err)...)
			}
			writes = append(writes, w)
		}
		left -= min(size, left)
	}
	return writes
}

// choose picks the n pods that are missed least.
func (rc *replicaCount) choose(pods []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	crowd := map[string]int{}
	for _, p := range rc.related() {
		if podActive(p) {
			crowd[p.Spec.NodeName]++
		}
	}
	ranked := append([]*corev1.Pod(nil), pods...)
	rankForDeletion(ranked, crowd, now)
	return ranked[:n]
}

// deletes makes the writes that delete pods.
func (rc *replicaCount) deletes(k Key, pods []*corev1.Pod, failed func(error) []Write) []Write {
	about := Reference(rc.set, rc.gvk)
	var writes []Write
	for i, p := range pods {
		w := deletion(k, Pods, p)
		w.Beside = i > 0
		w.Done = func(runtime.Object) []Write {
			return []Write{record(k, rc.component, about, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: "+p.Name)}
		}
		w.Failed = func(err error) []Write {
			told := record(k, rc.component, about, corev1.EventTypeWarning, "FailedDelete", "Error deleting: "+err.Error())
			return append([]Write{told}, failed(err)...)
		}
		writes = append(writes, w)
	}
	return writes
}

// status counts. failure is the condition to set; nil removes it.
func (rc *replicaCount) status(pods, terminating []*corev1.Pod, failure *appsv1.ReplicaSetCondition, now time.Time) appsv1.ReplicaSetStatus {
	s := appsv1.ReplicaSetStatus{Replicas: int32(len(pods)), ObservedGeneration: rc.set.Generation}
	if gone := int32(len(terminating)); rc.countGone {
		s.TerminatingReplicas = &gone
	}
	full := labels.SelectorFromSet(rc.set.Spec.Template.Labels)
	for _, p := range pods {
		if full.Matches(labels.Set(p.Labels)) {
			s.FullyLabeledReplicas++
		}
		if podReady(p) {
			s.ReadyReplicas++
		}
		if podAvailable(p, rc.set.Spec.MinReadySeconds, now) {
			s.AvailableReplicas++
		}
	}
	for _, c := range rc.set.Status.Conditions {
		if c.Type != appsv1.ReplicaSetReplicaFailure {
			s.Conditions = append(s.Conditions, c)
		} else if failure != nil {
			failure = &c // the first failure stays until it is over
		}
	}
	if failure != nil {
		s.Conditions = append(s.Conditions, *failure)
	}
	return s
}

// wakeForAvailability asks to be called when the next ready pod becomes available.
func (rc *replicaCount) wakeForAvailability(k Key, pods []*corev1.Pod, now time.Time, out *Outcome) {
	if rc.set.Spec.MinReadySeconds == 0 {
		return
	}
	for _, p := range pods {
		if !podReady(p) {
			continue
		}
		at := availableAt(p, rc.set.Spec.MinReadySeconds)
		if at.After(now) {
			out.again(k, at)
		}
	}
}

// again asks for the earliest of the times that a key was asked for.
func (o *Outcome) again(k Key, at time.Time) {
	if o.Again == nil {
		o.Again = map[Key]time.Time{}
	}
	if old, ok := o.Again[k]; !ok || at.Before(old) {
		o.Again[k] = at
	}
}

// sameReplicaStatus says that there is nothing to store.
func sameReplicaStatus(set *appsv1.ReplicaSet, s appsv1.ReplicaSetStatus) bool {
	old := set.Status
	if old.Replicas != s.Replicas || old.FullyLabeledReplicas != s.FullyLabeledReplicas || old.ReadyReplicas != s.ReadyReplicas ||
		old.AvailableReplicas != s.AvailableReplicas || old.ObservedGeneration != s.ObservedGeneration || len(old.Conditions) != len(s.Conditions) {
		return false
	}
	if (old.TerminatingReplicas == nil) != (s.TerminatingReplicas == nil) ||
		(s.TerminatingReplicas != nil && *old.TerminatingReplicas != *s.TerminatingReplicas) {
		return false
	}
	for i := range s.Conditions {
		a, b := old.Conditions[i], s.Conditions[i]
		if a.Type != b.Type || a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message {
			return false
		}
	}
	return true
}

// podOwnerKeys maps changes of pods to the owners of a kind: the one that
// controls it (or did), or those that may adopt it.
func podOwnerKeys(kind string, adopters func(v View, pod *corev1.Pod) []Key) KeysFunc {
	return func(v View, c Object) []Key {
		keys := ownerKeys(c, kind)
		if len(keys) == 0 && strayed(c) {
			if pod, ok := c.Now.(*corev1.Pod); ok && len(pod.Labels) > 0 {
				return adopters(v, pod)
			}
		}
		if c.Now != nil && len(keys) > 0 && strayed(c) { // let go of: another may want it
			if pod, ok := c.Now.(*corev1.Pod); ok {
				keys = append(keys, adopters(v, pod)...)
			}
		}
		return keys
	}
}
