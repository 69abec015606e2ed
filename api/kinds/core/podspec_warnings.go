package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Warnings about a PodSpec: what is allowed, and most likely not what was meant.
// They stand in upstream's order, because clients print them in the order received.

// warnings collects texts.
type warnings struct{ out []string }

func (w *warnings) add(format string, args ...any) {
	w.out = append(w.out, fmt.Sprintf(format, args...))
}

// PodTemplateWarnings warns about a template that stands at path; a pod passes itself as one, with a nil path.
func PodTemplateWarnings(t *corev1.PodTemplateSpec, path *field.Path) []string {
	if t == nil {
		return nil
	}
	w := &warnings{}
	s := path.Child("spec")
	w.nodeLabels(&t.Spec, s)
	w.annotations(t, path)
	w.volumes(t.Spec.Volumes, s.Child("volumes"))
	w.overlaps(t.Spec.Volumes)
	w.repeated(&t.Spec, s)
	w.fractions(t.Spec.Overhead, s.Child("overhead"))
	w.containers(t, path)
	w.ports(&t.Spec, s)
	if g := t.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 {
		w.add("%s: must be >= 0; negative values are invalid and will be treated as 1", s.Child("terminationGracePeriodSeconds"))
	}
	w.nullSelectors(&t.Spec, s.Child("affinity"))
	w.addresses(&t.Spec, s)
	return w.out
}

// DeprecatedNodeLabels are labels of nodes that should not be used any more, and what to say about them.
func DeprecatedNodeLabels() map[string]string {
	return map[string]string{
		"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
		"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
		"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
		"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
		"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
		"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
		"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
		"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
	}
}

func (w *warnings) nodeLabels(s *corev1.PodSpec, path *field.Path) {
	old := DeprecatedNodeLabels()
	for _, key := range common.Keys(s.NodeSelector) {
		if m, is := old[key]; is {
			w.add("%s: %s", path.Child("nodeSelector").Key(key), m)
		}
	}
	if a := s.Affinity; a != nil && a.NodeAffinity != nil {
		path := path.Child("affinity", "nodeAffinity")
		if r := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
			for i := range r.NodeSelectorTerms {
				w.nodeTerm(&r.NodeSelectorTerms[i], labelValues, path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Index(i))
			}
		}
		for i := range a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
			t := &a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[i]
			w.nodeTerm(&t.Preference, looseValues, path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("preference"))
		}
	}
	for i, t := range s.TopologySpreadConstraints {
		path := path.Child("topologySpreadConstraints").Index(i)
		if m, is := old[t.TopologyKey]; is {
			w.add("%s: %s is %s", path.Child("topologyKey"), t.TopologyKey, m)
		}
		if t.LabelSelector == nil {
			w.add("%s: a null labelSelector results in matching no pod", path.Child("labelSelector"))
		}
	}
}

func (w *warnings) nodeTerm(t *corev1.NodeSelectorTerm, rule valueRule, path *field.Path) {
	old := DeprecatedNodeLabels()
	for i, e := range t.MatchExpressions {
		path := path.Child("matchExpressions").Index(i)
		if m, is := old[e.Key]; is {
			w.add("%s: %s is %s", path.Child("key"), e.Key, m)
		}
		if rule == looseValues {
			for j, v := range e.Values {
				for _, m := range validation.IsValidLabelValue(v) {
					w.add("%s: %s is invalid, %s", path.Child("values").Index(j), v, m)
				}
			}
		}
	}
}

func (w *warnings) annotations(t *corev1.PodTemplateSpec, path *field.Path) {
	for _, a := range [][2]string{
		{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
		{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
		{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	} {
		if _, has := t.Annotations[a[0]]; has {
			w.add("%s: %s", path.Child("metadata", "annotations").Key(a[0]), a[1])
		}
	}
}

func (w *warnings) volumes(list []corev1.Volume, path *field.Path) {
	for i, v := range list {
		path := path.Index(i)
		for _, old := range []struct {
			there      bool
			name, text string
		}{
			{v.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
			{v.GitRepo != nil, "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
			{v.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
			{v.Flocker != nil, "flocker", "deprecated in v1.22, non-functional in v1.25+"},
			{v.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Quobyte != nil, "quobyte", "deprecated in v1.22, non-functional in v1.25+"},
			{v.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		} {
			if old.there {
				w.add("%s: %s", path.Child(old.name), old.text)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			w.out = append(w.out, ClaimSpecWarnings(&v.Ephemeral.VolumeClaimTemplate.Spec, path.Child("ephemeral", "volumeClaimTemplate", "spec"))...)
		}
		if v.CephFS != nil {
			w.add("%s: deprecated in v1.28, non-functional in v1.31+", path.Child("cephfs"))
		}
		if v.RBD != nil {
			w.add("%s: deprecated in v1.28, non-functional in v1.31+", path.Child("rbd"))
		}
	}
}

func (w *warnings) repeated(s *corev1.PodSpec, path *field.Path) {
	seen := sets.New[string]()
	for i, a := range s.HostAliases {
		if seen.Has(a.IP) {
			w.add("%s: duplicate ip %q", path.Child("hostAliases").Index(i).Child("ip"), a.IP)
		}
		seen.Insert(a.IP)
	}
	seen = sets.New[string]()
	for i, r := range s.ImagePullSecrets {
		if seen.Has(r.Name) {
			w.add("%s: duplicate name %q", path.Child("imagePullSecrets").Index(i).Child("name"), r.Name)
		}
		seen.Insert(r.Name)
	}
	for i, r := range s.ImagePullSecrets {
		if r.Name == "" {
			w.add("%s: invalid empty name %q", path.Child("imagePullSecrets").Index(i).Child("name"), r.Name)
		}
	}
}

// fractions: there are no parts of a byte.
func (w *warnings) fractions(list corev1.ResourceList, path *field.Path) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, has := list[name]; has && q.MilliValue()%1000 != 0 {
			w.add("%s: fractional byte value %q is invalid, must be an integer", path.Key(string(name)), q.String())
		}
	}
}

func (w *warnings) nullSelectors(s *corev1.PodSpec, path *field.Path) {
	if s.Affinity == nil {
		return
	}
	check := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) {
		for i := range required {
			if required[i].LabelSelector == nil {
				w.add("%s: a null labelSelector results in matching no pod", path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i).Child("labelSelector"))
			}
		}
		for i := range preferred {
			if preferred[i].PodAffinityTerm.LabelSelector == nil {
				w.add("%s: a null labelSelector results in matching no pod", path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i).Child("podAffinityTerm", "labelSelector"))
			}
		}
	}
	if p := s.Affinity.PodAffinity; p != nil {
		check(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAffinity"))
	}
	if p := s.Affinity.PodAntiAffinity; p != nil {
		check(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution, path.Child("podAntiAffinity"))
	}
}

func (w *warnings) addresses(s *corev1.PodSpec, path *field.Path) {
	if s.DNSConfig != nil {
		for i, ns := range s.DNSConfig.Nameservers {
			w.out = append(w.out, validation.GetWarningsForIP(path.Child("dnsConfig", "nameservers").Index(i), ns)...)
		}
	}
	for i, a := range s.HostAliases {
		w.out = append(w.out, validation.GetWarningsForIP(path.Child("hostAliases").Index(i).Child("ip"), a.IP)...)
	}
}
