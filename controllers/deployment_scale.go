package controllers

import (
	"math"
	"sort"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// How a Deployment sizes its ReplicaSets: rolling from old to new within maxSurge and maxUnavailable,
// recreating, or, when the Deployment was scaled or is paused, in proportion.

// fences resolves maxSurge and maxUnavailable to numbers of pods. Both zero would block every rollout: then
// one pod may be unavailable.
func fences(d *appsv1.Deployment) (surge, unavailable int32) {
	u := d.Spec.Strategy.RollingUpdate
	if d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || u == nil {
		return 0, 0
	}
	zero := intstr.FromInt32(0)
	desired := int(*d.Spec.Replicas)
	s, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(u.MaxSurge, zero), desired, true)
	if err != nil {
		return 0, 0
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(u.MaxUnavailable, zero), desired, false)
	if err != nil {
		return 0, 0
	}
	if s == 0 && n == 0 {
		n = 1
	}
	return int32(s), int32(n)
}

// maxSurge is how many pods there may be beyond spec.replicas.
func maxSurge(d *appsv1.Deployment) int32 {
	surge, _ := fences(d)
	return surge
}

// maxUnavailable is how many of spec.replicas may be missing.
func maxUnavailable(d *appsv1.Deployment) int32 {
	_, unavailable := fences(d)
	return min(unavailable, *d.Spec.Replicas)
}

// wanted sums spec.replicas.
func wanted(sets []*appsv1.ReplicaSet) int32 {
	n := int32(0)
	for _, rs := range sets {
		n += *rs.Spec.Replicas
	}
	return n
}

// available sums status.availableReplicas.
func available(sets []*appsv1.ReplicaSet) int32 {
	n := int32(0)
	for _, rs := range sets {
		n += rs.Status.AvailableReplicas
	}
	return n
}

// newSize is how large the latest ReplicaSet may be now.
func (r *rollout) newSize(all []*appsv1.ReplicaSet, latest *appsv1.ReplicaSet) int32 {
	if r.d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return *r.d.Spec.Replicas
	}
	most := *r.d.Spec.Replicas + maxSurge(r.d)
	room := most - wanted(all)
	if room <= 0 {
		return *latest.Spec.Replicas
	}
	return *latest.Spec.Replicas + min(room, *r.d.Spec.Replicas-*latest.Spec.Replicas)
}

// roll is a step of a rolling update: up when there is room, else down when enough pods are available.
func (r *rollout) roll() {
	r.syncRevision(mayCreate)
	if r.latest == nil { // a hash collision
		r.storeStatus()
		return
	}
	if !r.rollUp() && !r.rollDown() && r.complete(&r.d.Status) {
		r.cleanUp()
	}
	r.syncRollout()
}

// rollUp scales the latest ReplicaSet.
func (r *rollout) rollUp() bool {
	size, want := *r.latest.Spec.Replicas, *r.d.Spec.Replicas
	switch {
	case size == want:
		return false
	case size > want:
		return r.scaleSet(r.latest, want, false)
	}
	return r.scaleSet(r.latest, r.newSize(r.sets, r.latest), false)
}

// rollDown scales old ReplicaSets: first what is unhealthy in them, then as far as availability allows.
func (r *rollout) rollDown() bool {
	old := active(r.old())
	if wanted(old) == 0 {
		return false
	}
	least := *r.d.Spec.Replicas - maxUnavailable(r.d)
	unready := *r.latest.Spec.Replicas - r.latest.Status.AvailableReplicas
	most := wanted(r.sets) - least - unready
	if most <= 0 {
		return false
	}
	down := int32(0)
	for _, rs := range old {
		if n := min(most-down, *rs.Spec.Replicas-rs.Status.AvailableReplicas); n > 0 {
			r.scaleSet(rs, *rs.Spec.Replicas-n, false)
			down += n
		}
	}
	left := available(append(old, r.latest)) - least
	for _, rs := range old {
		if n := min(left, *rs.Spec.Replicas); n > 0 {
			r.scaleSet(rs, *rs.Spec.Replicas-n, false)
			left -= n
			down += n
		}
	}
	return down > 0
}

// recreate is a step of strategy Recreate: all old pods end before the first new one begins.
func (r *rollout) recreate() {
	r.syncRevision(mayNotCreate)
	scaled := false
	for _, rs := range active(r.old()) {
		scaled = r.scaleSet(rs, 0, false) || scaled
	}
	if scaled || r.oldPodsRun() {
		r.syncRollout()
		return
	}
	if r.latest == nil {
		r.syncRevision(mayCreate)
	}
	if r.latest == nil {
		r.storeStatus()
		return
	}
	r.scaleSet(r.latest, *r.d.Spec.Replicas, false)
	if r.complete(&r.d.Status) {
		r.cleanUp()
	}
	r.syncRollout()
}

// oldPodsRun says whether pods of old ReplicaSets are left.
func (r *rollout) oldPodsRun() bool {
	for _, rs := range r.old() {
		if rs.Status.Replicas > 0 {
			return true
		}
		for _, p := range typed[*corev1.Pod](r.v.Owned(Pods, rs.UID)) {
			if !podEnded(p) {
				return true
			}
		}
	}
	return false
}

// scaled says whether spec.replicas is not what the active ReplicaSets were told.
func (r *rollout) scaled() bool {
	r.syncRevision(mayNotCreate)
	for _, rs := range active(r.sets) {
		if n, ok := sizeAnnotation(rs, desiredAnnotation); ok && n != *r.d.Spec.Replicas {
			return true
		}
	}
	return false
}

// rescale is the step of a Deployment that was scaled, or is paused: no rollout, only sizes.
func (r *rollout) rescale() {
	r.syncRevision(mayNotCreate)
	r.spread()
	if r.d.Spec.Paused && rollbackTarget(r.d) == nil {
		r.cleanUp()
	}
	r.d.Status = r.count()
	r.storeStatus()
}

// spread brings the ReplicaSets to the Deployment's size.
func (r *rollout) spread() {
	want := *r.d.Spec.Replicas
	if only := r.activeOrLatest(); only != nil {
		r.scaleSet(only, want, false)
		return
	}
	if len(r.sets) == 0 {
		return
	}
	if r.saturated() {
		for _, rs := range active(r.old()) {
			r.scaleSet(rs, 0, false)
		}
		return
	}
	if r.d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		r.proportional()
	}
}

// activeOrLatest is the only active ReplicaSet or, when none is, the latest; nil when several are.
func (r *rollout) activeOrLatest() *appsv1.ReplicaSet {
	on := active(r.sets)
	switch {
	case len(on) == 1:
		return on[0]
	case len(on) > 1 || len(r.sets) == 0:
		return nil
	case r.latest != nil:
		return r.latest
	}
	return r.sets[len(r.sets)-1]
}

// saturated says that the latest ReplicaSet has all the pods that it should, available.
func (r *rollout) saturated() bool {
	if r.latest == nil {
		return false
	}
	told, ok := sizeAnnotation(r.latest, desiredAnnotation)
	want := *r.d.Spec.Replicas
	return ok && told == want && *r.latest.Spec.Replicas == want && r.latest.Status.AvailableReplicas == want
}

// proportional distributes what was added or taken over the active ReplicaSets, by their sizes; the largest takes the rest.
func (r *rollout) proportional() {
	on := active(r.sets)
	allowed := int32(0)
	if *r.d.Spec.Replicas > 0 {
		allowed = *r.d.Spec.Replicas + maxSurge(r.d)
	}
	add := allowed - wanted(on)
	sort.SliceStable(on, func(i, j int) bool {
		if *on[i].Spec.Replicas != *on[j].Spec.Replicas {
			return *on[i].Spec.Replicas > *on[j].Spec.Replicas
		}
		if add > 0 {
			return olderSet(on[j], on[i]) // grow the newer
		}
		return olderSet(on[i], on[j]) // shrink the older
	})
	sizes := make([]int32, len(on))
	added := int32(0)
	for i, rs := range on {
		share := r.share(rs, add, added)
		sizes[i] = *rs.Spec.Replicas + share
		added += share
	}
	sizes[0] = max(0, sizes[0]+add-added)
	for i, rs := range on {
		r.scaleSet(rs, sizes[i], true)
	}
}

// share is the part of add that falls on rs.
func (r *rollout) share(rs *appsv1.ReplicaSet, add, added int32) int32 {
	if add == 0 || add == added {
		return 0
	}
	size := *rs.Spec.Replicas
	fraction := -size
	if *r.d.Spec.Replicas > 0 {
		before, ok := sizeAnnotation(rs, maxAnnotation)
		if !ok || before == 0 {
			before = r.d.Status.Replicas
		}
		if before == 0 {
			return 0
		}
		most := *r.d.Spec.Replicas + maxSurge(r.d)
		fraction = int32(math.Round(float64(size)*float64(most)/float64(before))) - size
	}
	if add > 0 {
		return min(fraction, add-added)
	}
	return max(fraction, add-added)
}

// cleanUp deletes the oldest ReplicaSets beyond revisionHistoryLimit that have no pods.
func (r *rollout) cleanUp() {
	limit := r.d.Spec.RevisionHistoryLimit
	if limit == nil || *limit == math.MaxInt32 {
		return
	}
	var old []*appsv1.ReplicaSet
	for _, rs := range r.old() {
		if rs.DeletionTimestamp == nil {
			old = append(old, rs)
		}
	}
	sort.SliceStable(old, func(i, j int) bool {
		a, b := revisionOfSet(old[i]), revisionOfSet(old[j])
		if a != b {
			return a < b
		}
		return olderSet(old[i], old[j])
	})
	for i := 0; i < len(old)-int(*limit); i++ {
		rs := old[i]
		if rs.Status.Replicas == 0 && *rs.Spec.Replicas == 0 && rs.Generation <= rs.Status.ObservedGeneration {
			r.write(deletion(r.key, ReplicaSets, rs))
		}
	}
}
