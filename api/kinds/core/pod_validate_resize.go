package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of resize: the amounts of cpu and memory may change, in a way that
// leaves the pod's QoS class as it is; nothing else may, and nothing is taken away.

func validatePodResize(_ *kinds.Context, p, old *corev1.Pod) field.ErrorList {
	whole := field.NewPath("")
	if _, mirror := old.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return field.ErrorList{field.Forbidden(whole, "static pods cannot be resized")}
	}
	if old.Spec.OS != nil && old.Spec.OS.Name == corev1.Windows {
		return field.ErrorList{field.Forbidden(whole, "windows pods cannot be resized")}
	}
	var f faults
	path := field.NewPath("spec")
	f.add(podSpecAndMeta(p))
	class := old.Status.QOSClass
	if class == "" {
		class = qosClass(old)
	}
	if class != qosClass(p) {
		f.invalid(path, p.Status.QOSClass, "Pod QOS Class may not change as a result of resizing")
	}
	if !canResize(old) {
		f.forbidden(path, "Pod running on node without support for resize")
	}
	undone := p.Spec.DeepCopy()
	f.podLevelResize(p, old, undone, path)
	if !f.sameOrder(p, old, path) {
		return f.all
	}
	for i := range old.Spec.InitContainers {
		f.keptResources(&p.Spec.InitContainers[i].Resources, &old.Spec.InitContainers[i].Resources, path.Child("initContainers").Index(i).Child("resources"))
	}
	for i := range old.Spec.Containers {
		f.keptResources(&p.Spec.Containers[i].Resources, &old.Spec.Containers[i].Resources, path.Child("containers").Index(i).Child("resources"))
	}
	f.onlyComputeChanged(undone, &old.Spec, path)
	if !common.Equal(p.Spec.Volumes, old.Spec.Volumes) {
		f.forbidden(path.Child("volumes"), "volumes are immutable on resize when InPlacePodVerticalScalingMemoryBackedVolumes feature gate is disabled")
	}
	if len(f.all) == 0 && !common.Equal(*undone, old.Spec) {
		f.forbidden(path, "only cpu and memory resources are mutable")
	}
	return f.all
}

// canResize: a kubelet that can resize reports the resources of what it runs.
func canResize(p *corev1.Pod) bool {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.State.Running != nil {
			return s.Resources != nil
		}
	}
	return true
}

func (f *faults) podLevelResize(p, old *corev1.Pod, undone *corev1.PodSpec, path *field.Path) {
	set := func(r *corev1.ResourceRequirements) bool { return r != nil && len(r.Requests)+len(r.Limits) > 0 }
	now, was := p.Spec.Resources, old.Spec.Resources
	if !set(now) && !set(was) {
		return
	}
	at := path.Child("resources")
	if was != nil && now == nil {
		f.forbidden(at, "pod-level resources cannot be removed")
		return
	}
	var requests, limits corev1.ResourceList
	if was != nil {
		requests, limits = was.Requests, was.Limits
		if removed(now.Requests, requests) {
			f.forbidden(at.Child("requests"), "pod-level resource requests cannot be removed")
		}
		if removed(now.Limits, limits) {
			f.forbidden(at.Child("limits"), "pod-level resource limits cannot be removed")
		}
	}
	undone.Resources.Requests = undoCompute(undone.Resources.Requests, requests)
	undone.Resources.Limits = undoCompute(undone.Resources.Limits, limits)
	if was == nil && !set(undone.Resources) && len(undone.Resources.Claims) == 0 {
		undone.Resources = nil
	}
	if !common.Equal(undone.Resources, was) {
		f.forbidden(path, "only cpu and memory resources are mutable at pod-level")
	}
}

func removed(now, old corev1.ResourceList) bool {
	for name := range old {
		if _, has := now[name]; !has {
			return true
		}
	}
	return false
}

// undoCompute gives a list the old amounts of cpu and memory.
func undoCompute(list, old corev1.ResourceList) corev1.ResourceList {
	if list == nil && old == nil {
		return nil
	}
	out := list.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		delete(out, name)
		if amount, had := old[name]; had {
			out[name] = amount
		}
	}
	return out
}

func (f *faults) sameOrder(p, old *corev1.Pod, path *field.Path) bool {
	before := len(f.all)
	for _, list := range []struct {
		name     string
		now, old []corev1.Container
	}{{"containers", p.Spec.Containers, old.Spec.Containers}, {"initContainers", p.Spec.InitContainers, old.Spec.InitContainers}} {
		if len(list.now) != len(list.old) {
			f.forbidden(path.Child(list.name), list.name+" may not be added or removed on resize")
			continue
		}
		for i := range list.old {
			if list.now[i].Name != list.old[i].Name {
				f.forbidden(path.Child(list.name).Index(i).Child("name"), list.name+" may not be renamed or reordered on resize")
			}
		}
	}
	return len(f.all) == before
}

func (f *faults) keptResources(now, old *corev1.ResourceRequirements, path *field.Path) {
	if removed(now.Requests, old.Requests) {
		f.forbidden(path.Child("requests"), "resource requests cannot be removed")
	}
	if removed(now.Limits, old.Limits) {
		f.forbidden(path.Child("limits"), "resource limits cannot be removed")
	}
}

func (f *faults) onlyComputeChanged(undone, old *corev1.PodSpec, path *field.Path) {
	undo := func(c, was *corev1.Container) bool {
		c.Resources.Limits = undoCompute(c.Resources.Limits, was.Resources.Limits)
		c.Resources.Requests = undoCompute(c.Resources.Requests, was.Resources.Requests)
		return common.Equal(*c, *was)
	}
	for i := range undone.Containers {
		if !undo(&undone.Containers[i], &old.Containers[i]) {
			f.forbidden(path, "only cpu and memory resources are mutable")
		}
	}
	for i := range undone.InitContainers {
		c, path := &undone.InitContainers[i], path.Child("initContainers").Index(i)
		changed := !common.Equal(*c, old.InitContainers[i])
		if !undo(c, &old.InitContainers[i]) {
			f.forbidden(path, "only cpu and memory resources for init or sidecar containers are mutable")
		}
		if !changed || isSidecar(c) {
			continue
		}
		for _, p := range c.ResizePolicy {
			if p.RestartPolicy == corev1.RestartContainer {
				f.forbidden(path, "non-sidecar init containers with a resize policy of RestartContainer cannot be resized")
			}
		}
	}
}
