package core

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a pod as an object: its creation, and its update through the main path.

func validatePod(_ *kinds.Context, p *corev1.Pod) field.ErrorList {
	var f faults
	path := field.NewPath("spec")
	f.add(podSpecAndMeta(p))
	if len(p.Spec.EphemeralContainers) > 0 {
		f.forbidden(path.Child("ephemeralContainers"), "cannot be set on create")
	}
	if p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0 {
		f.forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared")
	}
	f.add(appArmorAgrees(p.Annotations, &p.Spec, path))
	return f.all
}

func podSpecAndMeta(p *corev1.Pod) field.ErrorList {
	path := field.NewPath("spec")
	c := &podCheck{spec: &p.Spec, meta: &p.ObjectMeta, path: path, pod: true}
	c.add(podAnnotations(p.Annotations, &p.Spec, field.NewPath("metadata", "annotations")))
	c.run()
	if p.Spec.ServiceAccountName == "" {
		c.noTokens(path.Child("volumes"))
	}
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
		c.nonNegative(path.Child("terminationGracePeriodSeconds"), *g)
	}
	for i := range p.Spec.Containers {
		c.trimmedImage(&p.Spec.Containers[i], path.Child("containers").Index(i))
	}
	for i := range p.Spec.InitContainers {
		c.trimmedImage(&p.Spec.InitContainers[i], path.Child("initContainers").Index(i))
	}
	return c.all
}

func (c *podCheck) noTokens(path *field.Path) {
	for i, v := range c.spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for j, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil {
				c.forbidden(path.Index(i).Child("projected", "sources").Index(j).Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set")
			}
		}
	}
}

func validatePodUpdate(_ *kinds.Context, p, old *corev1.Pod) field.ErrorList {
	var f faults
	path := field.NewPath("spec")
	f.add(podSpecAndMeta(p))
	f.add(changedAnnotations(p, old, field.NewPath("metadata", "annotations")))
	if !f.sameContainers(p.Spec.Containers, old.Spec.Containers, path.Child("containers")) ||
		!f.sameContainers(p.Spec.InitContainers, old.Spec.InitContainers, path.Child("initContainers")) ||
		!f.deadlineShrinks(p, old, path.Child("activeDeadlineSeconds")) {
		return f.all
	}
	f.addedTolerations(p.Spec.Tolerations, old.Spec.Tolerations, path.Child("tolerations"))
	f.deletedGates(p.Spec.SchedulingGates, old.Spec.SchedulingGates, path.Child("schedulingGates"))
	if common.Equal(p.Spec, old.Spec) {
		return f.all
	}
	undone := p.Spec.DeepCopy()
	undoAllowed(undone, &old.Spec)
	if len(old.Spec.SchedulingGates) > 0 {
		f.gatedChanges(undone, &old.Spec, path)
	}
	if !common.Equal(*undone, old.Spec) {
		f.forbidden(path, "pod updates may not change fields other than "+strings.Join(changeableFields(), ",")+"\n"+
			diff.Diff(common.Internal(old.Spec), common.Internal(*undone)))
	}
	return f.all
}

// changeableFields is what the refusal names.
func changeableFields() []string {
	return []string{
		"`spec.containers[*].image`",
		"`spec.initContainers[*].image`",
		"`spec.activeDeadlineSeconds`",
		"`spec.tolerations` (only additions to existing tolerations)",
		"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
	}
}

func (f *faults) sameContainers(now, old []corev1.Container, path *field.Path) bool {
	if len(now) != len(old) {
		f.forbidden(path, "pod updates may not add or remove containers")
		return false
	}
	for i := range now {
		image := path.Index(i).Child("image")
		if strings.TrimSpace(now[i].Image) != now[i].Image {
			f.invalid(image, now[i].Image, "must not have leading or trailing whitespace")
		}
	}
	return true
}

// deadlineShrinks: a deadline may be set, and brought nearer.
func (f *faults) deadlineShrinks(p, old *corev1.Pod, path *field.Path) bool {
	now, was := p.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds
	switch {
	case now == nil && was != nil:
		f.invalid(path, now, "must not update from a positive integer to nil value")
	case now == nil:
	case *now < 0 || *now > math.MaxInt32:
		f.invalid(path, *now, validation.InclusiveRangeError(0, math.MaxInt32))
		return false
	case was != nil && *was < *now:
		f.invalid(path, *now, "must be less than or equal to previous value")
		return false
	}
	return true
}

func (f *faults) addedTolerations(now, old []corev1.Toleration, path *field.Path) {
	for _, was := range old {
		found := false
		for _, n := range now {
			was.TolerationSeconds = n.TolerationSeconds
			found = found || was == n
		}
		if !found {
			f.forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
	f.tolerations(now, path)
}

func (f *faults) deletedGates(now, old []corev1.PodSchedulingGate, path *field.Path) {
	for i, n := range now {
		had := false
		for _, was := range old {
			had = had || was.Name == n.Name
		}
		if !had {
			f.forbidden(path.Index(i).Child("name"), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", n.Name))
		}
	}
}

// undoAllowed takes back in a copy what may change, so that what still differs may not.
func undoAllowed(s, old *corev1.PodSpec) {
	for i := range s.Containers {
		s.Containers[i].Image = old.Containers[i].Image
	}
	for i := range s.InitContainers {
		s.InitContainers[i].Image = old.InitContainers[i].Image
	}
	s.ActiveDeadlineSeconds = old.ActiveDeadlineSeconds
	s.SchedulingGates, s.Tolerations = old.SchedulingGates, old.Tolerations
	if was, now := old.TerminationGracePeriodSeconds, s.TerminationGracePeriodSeconds; was != nil && now != nil && *was < 0 && *now == 1 {
		s.TerminationGracePeriodSeconds = was
	}
}

// gatedChanges: while a pod is gated, the set of nodes it may run on can be narrowed.
func (f *faults) gatedChanges(s, old *corev1.PodSpec, path *field.Path) {
	for key, was := range old.NodeSelector {
		if now, has := s.NodeSelector[key]; !has || now != was {
			f.invalid(path.Child("nodeSelector"), s.NodeSelector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)")
			break
		}
	}
	s.NodeSelector = old.NodeSelector
	var now, was *corev1.NodeAffinity
	if s.Affinity != nil {
		now = s.Affinity.NodeAffinity
	}
	if old.Affinity != nil {
		was = old.Affinity.NodeAffinity
	}
	if common.Equal(now, was) {
		return
	}
	f.narrowed(now, was, path.Child("affinity", "nodeAffinity"))
	switch {
	case s.Affinity == nil:
		s.Affinity = &corev1.Affinity{NodeAffinity: was}
	case old.Affinity == nil && s.Affinity.PodAffinity == nil && s.Affinity.PodAntiAffinity == nil:
		s.Affinity = nil
	default:
		s.Affinity.NodeAffinity = was
	}
}

func (f *faults) narrowed(now, was *corev1.NodeAffinity, path *field.Path) {
	if was == nil || was.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return
	}
	path = path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	old := was.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	var terms []corev1.NodeSelectorTerm
	if now != nil && now.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms = now.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	}
	if len(old) > 0 && len(terms) != len(old) {
		f.invalid(path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed")
		return
	}
	for i := range old {
		// A term without requirements matches nothing; with more of them it would match something.
		empty := len(old[i].MatchExpressions)+len(old[i].MatchFields) == 0
		if empty && len(terms[i].MatchExpressions)+len(terms[i].MatchFields) > 0 || !onlyAdded(terms[i].MatchExpressions, old[i].MatchExpressions) || !onlyAdded(terms[i].MatchFields, old[i].MatchFields) {
			f.invalid(path.Index(i), terms[i], "only additions are allowed (no mutations or deletions)")
		}
	}
}

func onlyAdded(now, old []corev1.NodeSelectorRequirement) bool {
	if len(now) < len(old) {
		return false
	}
	for i := range old {
		if !common.Equal(now[i], old[i]) {
			return false
		}
	}
	return true
}
