package quota

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	resourcehelper "k8s.io/component-helpers/resource"
)

var podNames = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
	corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
	corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage, corev1.ResourcePods,
}

// podName: also huge pages, and extended resources as requests.DOMAIN/NAME.
func podName(name corev1.ResourceName) bool {
	s := string(name)
	if slices.Contains(podNames, name) || strings.HasPrefix(s, corev1.ResourceHugePagesPrefix) || strings.HasPrefix(s, corev1.ResourceRequestsHugePagesPrefix) {
		return true
	}
	rest, ok := strings.CutPrefix(s, corev1.DefaultResourceRequestsPrefix)
	return ok && extended(corev1.ResourceName(rest))
}

func extended(name corev1.ResourceName) bool {
	domain, _, qualified := strings.Cut(string(name), "/")
	return qualified && (!strings.Contains(domain, "kubernetes.io") || strings.HasPrefix(string(name), "deviceclass.resource.kubernetes.io/"))
}

// addPod: a pod that has ended, or whose deletion is overdue, only counts as an object.
func addPod(out corev1.ResourceList, pod *corev1.Pod, now time.Time) {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return
	}
	if d, grace := pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds; d != nil && grace != nil && now.After(d.Add(time.Duration(*grace)*time.Second)) {
		return
	}
	o := resourcehelper.PodResourcesOptions{UseStatusResources: true}
	maps.Copy(out, compute(resourcehelper.PodRequests(pod, o), resourcehelper.PodLimits(pod, o)))
}

func compute(requests, limits corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(1, resource.DecimalSI)}
	for name, q := range requests {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage,
			strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix):
			out[name] = q
			out[corev1.DefaultResourceRequestsPrefix+name] = q
		case extended(name):
			out[corev1.DefaultResourceRequestsPrefix+name] = q
		}
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, there := limits[name]; there {
			out["limits."+name] = q
		}
	}
	return out
}

// computeNames are those that a quota obliges every container to state.
var computeNames = []corev1.ResourceName{
	corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
}

// Constraints refuses a pod that does not state what a quota with these names limits.
func Constraints(names []corev1.ResourceName, o runtime.Object) error {
	pod, ok := o.(*corev1.Pod)
	if !ok || resourcehelper.IsPodLevelResourcesSet(pod) {
		return nil
	}
	missing := map[corev1.ResourceName][]string{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		stated := compute(c.Resources.Requests, c.Resources.Limits)
		for _, name := range names {
			if _, there := stated[name]; !there && slices.Contains(computeNames, name) {
				missing[name] = append(missing[name], c.Name)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		slices.Sort(missing[name])
		parts = append(parts, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(missing[name]), ",")))
	}
	return fmt.Errorf("must specify %s", strings.Join(parts, "; "))
}

// Terminating pods have a deadline.
func Terminating(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds >= 0
}

// inScope: scopes select pods, and one of them claims.
func inScope(s corev1.ScopedResourceSelectorRequirement, o runtime.Object) bool {
	switch o := o.(type) {
	case *corev1.Pod:
		switch s.ScopeName {
		case corev1.ResourceQuotaScopeTerminating:
			return Terminating(o)
		case corev1.ResourceQuotaScopeNotTerminating:
			return !Terminating(o)
		case corev1.ResourceQuotaScopeBestEffort:
			return bestEffort(o)
		case corev1.ResourceQuotaScopeNotBestEffort:
			return !bestEffort(o)
		case corev1.ResourceQuotaScopePriorityClass:
			return selects(s, o.Spec.PriorityClassName)
		case corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
			return crossesNamespaces(o.Spec.Affinity)
		}
	case *corev1.PersistentVolumeClaim:
		if s.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass {
			for _, name := range []*string{o.Spec.VolumeAttributesClassName, o.Status.CurrentVolumeAttributesClassName} {
				if name != nil && selects(s, *name) {
					return true
				}
			}
			return s.Operator == corev1.ScopeSelectorOpDoesNotExist && o.Spec.VolumeAttributesClassName == nil
		}
	}
	return false
}

// selects applies the operator of a scope to the name of a class, "" for none.
func selects(s corev1.ScopedResourceSelectorRequirement, class string) bool {
	switch s.Operator {
	case corev1.ScopeSelectorOpExists:
		return class != ""
	case corev1.ScopeSelectorOpDoesNotExist:
		return class == ""
	case corev1.ScopeSelectorOpIn:
		return class != "" && slices.Contains(s.Values, class)
	case corev1.ScopeSelectorOpNotIn:
		return !slices.Contains(s.Values, class) || class == ""
	}
	return false
}

// bestEffort pods state no CPU and no memory at all.
func bestEffort(pod *corev1.Pod) bool {
	lists := []corev1.ResourceList{}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		lists = append(lists, c.Resources.Requests, c.Resources.Limits)
	}
	if r := pod.Spec.Resources; r != nil {
		lists = append(lists, r.Requests, r.Limits)
	}
	for _, l := range lists {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			if q, there := l[name]; there && !q.IsZero() {
				return false
			}
		}
	}
	return true
}

func crossesNamespaces(a *corev1.Affinity) bool {
	if a == nil {
		return false
	}
	var terms []corev1.PodAffinityTerm
	add := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		terms = append(terms, required...)
		for _, w := range preferred {
			terms = append(terms, w.PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		add(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool { return len(t.Namespaces) > 0 || t.NamespaceSelector != nil })
}
