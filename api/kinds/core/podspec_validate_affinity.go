package core

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Where a pod may run: affinity, tolerations, spreading.

func (c *podCheck) checkAffinity(path *field.Path) {
	a := c.spec.Affinity
	if a == nil {
		return
	}
	const required, preferred = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
	if n := a.NodeAffinity; n != nil {
		path := path.Child("nodeAffinity")
		if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
			c.nodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, path.Child(required))
		}
		for i, t := range n.PreferredDuringSchedulingIgnoredDuringExecution {
			path := path.Child(preferred).Index(i)
			c.weight(t.Weight, path)
			c.selectorTerm(&t.Preference, looseValues, path.Child("preference"))
		}
	}
	if p := a.PodAffinity; p != nil {
		c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity", required))
		c.weightedTerms(p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity", preferred))
	}
	if p := a.PodAntiAffinity; p != nil {
		c.podTerms(p.RequiredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity", required))
		c.weightedTerms(p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity", preferred))
	}
}

func (f *faults) weight(w int32, path *field.Path) {
	if w <= 0 || w > 100 {
		f.invalid(path.Child("weight"), w, "must be in the range 1-100")
	}
}

func (c *podCheck) podTerms(terms []corev1.PodAffinityTerm, path *field.Path) {
	for i := range terms {
		c.podTerm(&terms[i], path.Index(i))
	}
}

func (c *podCheck) weightedTerms(terms []corev1.WeightedPodAffinityTerm, path *field.Path) {
	for i := range terms {
		c.weight(terms[i].Weight, path.Index(i))
		c.podTerm(&terms[i].PodAffinityTerm, path.Index(i).Child("podAffinityTerm"))
	}
}

func (c *podCheck) podTerm(t *corev1.PodAffinityTerm, path *field.Path) {
	c.add(common.LabelSelector(t.LabelSelector, path.Child("labelSelector")))
	c.add(common.LabelSelector(t.NamespaceSelector, path.Child("namespaceSelector")))
	for _, name := range t.Namespaces {
		c.invalids(path.Child("namespace"), name, validation.IsDNS1123Label(name))
	}
	c.labelKeys(t.MatchLabelKeys, t.MismatchLabelKeys, t.LabelSelector, path)
	key := path.Child("topologyKey")
	if t.TopologyKey == "" {
		c.required(key, "can not be empty")
	}
	c.add(labelName(t.TopologyKey, key))
}

// labelKeys: keys whose values are taken from the pod. PrepareForCreate has added them to the selector
// already, so a key that stands there twice was written by the user as well.
func (c *podCheck) labelKeys(match, mismatch []string, s *metav1.LabelSelector, path *field.Path) {
	for _, list := range []struct {
		name string
		keys []string
	}{{"matchLabelKeys", match}, {"mismatchLabelKeys", mismatch}} {
		if len(list.keys) > 0 && s == nil {
			c.forbidden(path.Child(list.name), "must not be specified when labelSelector is not set")
			continue
		}
		for i, key := range list.keys {
			c.add(labelName(key, path.Child(list.name).Index(i)))
		}
	}
	if s != nil {
		seen := sets.New[string]()
		for key := range s.MatchLabels {
			seen.Insert(key)
		}
		for _, e := range s.MatchExpressions {
			if i := slices.Index(match, e.Key); i >= 0 && seen.Has(e.Key) {
				c.invalid(path.Index(i), e.Key, "exists in both matchLabelKeys and labelSelector")
			}
			seen.Insert(e.Key)
		}
	}
	for i, key := range match {
		if slices.Contains(mismatch, key) {
			c.invalid(path.Child("matchLabelKeys").Index(i), key, "exists in both matchLabelKeys and mismatchLabelKeys")
		}
	}
}

// valueRule says whether the values of a node selector must be label values.
type valueRule int

const (
	labelValues valueRule = iota
	looseValues           // preferences were never checked
)

// ValidateNodeSelector checks what a node must be like, for kinds of other groups.
func ValidateNodeSelector(s *corev1.NodeSelector, path *field.Path) field.ErrorList {
	var f faults
	f.nodeSelector(s, path)
	return f.all
}

// nodeSelector checks what a node must be like.
func (f *faults) nodeSelector(s *corev1.NodeSelector, path *field.Path) {
	path = path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		f.required(path, "must have at least one node selector term")
	}
	for i := range s.NodeSelectorTerms {
		f.selectorTerm(&s.NodeSelectorTerms[i], labelValues, path.Index(i))
	}
}

func (f *faults) selectorTerm(t *corev1.NodeSelectorTerm, values valueRule, path *field.Path) {
	for i := range t.MatchExpressions {
		f.nodeExpression(&t.MatchExpressions[i], values, path.Child("matchExpressions").Index(i))
	}
	for i := range t.MatchFields {
		f.nodeField(&t.MatchFields[i], path.Child("matchFields").Index(i))
	}
}

func (f *faults) nodeExpression(r *corev1.NodeSelectorRequirement, rule valueRule, path *field.Path) {
	values := path.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			f.required(values, "must be specified when `operator` is 'In' or 'NotIn'")
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			f.forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			f.required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'")
		}
	default:
		f.invalid(path.Child("operator"), r.Operator, "not a valid selector operator")
	}
	f.add(labelName(r.Key, path.Child("key")))
	if rule == labelValues {
		for i, v := range r.Values {
			f.invalids(values.Index(i), v, validation.IsValidLabelValue(v))
		}
	}
}

func (f *faults) nodeField(r *corev1.NodeSelectorRequirement, path *field.Path) {
	if r.Operator != corev1.NodeSelectorOpIn && r.Operator != corev1.NodeSelectorOpNotIn {
		f.invalid(path.Child("operator"), r.Operator, "not a valid selector operator")
	} else if len(r.Values) != 1 {
		f.required(path.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector")
	}
	if r.Key != metav1.ObjectNameField {
		f.invalid(path.Child("key"), r.Key, "not a valid field selector key")
		return
	}
	for i, v := range r.Values {
		f.invalids(path.Child("values").Index(i), v, validation.IsDNS1123Subdomain(v))
	}
}

func (c *podCheck) checkTolerations(path *field.Path) { c.tolerations(c.spec.Tolerations, path) }

func (f *faults) tolerations(list []corev1.Toleration, path *field.Path) {
	for i, t := range list {
		path := path.Index(i)
		if t.Key != "" {
			f.add(labelName(t.Key, path.Child("key")))
		} else if t.Operator != corev1.TolerationOpExists {
			f.invalid(path.Child("operator"), t.Operator, "operator must be Exists when `key` is empty, which means \"match all values and all keys\"")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			f.invalid(path.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
		}
		switch t.Operator {
		case corev1.TolerationOpEqual, "":
			if m := validation.IsValidLabelValue(t.Value); len(m) > 0 {
				f.invalid(path.Child("operator"), t.Value, strings.Join(m, ";"))
			}
		case corev1.TolerationOpExists:
			if t.Value != "" {
				f.invalid(path.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'")
			}
		case corev1.TolerationOpLt, corev1.TolerationOpGt: // an alpha feature, off here as it is upstream
			f.all = append(f.all, field.NotSupported(path.Child("operator"), t.Operator, []corev1.TolerationOperator{
				corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
		default:
			oneOf(f, path.Child("operator"), t.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
		}
		if t.Effect != "" {
			f.taintEffect(t.Effect, path.Child("effect"))
		}
	}
}

func (f *faults) taintEffect(effect corev1.TaintEffect, path *field.Path) {
	oneOf(f, path, effect, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
}

func (c *podCheck) checkSpread(path *field.Path) {
	list := c.spec.TopologySpreadConstraints
	for i := range list {
		s, path := &list[i], path.Index(i)
		c.add(common.Positive(int64(s.MaxSkew), path.Child("maxSkew")))
		if s.TopologyKey == "" {
			c.required(path.Child("topologyKey"), "can not be empty")
		}
		oneOf(&c.faults, path.Child("whenUnsatisfiable"), s.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)
		for _, other := range list[i+1:] {
			if s.TopologyKey == other.TopologyKey && s.WhenUnsatisfiable == other.WhenUnsatisfiable {
				c.duplicate(path.Child("{topologyKey, whenUnsatisfiable}"), fmt.Sprintf("{%v, %v}", s.TopologyKey, s.WhenUnsatisfiable))
				break
			}
		}
		if n := s.MinDomains; n != nil {
			c.add(common.Positive(int64(*n), path.Child("minDomains")))
			if s.WhenUnsatisfiable != corev1.DoNotSchedule {
				c.invalid(path.Child("minDomains"), n, fmt.Sprintf("can only use minDomains if whenUnsatisfiable=%s, not %s", corev1.DoNotSchedule, s.WhenUnsatisfiable))
			}
		}
		for _, p := range []struct {
			name   string
			policy *corev1.NodeInclusionPolicy
		}{{"nodeAffinityPolicy", s.NodeAffinityPolicy}, {"nodeTaintsPolicy", s.NodeTaintsPolicy}} {
			if p.policy != nil {
				oneOf(&c.faults, path.Child(p.name), *p.policy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			}
		}
		c.labelKeys(s.MatchLabelKeys, nil, s.LabelSelector, path)
		c.add(common.LabelSelector(s.LabelSelector, path.Child("labelSelector")))
	}
}
