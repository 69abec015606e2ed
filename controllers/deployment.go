package controllers

import (
	"fmt"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The Deployment controller moves pods from old ReplicaSets to the one that has
// the Deployment's template. Key: a Deployment. Woken by it, by its ReplicaSets and, for
// strategy Recreate, by the end of its pods.
//
// A step works on copies (rollout): it changes them as if its writes had been
// made, so that one step can scale up, scale down and report at once. The
// status is written once, at the end. What a rollout has not reached yet the next
// step does: every write here wakes the key again.

var deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Deployment is deployment-controller.
func Deployment() Controller {
	return Controller{
		Name: "deployment-controller",
		Keys: keyMap{
			Deployments: itself,
			ReplicaSets: replicaSetOwnerKeys,
			Pods:        endedPodKeys,
		},
		Step: stepDeployments,
	}
}

// replicaSetOwnerKeys finds a ReplicaSet's Deployment, or those that may adopt it.
func replicaSetOwnerKeys(v View, c Object) []Key {
	keys := ownerKeys(c, "Deployment")
	if !strayed(c) || len(accessor(c.Now).GetLabels()) == 0 {
		return keys
	}
	set := labels.Set(accessor(c.Now).GetLabels())
	for _, d := range typed[*appsv1.Deployment](v.List(Deployments, accessor(c.Now).GetNamespace(), nil)) {
		s := selectorOf(d.Spec.Selector)
		if !s.Empty() && s.Matches(set) {
			keys = append(keys, NameKey(d))
		}
	}
	return keys
}

// endedPodKeys finds the Deployment that waits for old pods to be gone.
func endedPodKeys(v View, c Object) []Key {
	if c.Now != nil {
		return nil
	}
	var keys []Key
	for _, k := range ownerKeys(c, "ReplicaSet") {
		rs := get[*appsv1.ReplicaSet](v, ReplicaSets, k.Namespace, k.Name)
		if rs == nil {
			continue
		}
		if ref := controllerOf(rs); ref != nil && ref.Kind == "Deployment" {
			d := get[*appsv1.Deployment](v, Deployments, k.Namespace, ref.Name)
			if d != nil && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
				keys = append(keys, NameKey(d))
			}
		}
	}
	return keys
}

func stepDeployments(v View, keys []Key) Outcome {
	var out Outcome
	for _, k := range keys {
		d := get[*appsv1.Deployment](v, Deployments, k.Namespace, k.Name)
		if d == nil || d.Spec.Replicas == nil {
			continue
		}
		r := &rollout{v: v, key: k, stored: d, d: d.DeepCopy(), now: metav1.NewTime(v.Now()), out: &out}
		r.step()
	}
	return out
}

// rollout is one step of one Deployment.
type rollout struct {
	v      View
	key    Key
	now    metav1.Time
	stored *appsv1.Deployment   // as it is
	d      *appsv1.Deployment   // as it will be
	sets   []*appsv1.ReplicaSet // its ReplicaSets as they will be, oldest first
	latest *appsv1.ReplicaSet   // the one with the Deployment's template, nil when there is none
	out    *Outcome
}

// step decides what kind of step this is.
func (r *rollout) step() {
	if equality.Semantic.DeepEqual(r.d.Spec.Selector, &metav1.LabelSelector{}) {
		r.tell(corev1.EventTypeWarning, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
		r.d.Status.ObservedGeneration = r.d.Generation
		r.storeStatus()
		return
	}
	r.claim()
	if r.d.DeletionTimestamp != nil {
		r.syncRevision(mayNotCreate)
		r.d.Status = r.count()
		r.storeStatus()
		return
	}
	r.notePause()
	switch {
	case r.d.Spec.Paused:
		r.rescale()
	case rollbackTarget(r.d) != nil:
		r.rollback()
	case r.scaled():
		r.rescale()
	case r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		r.recreate()
	default:
		r.roll()
	}
}

// claim reads the Deployment's ReplicaSets, adopting and letting go as it must.
func (r *rollout) claim() {
	selector := selectorOf(r.d.Spec.Selector)
	seen := map[string]bool{}
	for _, rs := range typed[*appsv1.ReplicaSet](r.v.Owned(ReplicaSets, r.d.UID)) {
		if !metav1.IsControlledBy(rs, r.d) {
			continue
		}
		seen[rs.Name] = true
		if selector.Matches(labels.Set(rs.Labels)) {
			r.sets = append(r.sets, rs.DeepCopy())
		} else if r.d.DeletionTimestamp == nil {
			r.write(release(r.key, ReplicaSets, rs, r.d.UID))
		}
	}
	if r.d.DeletionTimestamp == nil {
		for _, rs := range typed[*appsv1.ReplicaSet](r.v.List(ReplicaSets, r.d.Namespace, selector)) {
			if controllerOf(rs) == nil && rs.DeletionTimestamp == nil && !seen[rs.Name] {
				r.write(adoption(r.key, ReplicaSets, rs, controllerRef(r.d, deploymentKind)))
				r.sets = append(r.sets, rs.DeepCopy())
			}
		}
	}
	sort.SliceStable(r.sets, func(i, j int) bool { return olderSet(r.sets[i], r.sets[j]) })
}

// olderSet orders ReplicaSets by age, then by name.
func olderSet(a, b *appsv1.ReplicaSet) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// old gives the ReplicaSets with another template, oldest first.
func (r *rollout) old() []*appsv1.ReplicaSet {
	var old []*appsv1.ReplicaSet
	for _, rs := range r.sets {
		if rs != r.latest {
			old = append(old, rs)
		}
	}
	return old
}

// active keeps the ReplicaSets that want pods.
func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, rs := range sets {
		if rs != nil && *rs.Spec.Replicas > 0 {
			out = append(out, rs)
		}
	}
	return out
}

// write adds a write to the step's outcome.
func (r *rollout) write(w ...Write) { r.out.Writes = append(r.out.Writes, w...) }

// told makes the write of an event about the Deployment.
func (r *rollout) told(eventType, reason, message string) Write {
	return record(r.key, "deployment-controller", Reference(r.stored, deploymentKind), eventType, reason, message)
}

// tell records an event about the Deployment.
func (r *rollout) tell(eventType, reason, message string) {
	r.write(r.told(eventType, reason, message))
}

// scaleSet makes the write that gives a ReplicaSet another size, and says
// whether the size changed. With force it also keeps the annotations right that tell a later scaling
// what the Deployment's size was.
func (r *rollout) scaleSet(rs *appsv1.ReplicaSet, size int32, force bool) bool {
	from := *rs.Spec.Replicas
	desired, most := *r.d.Spec.Replicas, *r.d.Spec.Replicas+maxSurge(r.d)
	if from == size && (!force || !setReplicasAnnotations(rs.DeepCopy(), desired, most)) {
		return false
	}
	w := mutation(r.key, ReplicaSets, "", rs.DeepCopy(), func(now *appsv1.ReplicaSet) error {
		if now.Spec.Replicas != nil && *now.Spec.Replicas != from {
			return conflict(ReplicaSets, now.Name, "someone else scaled it")
		}
		now.Spec.Replicas = &size
		setReplicasAnnotations(now, desired, most)
		return nil
	})
	*rs.Spec.Replicas = size
	setReplicasAnnotations(rs, desired, most)
	r.write(w)
	if from == size {
		return false
	}
	direction := "up"
	if size < from {
		direction = "down"
	}
	r.tell(corev1.EventTypeNormal, "ScalingReplicaSet", fmt.Sprintf("Scaled %s replica set %s from %d to %d", direction, rs.Name, from, size))
	return true
}
