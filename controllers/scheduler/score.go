package scheduler

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Scoring: which of the nodes that fit is best. Each scorer gives a number per
// node, which is brought to 0..100 and weighted as kube-scheduler does. Ties go to
// the node with the fewest pods, then to the first by name, so that a run can be repeated.

const highest = 100

// scorer gives raw scores; lowIsGood turns them around.
type scorer struct {
	weight    float64
	lowIsGood bool
	score     func(c *cluster, q *question, n *nodeState) float64
	scaled    bool // is 0..100 already
}

// best picks a node.
func (c *cluster) best(q *question, fit []*nodeState) *nodeState {
	if len(fit) == 1 {
		return fit[0]
	}
	total := make([]float64, len(fit))
	for _, s := range c.scorers(q) {
		raw := make([]float64, len(fit))
		top := 0.0
		for i, n := range fit {
			raw[i] = s.score(c, q, n)
			top = math.Max(top, raw[i])
		}
		for i := range raw {
			switch {
			case s.scaled:
			case top == 0:
				raw[i] = 0
				if s.lowIsGood {
					raw[i] = highest
				}
			case s.lowIsGood:
				raw[i] = highest * (top - raw[i]) / top
			default:
				raw[i] = highest * raw[i] / top
			}
			total[i] += s.weight * raw[i]
		}
	}
	at := 0
	for i := range fit {
		if total[i] > total[at] || (total[i] == total[at] && len(fit[i].pods) < len(fit[at].pods)) {
			at = i
		}
	}
	return fit[at]
}

// scorers are those that have something to say about the pod.
func (c *cluster) scorers(q *question) []scorer {
	scorers := []scorer{
		{weight: 1, score: leastAllocated, scaled: true},
		{weight: 1, score: balanced, scaled: true},
		{weight: 3, score: preferredTaints, lowIsGood: true},
		{weight: 2, score: sameOwner(q.pod), lowIsGood: true},
	}
	if preferred := preferredAffinity(q.pod); preferred != nil {
		scorers = append(scorers, scorer{weight: 2, score: preferred})
	}
	if soft := c.countSpread(q, corev1.ScheduleAnyway); len(soft) > 0 {
		scorers = append(scorers, scorer{weight: 2, lowIsGood: true, score: func(_ *cluster, q *question, n *nodeState) float64 {
			return crowding(soft, n)
		}})
	}
	if q.peers.prefers() {
		low := math.Inf(1)
		for _, n := range c.nodes {
			low = math.Min(low, q.peers.preference(n.node))
		}
		scorers = append(scorers, scorer{weight: 2, score: func(_ *cluster, q *question, n *nodeState) float64 {
			return q.peers.preference(n.node) - low
		}})
	}
	return scorers
}

// leastAllocated prefers nodes with much left.
func leastAllocated(_ *cluster, q *question, n *nodeState) float64 {
	sum, of := 0.0, 0.0
	for name, want := range nonzeroRequests(q.pod) {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			continue
		}
		capacity := n.allocatable[name]
		if capacity == 0 {
			continue
		}
		of++
		if used := n.nonzero[name] + want; used <= capacity {
			sum += highest * float64(capacity-used) / float64(capacity)
		}
	}
	if of == 0 {
		return 0
	}
	return math.Floor(sum / of)
}

// balanced prefers nodes where cpu and memory would be used to the same degree.
func balanced(_ *cluster, q *question, n *nodeState) float64 {
	want := nonzeroRequests(q.pod)
	share := func(name corev1.ResourceName) float64 {
		if n.allocatable[name] == 0 {
			return 1
		}
		return math.Min(1, float64(n.nonzero[name]+want[name])/float64(n.allocatable[name]))
	}
	return math.Floor(highest * (1 - math.Abs(share(corev1.ResourceCPU)-share(corev1.ResourceMemory))/2))
}

// preferredTaints counts the taints of effect PreferNoSchedule that the pod does not bear.
func preferredTaints(_ *cluster, q *question, n *nodeState) float64 {
	count := 0.0
	for i := range n.node.Spec.Taints {
		t := &n.node.Spec.Taints[i]
		if t.Effect == corev1.TaintEffectPreferNoSchedule && !tolerates(q.pod, t) {
			count++
		}
	}
	return count
}

// sameOwner counts the pods of the same controlling owner on a node, so that replicas spread.
func sameOwner(p *corev1.Pod) func(*cluster, *question, *nodeState) float64 {
	ref := metav1.GetControllerOfNoCopy(p)
	return func(_ *cluster, _ *question, n *nodeState) float64 {
		if ref == nil {
			return 0
		}
		count := 0.0
		for _, other := range n.pods {
			if o := metav1.GetControllerOfNoCopy(other); o != nil && o.UID == ref.UID {
				count++
			}
		}
		return count
	}
}

// preferredAffinity sums the weights of the preferred node affinity terms that a node meets.
func preferredAffinity(p *corev1.Pod) func(*cluster, *question, *nodeState) float64 {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || len(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil
	}
	return func(_ *cluster, _ *question, n *nodeState) float64 { return float64(terms.Score(n.node)) }
}
