package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"kuberow/controllers"
)

// Affinity between pods: which pods a pod must, may not, or would like to be near.
// "Near" is a domain: the nodes with the same value of a label.

// peerTerm is one term, ready to be tested.
type peerTerm struct {
	namespaces map[string]bool // nil: any
	selector   labels.Selector
	topology   string
	weight     float64 // of a preference; negative for anti-affinity
}

// domain names the nodes with one value of a label.
type domain struct{ key, value string }

// peerRules are a pod's terms, with the domains where their pods are.
type peerRules struct {
	pod       *corev1.Pod
	affinity  []peerTerm
	anti      []peerTerm
	near      map[domain]int  // domains that have pods meeting all affinity terms
	bootstrap bool            // no pod anywhere does, but this one would itself
	clash     map[domain]bool // domains with a pod that an anti-affinity term names
	refused   map[domain]bool // domains where a pod does not want this one
	wishes    map[domain]float64
}

// hasAntiAffinity says whether a pod may refuse others.
func hasAntiAffinity(p *corev1.Pod) bool {
	a := p.Spec.Affinity
	return a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// peerRules works out a pod's rules.
func (c *cluster) peerRules(p *corev1.Pod) *peerRules {
	r := &peerRules{pod: p, near: map[domain]int{}, clash: map[domain]bool{}, refused: map[domain]bool{}, wishes: map[domain]float64{}}
	var wishes []peerTerm
	if a := p.Spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			r.affinity = c.terms(p, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			wishes = append(wishes, c.weighted(p, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, 1)...)
		}
		if a.PodAntiAffinity != nil {
			r.anti = c.terms(p, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			wishes = append(wishes, c.weighted(p, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, -1)...)
		}
	}
	for _, placed := range c.antiPods {
		for _, t := range c.terms(placed.pod, placed.pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) {
			if value, ok := placed.node.Labels[t.topology]; ok && c.meets(t, p) {
				r.refused[domain{t.topology, value}] = true
			}
		}
	}
	if len(r.affinity)+len(r.anti)+len(wishes) > 0 {
		c.findPeers(r, wishes)
	}
	return r
}

// findPeers looks at every placed pod.
func (c *cluster) findPeers(r *peerRules, wishes []peerTerm) {
	for _, n := range c.nodes {
		for _, p := range n.pods {
			if len(r.affinity) > 0 && c.meetsAll(r.affinity, p) {
				for _, t := range r.affinity {
					if value, ok := n.node.Labels[t.topology]; ok {
						r.near[domain{t.topology, value}]++
					}
				}
			}
			for _, t := range r.anti {
				if value, ok := n.node.Labels[t.topology]; ok && c.meets(t, p) {
					r.clash[domain{t.topology, value}] = true
				}
			}
			for _, t := range wishes {
				if value, ok := n.node.Labels[t.topology]; ok && c.meets(t, p) {
					r.wishes[domain{t.topology, value}] += t.weight
				}
			}
		}
	}
	r.bootstrap = len(r.near) == 0 && c.meetsAll(r.affinity, r.pod)
}

// terms makes terms of pod ready.
func (c *cluster) terms(p *corev1.Pod, list []corev1.PodAffinityTerm) []peerTerm {
	out := make([]peerTerm, 0, len(list))
	for i := range list {
		t := &list[i]
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			selector = labels.Nothing()
		}
		out = append(out, peerTerm{selector: selector, topology: t.TopologyKey, namespaces: c.namespaces(p, t)})
	}
	return out
}

// weighted makes preferred terms ready.
func (c *cluster) weighted(p *corev1.Pod, list []corev1.WeightedPodAffinityTerm, sign float64) []peerTerm {
	var out []peerTerm
	for i := range list {
		t := c.terms(p, []corev1.PodAffinityTerm{list[i].PodAffinityTerm})[0]
		t.weight = sign * float64(list[i].Weight)
		out = append(out, t)
	}
	return out
}

// namespaces are those that a term speaks of: the listed ones and the selected ones; the pod's own when neither is given.
func (c *cluster) namespaces(p *corev1.Pod, t *corev1.PodAffinityTerm) map[string]bool {
	if len(t.Namespaces) == 0 && t.NamespaceSelector == nil {
		return map[string]bool{p.Namespace: true}
	}
	out := map[string]bool{}
	for _, name := range t.Namespaces {
		out[name] = true
	}
	if t.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(t.NamespaceSelector)
		if err != nil {
			return out
		}
		if selector.Empty() {
			return nil
		}
		for _, ns := range c.v.List(controllers.Namespaces, "", selector) {
			if n, ok := ns.(*corev1.Namespace); ok {
				out[n.Name] = true
			}
		}
	}
	return out
}

// meets says whether a pod is one that the term names.
func (c *cluster) meets(t peerTerm, p *corev1.Pod) bool {
	return (t.namespaces == nil || t.namespaces[p.Namespace]) && t.selector.Matches(labels.Set(p.Labels))
}

// meetsAll says whether a pod is named by all terms.
func (c *cluster) meetsAll(terms []peerTerm, p *corev1.Pod) bool {
	for _, t := range terms {
		if !c.meets(t, p) {
			return false
		}
	}
	return len(terms) > 0
}

func checkPeers(_ *cluster, q *question, n *nodeState) *verdict {
	r := q.peers
	near := true
	for _, t := range r.affinity {
		value, ok := n.node.Labels[t.topology]
		if !ok {
			return noEver("node(s) didn't match pod affinity rules")
		}
		near = near && r.near[domain{t.topology, value}] > 0
	}
	if !near && !r.bootstrap {
		return noEver("node(s) didn't match pod affinity rules")
	}
	for _, t := range r.anti {
		if value, ok := n.node.Labels[t.topology]; ok && r.clash[domain{t.topology, value}] {
			return no("node(s) didn't match pod anti-affinity rules")
		}
	}
	for key, value := range n.node.Labels {
		if len(r.refused) > 0 && r.refused[domain{key, value}] {
			return no("node(s) didn't satisfy existing pods anti-affinity rules")
		}
	}
	return nil
}

// prefers says whether the pod has wishes about a domain that there is.
func (r *peerRules) prefers() bool { return len(r.wishes) > 0 }

// preference sums the wishes about a node's domains.
func (r *peerRules) preference(n *corev1.Node) float64 {
	sum := 0.0
	for d, weight := range r.wishes {
		if value, ok := n.Labels[d.key]; ok && value == d.value {
			sum += weight
		}
	}
	return sum
}
