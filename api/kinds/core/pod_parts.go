package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The paths that change one part of a pod: status, ephemeralcontainers, resize.
// Each takes its part from what was sent and everything else from what is stored.

func podStatusStrategy(main podTyped) podTyped {
	s := main
	s.PrepareForUpdate = preparePodStatus
	s.ValidateUpdate = validatePodStatusUpdate
	s.Warnings = podStatusWarnings
	s.ResetFields = []string{"spec", "metadata.deletionTimestamp", "metadata.ownerReferences"}
	return s
}

func preparePodStatus(_ *kinds.Context, p, old *corev1.Pod) {
	p.Spec = old.Spec
	p.Generation = old.Generation
	p.DeletionTimestamp = old.DeletionTimestamp
	p.OwnerReferences = old.OwnerReferences
	if p.Status.QOSClass == "" {
		p.Status.QOSClass = old.Status.QOSClass
	}
	// Fields of dynamic resource allocation that an old kubelet does not know, and so leaves out.
	if p.Status.ResourceClaimStatuses == nil {
		p.Status.ResourceClaimStatuses = old.Status.ResourceClaimStatuses
	}
	if p.Status.ExtendedResourceClaimStatus == nil {
		p.Status.ExtendedResourceClaimStatus = old.Status.ExtendedResourceClaimStatus
	}
	if p.Status.ObservedGeneration == 0 {
		p.Status.ObservedGeneration = old.Status.ObservedGeneration
	}
	dropStatusFields(&p.Status)
	keepConditionGenerations(p.Status.Conditions, old.Status.Conditions)
}

// keepConditionGenerations: a type may stand more than once, so old values are handed out in order.
func keepConditionGenerations(now, old []corev1.PodCondition) {
	was := map[corev1.PodConditionType][]int64{}
	for _, c := range old {
		was[c.Type] = append(was[c.Type], c.ObservedGeneration)
	}
	for i := range now {
		c := &now[i]
		var generation int64
		if list := was[c.Type]; len(list) > 0 {
			generation, was[c.Type] = list[0], list[1:]
		}
		if c.ObservedGeneration == 0 {
			c.ObservedGeneration = generation
		}
	}
}

func podEphemeralStrategy(main podTyped) podTyped {
	s := main
	s.PrepareForUpdate = func(_ *kinds.Context, p, old *corev1.Pod) {
		added := p.Spec.EphemeralContainers
		p.Spec, p.Status = old.Spec, old.Status
		p.Spec.EphemeralContainers = added
		keepMeta(p, old)
		common.BumpGeneration(p, old, !common.Equal(p.Spec, old.Spec))
	}
	s.ValidateUpdate = validateEphemeralUpdate
	s.Warnings = nil
	s.ResetFields = nil // what is sent beside the part changes nothing, but upstream notes its manager
	return s
}

// keepMeta: these paths change no metadata but managedFields and resourceVersion.
func keepMeta(p, old *corev1.Pod) { metav1.ResetObjectMetaForStatus(&p.ObjectMeta, &old.ObjectMeta) }

func podResizeStrategy(main podTyped) podTyped {
	s := main
	s.PrepareForUpdate = func(_ *kinds.Context, p, old *corev1.Pod) {
		onlyResources(p, old)
		keepPodResources(p, old)
		defaultPodLevelResources(p)
		common.BumpGeneration(p, old, !common.Equal(p.Spec, old.Spec))
	}
	s.ValidateUpdate = validatePodResize
	s.Warnings = nil
	s.ResetFields = nil // what is sent beside the part changes nothing, but upstream notes its manager
	return s
}

// onlyResources takes the resources of each container from what was sent. When containers
// were added, removed or renamed it changes nothing, so that validation can say so.
func onlyResources(p, old *corev1.Pod) {
	if !sameNames(p.Spec.Containers, old.Spec.Containers) || !sameNames(p.Spec.InitContainers, old.Spec.InitContainers) {
		return
	}
	resources := p.Spec.Resources
	containers := withResources(old.Spec.Containers, p.Spec.Containers)
	inits := withResources(old.Spec.InitContainers, p.Spec.InitContainers)
	p.Spec, p.Status = old.Spec, old.Status
	p.Spec.Resources, p.Spec.Containers, p.Spec.InitContainers = resources, containers, inits
	keepMeta(p, old)
}

func sameNames(a, b []corev1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func withResources(old, from []corev1.Container) []corev1.Container {
	if len(old) == 0 {
		return nil
	}
	out := make([]corev1.Container, len(old))
	copy(out, old)
	for i := range out {
		out[i].Resources, out[i].ResizePolicy = from[i].Resources, from[i].ResizePolicy
	}
	return out
}
