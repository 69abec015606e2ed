package controllers

import (
	"math"
	"sort"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What controllers of pods ask about pods.

// podActive says that a pod counts: it has not ended and is not on its way out.
func podActive(p *corev1.Pod) bool {
	return !podEnded(p) && p.DeletionTimestamp == nil
}

// podEnded says that no container of the pod will run again.
func podEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// podTerminating says that a pod is on its way out.
func podTerminating(p *corev1.Pod) bool {
	return !podEnded(p) && p.DeletionTimestamp != nil
}

// podCondition finds a condition, nil when there is none.
func podCondition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// podReady says that the pod's Ready condition is True.
func podReady(p *corev1.Pod) bool {
	c := podCondition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// availableAt is when a ready pod has been ready for long enough.
func availableAt(p *corev1.Pod, minReadySeconds int32) time.Time {
	c := podCondition(p, corev1.PodReady)
	if c == nil {
		return time.Time{}
	}
	return c.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second)
}

// podAvailable says that a pod has been ready for minReadySeconds.
func podAvailable(p *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	if !podReady(p) {
		return false
	}
	if minReadySeconds == 0 {
		return true
	}
	at := availableAt(p, minReadySeconds)
	return !at.IsZero() && !at.After(now)
}

// podFromTemplate is the pod that an owner wants.
func podFromTemplate(t *corev1.PodTemplateSpec, owner metav1.Object, ref metav1.OwnerReference) *corev1.Pod {
	t = t.DeepCopy()
	prefix := owner.GetName() + "-"
	if len(prefix) > 253 {
		prefix = owner.GetName()
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: prefix, Namespace: owner.GetNamespace(),
			Labels: t.Labels, Annotations: t.Annotations, Finalizers: t.Finalizers,
			OwnerReferences: []metav1.OwnerReference{ref},
		},
		Spec: t.Spec,
	}
}

// deletionCost reads the annotation by which users rank their pods.
func deletionCost(p *corev1.Pod) int64 {
	n, _ := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	return n
}

// phaseRank orders phases by how little is lost with such a pod.
func phaseRank(p *corev1.Pod) int {
	switch p.Status.Phase {
	case corev1.PodPending:
		return 0
	case corev1.PodRunning:
		return 2
	}
	return 1
}

// restarts is the highest restart count of the pod's containers, and of its sidecars.
func restarts(p *corev1.Pod) (containers, sidecars int32) {
	for _, c := range p.Status.ContainerStatuses {
		containers = max(containers, c.RestartCount)
	}
	always := map[string]bool{}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			always[c.Name] = true
		}
	}
	for _, c := range p.Status.InitContainerStatuses {
		if always[c.Name] {
			sidecars = max(sidecars, c.RestartCount)
		}
	}
	return containers, sidecars
}

// ageRank compares ages on a scale of powers of two, so that pods of about the
// same age are told apart by their uid: pseudorandom, but repeatable.
func ageRank(a, b, now time.Time) int {
	rank := func(t time.Time) int {
		d := now.Sub(t)
		if d <= 0 {
			return -1
		}
		return int(math.Log2(float64(d)))
	}
	return rank(a) - rank(b)
}

// rankForDeletion sorts pods so that those that are missed least come first:
// unassigned, pending, unready, cheap, crowded, young, often restarted ones. crowd
// is how many related pods are on a node.
func rankForDeletion(pods []*corev1.Pod, crowd map[string]int, now time.Time) {
	sort.SliceStable(pods, func(i, j int) bool { return missedLess(pods[i], pods[j], crowd, now) })
}

// missedLess says whether a goes before b.
func missedLess(a, b *corev1.Pod, crowd map[string]int, now time.Time) bool {
	if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
		return a.Spec.NodeName == ""
	}
	if phaseRank(a) != phaseRank(b) {
		return phaseRank(a) < phaseRank(b)
	}
	if podReady(a) != podReady(b) {
		return !podReady(a)
	}
	if deletionCost(a) != deletionCost(b) {
		return deletionCost(a) < deletionCost(b)
	}
	if crowd[a.Spec.NodeName] != crowd[b.Spec.NodeName] {
		return crowd[a.Spec.NodeName] > crowd[b.Spec.NodeName]
	}
	if podReady(a) {
		at, bt := availableAt(a, 0), availableAt(b, 0)
		if !at.Equal(bt) {
			return youngerFirst(at, bt, a, b, now)
		}
	}
	ac, as := restarts(a)
	bc, bs := restarts(b)
	if ac != bc {
		return ac > bc
	}
	if as != bs {
		return as > bs
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return youngerFirst(a.CreationTimestamp.Time, b.CreationTimestamp.Time, a, b, now)
	}
	return false
}

// youngerFirst compares two times of two pods; an unknown time counts as youngest.
func youngerFirst(at, bt time.Time, a, b *corev1.Pod, now time.Time) bool {
	if at.IsZero() || bt.IsZero() {
		return at.IsZero()
	}
	if r := ageRank(at, bt, now); r != 0 {
		return r < 0
	}
	return a.UID < b.UID
}
