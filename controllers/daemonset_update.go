package controllers

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What a DaemonSet's pods look like, and how they are replaced when the template changes: node by node, by deleting
// the old pod first (maxUnavailable) or by starting the new one beside it (maxSurge).

// templateGenerationLabel is the old way to say which template a pod is of; pods still carry it.
const templateGenerationLabel = "pod-template-generation"

// daemonPod is the pod of a template, but for the node.
func daemonPod(d *appsv1.DaemonSet, hash string) *corev1.Pod {
	p := podFromTemplate(&d.Spec.Template, d, metav1.OwnerReference{})
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	if g, ok := d.Annotations[appsv1.DeprecatedTemplateGeneration]; ok {
		p.Labels[templateGenerationLabel] = g
	}
	for _, t := range []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule},
	} {
		if t.Key == corev1.TaintNodeNetworkUnavailable && !p.Spec.HostNetwork {
			continue
		}
		t.Operator = corev1.TolerationOpExists
		tolerate(p, t)
	}
	return p
}

// tolerate adds a toleration, in place of one for the same taint.
func tolerate(p *corev1.Pod, t corev1.Toleration) {
	i := slices.IndexFunc(p.Spec.Tolerations, func(o corev1.Toleration) bool { return o.MatchToleration(&t) })
	if i >= 0 {
		p.Spec.Tolerations[i] = t
		return
	}
	p.Spec.Tolerations = append(p.Spec.Tolerations, t)
}

// pinTo lets a pod run on one node only. That node fits what the template requires, so that this may be replaced.
func pinTo(p *corev1.Pod, node string) {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	if p.Spec.Affinity.NodeAffinity == nil {
		p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}
}

// daemonTarget is the node that a pod is on or for.
func daemonTarget(p *corev1.Pod) string {
	if p.Spec.NodeName != "" {
		return p.Spec.NodeName
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1 {
				return f.Values[0]
			}
		}
	}
	return ""
}

// standing gives the pods that are not on their way out.
func standing(pods []*corev1.Pod) []*corev1.Pod {
	var out []*corev1.Pod
	for _, p := range pods {
		if p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	return out
}

// updated says that a pod is of the set's template.
func (s *daemonStep) updated(p *corev1.Pod) bool {
	return p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == s.hash
}

// available says that a pod has been ready for long enough; when it will be later, the step is repeated then.
func (s *daemonStep) available(p *corev1.Pod) bool {
	if podReady(p) && s.set.Spec.MinReadySeconds > 0 {
		if at := availableAt(p, s.set.Spec.MinReadySeconds); at.After(s.v.Now()) {
			s.out.again(s.k, at)
		}
	}
	return podAvailable(p, s.set.Spec.MinReadySeconds, s.v.Now())
}

// fences resolves maxSurge and maxUnavailable to numbers of nodes; when both are zero, one may be unavailable.
func (s *daemonStep) fences() (surge, unavailable int) {
	u := s.set.Spec.UpdateStrategy.RollingUpdate
	if s.set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || u == nil {
		return 0, 1
	}
	desired, zero := 0, intstr.FromInt32(0)
	for _, n := range s.nodes {
		if n.starts {
			desired++
		}
	}
	surge, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(u.MaxSurge, zero), desired, true)
	if err != nil {
		return 0, 1
	}
	unavailable, err = intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(u.MaxUnavailable, zero), desired, true)
	if err != nil || surge == 0 && unavailable == 0 {
		return surge, max(1, unavailable)
	}
	return surge, unavailable
}

// pair gives the new and the old pod of a node; ok is false while there are more of a kind.
func (s *daemonStep) pair(n daemonNode) (latest, old *corev1.Pod, ok bool) {
	for _, p := range standing(n.pods) {
		slot := &old
		if s.updated(p) {
			slot = &latest
		}
		if *slot != nil {
			return nil, nil, false
		}
		*slot = p
	}
	return latest, old, true
}

// roll replaces what is outdated.
func (s *daemonStep) roll() {
	if surge, unavailable := s.fences(); surge > 0 {
		s.rollSurging(surge)
	} else {
		s.rollDeleting(unavailable)
	}
}

// rollDeleting deletes old pods: those that serve nobody at once, of the others as many as may be missing.
func (s *daemonStep) rollDeleting(most int) {
	var candidates []*corev1.Pod
	for _, n := range s.nodes {
		if !n.starts && len(n.pods) == 0 {
			continue
		}
		latest, old, ok := s.pair(n)
		switch {
		case !ok || (latest == nil) == (old == nil):
			most--
		case latest != nil:
			if !s.available(latest) {
				most--
			}
		case !s.available(old):
			s.doom = append(s.doom, old)
			most--
		default:
			candidates = append(candidates, old)
		}
	}
	s.doom = append(s.doom, candidates[:min(max(0, most), len(candidates))]...)
}

// rollSurging makes new pods beside old ones, and deletes an old one when its successor is available. Where the set should
// not be any more, an old pod stays until enough others serve.
func (s *daemonStep) rollSurging(most int) {
	var candidates []string
	var leaving []*corev1.Pod
	spare := 0 // available pods beyond the nodes that want one
	for _, n := range s.nodes {
		if n.starts {
			spare--
		}
		latest, old, ok := s.pair(n)
		if !ok {
			most--
			continue
		}
		if p := old; p != nil || latest != nil {
			if p == nil {
				p = latest
			}
			if s.available(p) {
				spare++
			}
		}
		switch {
		case old == nil:
		case latest != nil && s.available(latest):
			s.doom = append(s.doom, old)
		case latest != nil:
			most--
		case !n.starts && !s.available(old):
			s.doom = append(s.doom, old)
		case !n.starts:
			leaving = append(leaving, old)
		case !s.available(old):
			s.births = append(s.births, n.name)
		default:
			candidates = append(candidates, n.name)
		}
	}
	s.doom = append(s.doom, leaving[:min(max(0, spare), len(leaving))]...)
	s.births = append(s.births, candidates[:min(max(0, most), len(candidates))]...)
}
