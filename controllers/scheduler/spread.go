package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Topology spread constraints: how many pods of a kind are in each domain (the
// nodes with one value of a label), and how uneven that may become.

// spreadCount is a constraint with its counts.
type spreadCount struct {
	constraint corev1.TopologySpreadConstraint
	self       int            // 1 when the pod itself is of the kind
	domains    map[string]int // value of the label -> pods of the kind
	least      int            // in the emptiest domain
}

// countSpread counts for the pod's constraints of one sort.
func (c *cluster) countSpread(q *question, when corev1.UnsatisfiableConstraintAction) []spreadCount {
	var out []spreadCount
	for _, k := range q.pod.Spec.TopologySpreadConstraints {
		if k.WhenUnsatisfiable != when {
			continue
		}
		selector := spreadSelector(q.pod, k)
		s := spreadCount{constraint: k, domains: map[string]int{}}
		if selector.Matches(labels.Set(q.pod.Labels)) {
			s.self = 1
		}
		for _, n := range c.nodes {
			value, ok := n.node.Labels[k.TopologyKey]
			if !ok || !hasAllKeys(q.pod, n.node, when) || !included(q, k, n) {
				continue
			}
			count := 0
			for _, p := range n.pods {
				if p.Namespace == q.pod.Namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels)) {
					count++
				}
			}
			s.domains[value] += count
		}
		s.least = leastOf(s.domains, k.MinDomains)
		out = append(out, s)
	}
	return out
}

// hasAllKeys says that a node has the label of every constraint of the sort; others do not count.
func hasAllKeys(p *corev1.Pod, n *corev1.Node, when corev1.UnsatisfiableConstraintAction) bool {
	for _, k := range p.Spec.TopologySpreadConstraints {
		if _, ok := n.Labels[k.TopologyKey]; k.WhenUnsatisfiable == when && !ok {
			return false
		}
	}
	return true
}

// included applies nodeAffinityPolicy and nodeTaintsPolicy.
func included(q *question, k corev1.TopologySpreadConstraint, n *nodeState) bool {
	if k.NodeAffinityPolicy == nil || *k.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		if ok, _ := q.affinity.Match(n.node); !ok {
			return false
		}
	}
	if k.NodeTaintsPolicy != nil && *k.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		return checkTaints(nil, q, n) == nil
	}
	return true
}

// spreadSelector is the constraint's selector, with the values that matchLabelKeys take from the pod.
func spreadSelector(p *corev1.Pod, k corev1.TopologySpreadConstraint) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(k.LabelSelector)
	if err != nil {
		return labels.Nothing()
	}
	set := labels.Set{}
	for _, key := range k.MatchLabelKeys {
		if value, ok := p.Labels[key]; ok {
			set[key] = value
		}
	}
	if len(set) == 0 {
		return selector
	}
	more, _ := labels.SelectorFromSet(set).Requirements()
	return selector.Add(more...)
}

// leastOf is the count of the emptiest domain; with fewer than minDomains the emptiest is one that is not there yet.
func leastOf(domains map[string]int, minDomains *int32) int {
	if minDomains != nil && len(domains) < int(*minDomains) {
		return 0
	}
	least := math.MaxInt32
	for _, n := range domains {
		least = min(least, n)
	}
	if least == math.MaxInt32 {
		return 0
	}
	return least
}

func checkSpread(_ *cluster, q *question, n *nodeState) *verdict {
	for _, s := range q.spread {
		value, ok := n.node.Labels[s.constraint.TopologyKey]
		if !ok {
			return noEver("node(s) didn't match pod topology spread constraints (missing required label)")
		}
		if s.domains[value]+s.self-s.least > int(s.constraint.MaxSkew) {
			return no("node(s) didn't match pod topology spread constraints")
		}
	}
	return nil
}

// crowding sums the counts of a node's domains, for the soft constraints.
func crowding(soft []spreadCount, n *nodeState) float64 {
	sum := 0.0
	for _, s := range soft {
		value, ok := n.node.Labels[s.constraint.TopologyKey]
		if !ok {
			sum += 1e6
			continue
		}
		sum += float64(s.domains[value])
	}
	return sum
}
