package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
	"kuberow/api/kinds"
)

// What the API server decides about a pod when it is created: phase Pending,
// the QoS class, the gated condition, and label keys of affinity terms made
// into plain selectors, so that the scheduler needs to know nothing of them.

func preparePod(r *kinds.Context, p *corev1.Pod) {
	p.Generation = 1
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
	if len(p.Spec.SchedulingGates) > 0 {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message:            "Scheduling is blocked due to non-empty scheduling gates",
			LastTransitionTime: metav1.NewTime(r.Now),
		}}
	}
	mergeLabelKeys(p)
	syncAppArmor(r, p)
	defaultPodLevelResources(p)
	p.Status.QOSClass = qosClass(p)
}

// mergeLabelKeys turns matchLabelKeys and mismatchLabelKeys into match expressions on the pod's own values.
func mergeLabelKeys(p *corev1.Pod) {
	if a := p.Spec.Affinity; a != nil {
		var terms []*corev1.PodAffinityTerm
		if a.PodAffinity != nil {
			terms = append(terms, affinityTerms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
		}
		if a.PodAntiAffinity != nil {
			terms = append(terms, affinityTerms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)...)
		}
		for _, t := range terms {
			addLabelKeys(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn, p.Labels)
			addLabelKeys(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn, p.Labels)
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		c := &p.Spec.TopologySpreadConstraints[i]
		addLabelKeys(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn, p.Labels)
	}
}

func affinityTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) []*corev1.PodAffinityTerm {
	var out []*corev1.PodAffinityTerm
	for i := range preferred {
		out = append(out, &preferred[i].PodAffinityTerm)
	}
	for i := range required {
		out = append(out, &required[i])
	}
	return out
}

// addLabelKeys leaves a nil selector alone: it matches nothing.
func addLabelKeys(s *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator, labels map[string]string) {
	if s == nil {
		return
	}
	for _, key := range keys {
		if value, has := labels[key]; has {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
		}
	}
}

// keepPodResources: a client that does not know spec.resources does not mean to remove it.
func keepPodResources(p, old *corev1.Pod) {
	if p.Spec.Resources == nil && old.Spec.Resources != nil {
		p.Spec.Resources = old.Spec.Resources.DeepCopy()
	}
}

// defaultPodLevelResources completes spec.resources from the containers: it runs after
// admission, when all containers are known.
func defaultPodLevelResources(p *corev1.Pod) {
	r := p.Spec.Resources
	if r == nil || (len(r.Requests) == 0 && len(r.Limits) == 0) {
		return
	}
	add := func(list *corev1.ResourceList, name corev1.ResourceName, q corev1.ResourceList) {
		if *list == nil {
			*list = corev1.ResourceList{}
		}
		if _, set := (*list)[name]; !set {
			(*list)[name] = q[name].DeepCopy()
		}
	}
	limits := resource.AggregateContainerLimits(p, resource.PodResourcesOptions{})
	for name := range limits {
		if _, asked := r.Requests[name]; isHugePages(name) && resource.IsSupportedPodLevelResource(name) && !asked {
			add(&r.Limits, name, limits)
		}
	}
	requests := resource.AggregateContainerRequests(p, resource.PodResourcesOptions{})
	for name := range requests {
		if resource.IsSupportedPodLevelResource(name) && !isHugePages(name) {
			add(&r.Requests, name, requests)
		}
	}
	for name := range r.Limits {
		if resource.IsSupportedPodLevelResource(name) {
			add(&r.Requests, name, r.Limits)
		}
	}
	for name, request := range r.Requests {
		if limit, all := limitOfAll(p, name, limits); all && resource.IsSupportedPodLevelResource(name) {
			if request.Cmp(limit[name]) > 0 {
				limit = corev1.ResourceList{name: request}
			}
			add(&r.Limits, name, limit)
		}
	}
}

// limitOfAll tells whether every container limits a resource; only then the pod has a limit too.
func limitOfAll(p *corev1.Pod, name corev1.ResourceName, sum corev1.ResourceList) (corev1.ResourceList, bool) {
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if _, has := list[i].Resources.Limits[name]; !has {
				return nil, false
			}
		}
	}
	_, has := sum[name]
	return sum, has
}

// qosClass orders pods for eviction by the kubelet: Guaranteed when requests equal limits
// everywhere, BestEffort when nothing is said anywhere.
func qosClass(p *corev1.Pod) corev1.PodQOSClass {
	if r := p.Spec.Resources; r != nil && (len(r.Requests) > 0 || len(r.Limits) > 0) {
		return requirementsQOS(r)
	}
	var class corev1.PodQOSClass
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			c := requirementsQOS(&list[i].Resources)
			if c == corev1.PodQOSBurstable || (class != "" && class != c) {
				return corev1.PodQOSBurstable
			}
			class = c
		}
	}
	if class == "" {
		return corev1.PodQOSBestEffort
	}
	return class
}

func requirementsQOS(r *corev1.ResourceRequirements) corev1.PodQOSClass {
	var set int
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		if !request.Equal(limit) {
			return corev1.PodQOSBurstable
		}
		if !request.IsZero() {
			set++
		}
	}
	switch set {
	case 0:
		return corev1.PodQOSBestEffort
	case 2:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}
