package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// Preemption: a pod that fits nowhere may have the place of pods of lower priority. They are deleted, and the pod waits for
// them to go: status.nominatedNodeName says where. Nothing is held for it meanwhile; it is tried first since it has priority.

// most is how many nodes are tried for victims.
const most = 100

// plan is a node that takes a pod when its victims are gone, the most important victim first.
type plan struct {
	node       *nodeState // without the victims
	victims    []*corev1.Pod
	violations int // of disruption budgets
}

// preempt finds the node where a pod's arrival costs least; the text is what the pod is told of it.
func (c *cluster) preempt(p *corev1.Pod, verdicts map[*nodeState]*verdict) (*plan, string) {
	if p.Spec.PreemptionPolicy != nil && *p.Spec.PreemptionPolicy == corev1.PreemptNever {
		return nil, "not eligible due to preemptionPolicy=Never."
	}
	if n := c.byKey[p.Status.NominatedNodeName]; n != nil && !verdicts[n].lasting && slices.ContainsFunc(n.pods, func(o *corev1.Pod) bool {
		return priority(o) < priority(p) && makesRoom(o)
	}) {
		return nil, "not eligible due to a terminating pod on the nominated node."
	}
	var best *plan
	counts, tried := map[string]int{}, 0
	for _, n := range c.nodes {
		no := verdicts[n]
		if no.lasting {
			counts["Preemption is not helpful for scheduling"]++
			continue
		}
		var found *plan
		reasons := []string{"No preemption victims found for incoming pod"}
		if tried < most && slices.ContainsFunc(n.pods, func(o *corev1.Pod) bool { return priority(o) < priority(p) }) {
			tried++
			found, reasons = c.victims(p, n)
		}
		if found == nil {
			for _, why := range reasons {
				counts[why]++
			}
		} else if best == nil || found.costs(best) < 0 {
			best = found
		}
	}
	if best == nil {
		return nil, available(len(c.nodes), counts)
	}
	return best, fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", best.node.node.Name, len(best.victims))
}

// makesRoom says that a pod goes because it was preempted.
func makesRoom(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
	})
}

// victims takes all pods of lower priority off a node, then lets stay whom it can: first those whose budget would be
// violated, and the more important before others. The reasons say why the pod does not fit even then.
func (c *cluster) victims(p *corev1.Pod, n *nodeState) (*plan, []string) {
	gone := map[*corev1.Pod]bool{}
	var lower []*corev1.Pod
	for _, o := range n.pods {
		if priority(o) < priority(p) {
			gone[o] = true
			lower = append(lower, o)
		}
	}
	if _, no := c.tryWithout(p, n, gone); no != nil {
		return nil, no.reasons
	}
	slices.SortStableFunc(lower, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(priority(b), priority(a)), startOf(a).Compare(startOf(b).Time))
	})
	violating := c.violating(lower)
	out := &plan{}
	for _, protected := range []bool{true, false} {
		for _, o := range lower {
			if violating[o] != protected {
				continue
			}
			delete(gone, o)
			if _, no := c.tryWithout(p, n, gone); no != nil {
				gone[o] = true
				if protected {
					out.violations++
				}
			}
		}
	}
	out.victims = slices.DeleteFunc(lower, func(o *corev1.Pod) bool { return !gone[o] })
	out.node, _ = c.tryWithout(p, n, gone)
	return out, nil
}

// tryWithout asks whether a node takes the pod when others are gone from it.
func (c *cluster) tryWithout(p *corev1.Pod, n *nodeState, gone map[*corev1.Pod]bool) (*nodeState, *verdict) {
	left := &nodeState{node: n.node, allocatable: n.allocatable, requested: amounts{}, nonzero: amounts{}, ports: map[hostPort]bool{}}
	for _, o := range n.pods {
		if !gone[o] {
			left.add(o)
		}
	}
	trial := &cluster{v: c.v, byKey: c.byKey, nodes: slices.Clone(c.nodes)}
	trial.nodes[slices.Index(c.nodes, n)] = left
	trial.antiPods = slices.DeleteFunc(slices.Clone(c.antiPods), func(o placedPod) bool { return gone[o.pod] })
	q, refused := trial.ask(p)
	if refused != "" {
		return left, no(refused)
	}
	return left, trial.filter(q, left)
}

// violating are the pods that no budget allows to go, when they are asked in this order.
func (c *cluster) violating(pods []*corev1.Pod) map[*corev1.Pod]bool {
	out, allowed := map[*corev1.Pod]bool{}, map[*policyv1.PodDisruptionBudget]int32{}
	budgets := list[*policyv1.PodDisruptionBudget](c.v, controllers.PodDisruptionBudgets)
	for _, b := range budgets {
		allowed[b] = b.Status.DisruptionsAllowed
	}
	for _, p := range pods {
		for _, b := range budgets {
			selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
			if _, disrupted := b.Status.DisruptedPods[p.Name]; err != nil || disrupted || b.Namespace != p.Namespace || len(p.Labels) == 0 ||
				selector.Empty() || !selector.Matches(labels.Set(p.Labels)) {
				continue
			}
			allowed[b]--
			out[p] = out[p] || allowed[b] < 0
		}
	}
	return out
}

// costs compares two plans: budgets violated, the most important victim, the sum of priorities, the number, who ran longest.
func (p *plan) costs(o *plan) int {
	sum := func(p *plan) (n int64) {
		for _, v := range p.victims {
			n += int64(priority(v)) + 1<<31
		}
		return n
	}
	eldest := func(p *plan) metav1.Time {
		at := startOf(p.victims[0])
		for _, v := range p.victims {
			if s := startOf(v); priority(v) == priority(p.victims[0]) && s.Before(&at) {
				at = s
			}
		}
		return at
	}
	return cmp.Or(cmp.Compare(p.violations, o.violations), cmp.Compare(priority(p.victims[0]), priority(o.victims[0])),
		cmp.Compare(sum(p), sum(o)), cmp.Compare(len(p.victims), len(o.victims)), eldest(o).Compare(eldest(p).Time))
}

// startOf is when a pod began to run; one that has not is the youngest.
func startOf(p *corev1.Pod) metav1.Time {
	if p.Status.StartTime != nil {
		return *p.Status.StartTime
	}
	return metav1.Time{Time: p.CreationTimestamp.AddDate(1000, 0, 0)}
}

// accept counts the pod in place of its victims, so that the next one of this step does not send them off again.
func (c *cluster) accept(e *plan, p *corev1.Pod) string {
	name := e.node.node.Name
	i := slices.Index(c.nodes, c.byKey[name])
	e.node.add(p)
	c.nodes[i], c.byKey[name] = e.node, e.node
	return name
}

// evict makes the writes that send a victim off.
func evict(v controllers.View, p, victim *corev1.Pod, node string) []controllers.Write {
	k, at := keyOf(p), metav1.NewTime(v.Now())
	target := kinds.Write{Resource: controllers.Pods, Namespace: victim.Namespace, Name: victim.Name}
	note := controllers.Write{Verb: controllers.Mutate, Key: k, Ignore: apierrors.IsNotFound, Write: target}
	note.Subresource = "status"
	note.Mutate = func(obj runtime.Object) error {
		now, ok := obj.(*corev1.Pod)
		if !ok || now.UID != victim.UID {
			return nil // another of the same name
		}
		c := corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
			Message: Name + ": preempting to accommodate a higher priority pod", LastTransitionTime: at, ObservedGeneration: victim.Generation}
		same := func(o corev1.PodCondition) bool { return o.Type == c.Type }
		now.Status.Conditions = append(slices.DeleteFunc(slices.Clone(now.Status.Conditions), same), c)
		return nil
	}
	gone := controllers.Write{Verb: controllers.Delete, Key: k, Write: target,
		Ignore: func(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }}
	gone.UID = victim.UID
	gone.Done = func(runtime.Object) []controllers.Write {
		w := event(k, victim, corev1.EventTypeNormal, "Preempted", "Preempting", fmt.Sprintf("Preempted by pod %s on node %s", p.UID, node))
		return []controllers.Write{w}
	}
	return []controllers.Write{note, gone}
}
