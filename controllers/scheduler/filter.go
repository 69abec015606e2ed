package scheduler

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"kuberow/controllers"
)

// Filtering: which nodes can take a pod at all. The checks run in the order of
// kube-scheduler's plugins; the first that says no counts the node under its reason.

// verdict is a node's no. lasting means that removing pods from it would not help.
type verdict struct {
	reasons []string
	lasting bool
}

func no(reason string) *verdict     { return &verdict{reasons: []string{reason}} }
func noEver(reason string) *verdict { return &verdict{reasons: []string{reason}, lasting: true} }

// question is what a pod asks, worked out once for all nodes.
type question struct {
	pod      *corev1.Pod
	requests amounts
	ports    []hostPort
	affinity nodeaffinity.RequiredNodeAffinity
	names    map[string]bool // the only nodes that node affinity by name leaves; nil for all
	volumes  []nodeNeed
	late     []*corev1.PersistentVolumeClaim // that get a volume when the node is known
	spread   []spreadCount
	peers    *peerRules
}

// check is one filter.
type check func(c *cluster, q *question, n *nodeState) *verdict

// checks in kube-scheduler's order.
var checks = []check{
	checkName, checkUnschedulable, checkTaints, checkAffinity, checkPorts, checkResources, checkVolumes, checkSpread, checkPeers,
}

// decision is what came of a pod: a node, or why there is none and whom to evict for one.
type decision struct {
	node      *nodeState
	question  *question
	why       string
	evictions *plan
}

// place decides where a pod goes.
func (c *cluster) place(p *corev1.Pod) decision {
	if len(c.nodes) == 0 {
		return decision{why: "no nodes available to schedule pods"}
	}
	q, refused := c.ask(p)
	if refused != "" {
		return decision{why: beforeFilters(len(c.nodes), refused)}
	}
	var fit []*nodeState
	verdicts := map[*nodeState]*verdict{}
	for _, n := range c.nodes {
		if q.names != nil && !q.names[n.node.Name] {
			verdicts[n] = noEver("node(s) didn't satisfy plugin(s) [NodeAffinity]")
			continue
		}
		if no := c.filter(q, n); no != nil {
			verdicts[n] = no
			continue
		}
		fit = append(fit, n)
	}
	if len(fit) == 0 {
		evictions, said := c.preempt(p, verdicts)
		return decision{why: afterFilters(len(c.nodes), verdicts, said), evictions: evictions}
	}
	return decision{node: c.best(q, fit), question: q}
}

// filter gives a node's no, nil when it can take the pod.
func (c *cluster) filter(q *question, n *nodeState) *verdict {
	for _, check := range checks {
		if no := check(c, q, n); no != nil {
			return no
		}
	}
	return nil
}

// ask works a pod's question out; the text says why no node can do, whatever it is.
func (c *cluster) ask(p *corev1.Pod) (*question, string) {
	q := &question{pod: p, requests: requests(p), ports: hostPorts(p), affinity: nodeaffinity.GetRequiredNodeAffinity(p)}
	var refused string
	if q.names, refused = namedNodes(p); refused != "" {
		return nil, refused
	}
	if q.volumes, q.late, refused = volumeNeeds(c.v, p); refused != "" {
		return nil, refused
	}
	q.spread = c.countSpread(q, corev1.DoNotSchedule)
	q.peers = c.peerRules(p)
	return q, ""
}

// namedNodes reads node affinity of the form metadata.name In [x], which DaemonSet pods have: the only nodes that count.
func namedNodes(p *corev1.Pod) (map[string]bool, string) {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil, ""
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	names := map[string]bool{}
	for _, t := range terms {
		var of map[string]bool
		for _, r := range t.MatchFields {
			if r.Key != "metadata.name" || r.Operator != corev1.NodeSelectorOpIn {
				continue
			}
			here := map[string]bool{}
			for _, name := range r.Values {
				if of == nil || of[name] {
					here[name] = true
				}
			}
			of = here
		}
		if of == nil {
			return nil, "" // this term allows any name
		}
		for name := range of {
			names[name] = true
		}
	}
	if len(names) == 0 && len(terms) > 0 {
		return nil, "pod affinity terms conflict"
	}
	return names, ""
}

func checkName(_ *cluster, q *question, n *nodeState) *verdict {
	if q.pod.Spec.NodeName != "" && q.pod.Spec.NodeName != n.node.Name {
		return noEver("node(s) didn't match the requested node name")
	}
	return nil
}

func checkUnschedulable(_ *cluster, q *question, n *nodeState) *verdict {
	taint := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if n.node.Spec.Unschedulable && !tolerates(q.pod, &taint) {
		return noEver("node(s) were unschedulable")
	}
	return nil
}

// tolerates says whether a pod bears a taint.
func tolerates(p *corev1.Pod, taint *corev1.Taint) bool {
	return schedulinghelper.TolerationsTolerateTaint(klog.Background(), p.Spec.Tolerations, taint, false)
}

func checkTaints(_ *cluster, q *question, n *nodeState) *verdict {
	for i := range n.node.Spec.Taints {
		t := &n.node.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !tolerates(q.pod, t) {
			return noEver("node(s) had untolerated taint(s)")
		}
	}
	return nil
}

func checkAffinity(_ *cluster, q *question, n *nodeState) *verdict {
	if ok, err := q.affinity.Match(n.node); err != nil || !ok {
		return noEver("node(s) didn't match Pod's node affinity/selector")
	}
	return nil
}

func checkPorts(_ *cluster, q *question, n *nodeState) *verdict {
	if len(q.ports) > 0 && n.portsClash(q.ports) {
		return no("node(s) didn't have free ports for the requested pod ports")
	}
	return nil
}

// checkResources names every resource that is missing. What is more than the node has at all no eviction helps.
func checkResources(_ *cluster, q *question, n *nodeState) *verdict {
	out := verdict{}
	if int64(len(n.pods))+1 > n.allocatable[corev1.ResourcePods] {
		out.reasons = append(out.reasons, "Too many pods")
	}
	names := make([]string, 0, len(q.requests))
	for name := range q.requests {
		names = append(names, string(name))
	}
	sort.Strings(names)
	for _, s := range names {
		name := corev1.ResourceName(s)
		want := q.requests[name]
		if want > 0 && want > n.allocatable[name]-n.requested[name] {
			out.reasons = append(out.reasons, fmt.Sprintf("Insufficient %s", name))
			out.lasting = out.lasting || want > n.allocatable[name]
		}
	}
	if len(out.reasons) == 0 {
		return nil
	}
	return &out
}

func checkVolumes(c *cluster, q *question, n *nodeState) *verdict {
	for _, need := range q.volumes {
		if !need.fits(n.node) {
			return noEver(need.reason)
		}
	}
	if len(q.late) > 0 {
		if _, ok := c.chooseLate(q, n.node); !ok {
			return noEver("node(s) didn't find available persistent volumes to bind")
		}
	}
	return nil
}

// get is View.Get with a type.
func get[T any](v controllers.View, gr controllers.Resource, namespace, name string) (T, bool) {
	t, ok := any(v.Get(gr, namespace, name)).(T)
	return t, ok
}
