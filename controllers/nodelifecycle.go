package controllers

import (
	"fmt"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The node lifecycle controller believes a node as long as its lease is
// renewed. Then it says that nothing is known of it, and taints it: the taints keep new pods
// away and, in taint-eviction-controller, send the old ones off. It also keeps old names of labels. Key: a Node; Key{} every
// five seconds for the clock's sake. Woken by nodes.

const (
	monitorPeriod = 5 * time.Second
	gracePeriod   = 50 * time.Second // without a sign of life
)

// watchedConditions are those that a silent kubelet does not vouch for any more.
var watchedConditions = []corev1.NodeConditionType{
	corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure,
}

var nodeKind = corev1.SchemeGroupVersion.WithKind("Node")

// NodeLifecycle is node-lifecycle-controller.
func NodeLifecycle() Controller {
	var began time.Time // signs of life from before this process count as from now
	return Controller{
		Name:    "node-lifecycle-controller",
		Account: "node-controller",
		Every:   monitorPeriod,
		Keys:    keyMap{Nodes: nodeLifecycleKeys},
		Step: func(v View, keys []Key) Outcome {
			if began.IsZero() {
				began = v.Now()
			}
			var out Outcome
			for _, node := range typed[*corev1.Node](v.List(Nodes, "", nil)) {
				k := NameKey(node)
				switch {
				case slices.Contains(keys, Key{}):
					if !watchNode(v, k, node, began, &out) {
						taintNode(v, k, node, &out)
					}
				case slices.Contains(keys, k):
					labelNode(k, node, &out)
					taintNode(v, k, node, &out)
				}
			}
			for _, k := range keys {
				registerNode(v, k, &out)
			}
			return out
		},
	}
}

// registration marks the key under which a new or removed node is told of.
const registration = "registration"

// nodeLifecycleKeys gives a node's key, and another when it came or went.
func nodeLifecycleKeys(_ View, c Object) []Key {
	m := accessor(c.Current())
	keys := []Key{{Name: m.GetName()}}
	if c.Now == nil || c.Prev == nil {
		keys = append(keys, Key{Namespace: registration, Name: m.GetName(), UID: m.GetUID()})
	}
	return keys
}

// registerNode tells that a node came or went.
func registerNode(v View, k Key, out *Outcome) {
	if k.Namespace != registration {
		return
	}
	reason, what := "RegisteredNode", "Registered Node %s in Controller"
	if v.Get(Nodes, "", k.Name) == nil {
		reason, what = "RemovingNode", "Removing Node %s from Controller"
	}
	about := corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: k.Name, UID: k.UID}
	out.Writes = append(out.Writes, record(k, "node-controller", about, corev1.EventTypeNormal, reason,
		fmt.Sprintf("Node %s event: "+what, k.Name, k.Name)))
}

// lastSign is when a node was last heard of.
func lastSign(v View, n *corev1.Node, began time.Time) time.Time {
	at := n.CreationTimestamp.Time
	if began.After(at) {
		at = began
	}
	if c := nodeCondition(n, corev1.NodeReady); c != nil && c.LastHeartbeatTime.After(at) {
		at = c.LastHeartbeatTime.Time
	}
	if l := get[*coordinationv1.Lease](v, Leases, leaseNamespace, n.Name); l != nil && l.Spec.RenewTime != nil && l.Spec.RenewTime.After(at) {
		at = l.Spec.RenewTime.Time
	}
	return at
}

// watchNode says that a silent node's state is unknown; true when it had to.
func watchNode(v View, k Key, n *corev1.Node, began time.Time, out *Outcome) bool {
	if v.Now().Sub(lastSign(v, n, began)) <= gracePeriod {
		return false
	}
	ready := nodeCondition(n, corev1.NodeReady)
	if ready != nil && ready.Status == corev1.ConditionUnknown {
		return false
	}
	now := metav1.NewTime(v.Now())
	out.Writes = append(out.Writes, mutation(k, Nodes, "status", n, func(node *corev1.Node) error {
		for _, t := range watchedConditions {
			c := nodeCondition(node, t)
			if c == nil {
				node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
					Type: t, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated", Message: "Kubelet never posted node status.",
					LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: now,
				})
				continue
			}
			if c.Status != corev1.ConditionUnknown {
				c.LastTransitionTime = now
			}
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
		}
		return nil
	}))
	if ready != nil && ready.Status == corev1.ConditionTrue {
		out.Writes = append(out.Writes, record(k, "node-controller", Reference(n, nodeKind), corev1.EventTypeNormal, "NodeNotReady",
			fmt.Sprintf("Node %s status is now: NodeNotReady", n.Name)))
	}
	return true
}

// labelNode keeps the labels of the system and the processor under their old names as well.
func labelNode(k Key, n *corev1.Node, out *Outcome) {
	old := map[string]string{}
	for name, system := range map[string]string{"beta.kubernetes.io/os": n.Labels[corev1.LabelOSStable], "beta.kubernetes.io/arch": n.Labels[corev1.LabelArchStable]} {
		if system != "" && n.Labels[name] != system {
			old[name] = system
		}
	}
	if len(old) == 0 {
		return
	}
	w := mutation(k, Nodes, "", n, func(node *corev1.Node) error {
		if node.Labels != nil { // else they went meanwhile, and the old ones with them
			maps.Copy(node.Labels, old)
		}
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	out.Writes = append(out.Writes, w)
}

// conditionTaints gives the taints that a node's conditions mean.
func conditionTaints(n *corev1.Node) map[corev1.Taint]bool {
	want := map[corev1.Taint]bool{}
	if n.Spec.Unschedulable {
		want[corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}] = true
	}
	for _, c := range n.Status.Conditions {
		switch {
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionFalse:
			want[corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}] = true
			want[corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}] = true
		case c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown:
			want[corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}] = true
			want[corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}] = true
		case c.Status == corev1.ConditionTrue && pressureTaints[c.Type] != "":
			want[corev1.Taint{Key: pressureTaints[c.Type], Effect: corev1.TaintEffectNoSchedule}] = true
		}
	}
	return want
}

// pressureTaints are the taints of conditions that are bad when True.
var pressureTaints = map[corev1.NodeConditionType]string{
	corev1.NodeMemoryPressure:     corev1.TaintNodeMemoryPressure,
	corev1.NodeDiskPressure:       corev1.TaintNodeDiskPressure,
	corev1.NodePIDPressure:        corev1.TaintNodePIDPressure,
	corev1.NodeNetworkUnavailable: corev1.TaintNodeNetworkUnavailable,
}

// ownsTaint says whether this controller decides about a taint. One that evicts needs to know whether the node is ready:
// until its first report it stays, while one that keeps pods away goes.
func ownsTaint(n *corev1.Node, t corev1.Taint) bool {
	switch t.Effect {
	case corev1.TaintEffectNoSchedule:
		return ownedTaints[t.Key]
	case corev1.TaintEffectNoExecute:
		return (t.Key == corev1.TaintNodeNotReady || t.Key == corev1.TaintNodeUnreachable) && nodeCondition(n, corev1.NodeReady) != nil
	}
	return false
}

// ownedTaints are the keys of those that this controller sets and takes away.
var ownedTaints = map[string]bool{
	corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true,
	corev1.TaintNodeMemoryPressure: true, corev1.TaintNodeDiskPressure: true, corev1.TaintNodePIDPressure: true,
	corev1.TaintNodeNetworkUnavailable: true,
}

// taintNode brings the taints to what the conditions mean, and tells pods of a node that is not ready.
func taintNode(v View, k Key, n *corev1.Node, out *Outcome) {
	want := conditionTaints(n)
	if !sameTaints(n, want) {
		now := metav1.NewTime(v.Now())
		out.Writes = append(out.Writes, mutation(k, Nodes, "", n, func(node *corev1.Node) error {
			node.Spec.Taints = mergeTaints(node, want, now)
			return nil
		}))
	}
	if ready := nodeCondition(n, corev1.NodeReady); ready != nil && ready.Status != corev1.ConditionTrue {
		podsNotReady(v, k, n, out)
	}
}

// sameTaints says that exactly the wanted ones of the owned taints are there.
func sameTaints(n *corev1.Node, want map[corev1.Taint]bool) bool {
	there := 0
	for _, t := range n.Spec.Taints {
		if !ownsTaint(n, t) {
			continue
		}
		if !want[corev1.Taint{Key: t.Key, Effect: t.Effect}] {
			return false
		}
		there++
	}
	return there == len(want)
}

// mergeTaints keeps foreign taints and wanted ones, and appends what is missing.
func mergeTaints(n *corev1.Node, want map[corev1.Taint]bool, now metav1.Time) []corev1.Taint {
	var out []corev1.Taint
	there := map[corev1.Taint]bool{}
	for _, t := range n.Spec.Taints {
		plain := corev1.Taint{Key: t.Key, Effect: t.Effect}
		if ownsTaint(n, t) && !want[plain] {
			continue
		}
		there[plain] = true
		out = append(out, t)
	}
	missing := map[string]corev1.Taint{}
	for t := range want {
		if !there[t] {
			missing[t.Key+string(t.Effect)] = t
		}
	}
	for _, name := range sortedKeys(missing) {
		t := missing[name]
		t.TimeAdded = &now
		out = append(out, t)
	}
	return out
}

// podsNotReady takes the Ready condition from the pods of a node that does not answer, so that no Service sends to them.
func podsNotReady(v View, k Key, n *corev1.Node, out *Outcome) {
	for _, p := range typed[*corev1.Pod](v.List(Pods, "", nil)) {
		if p.Spec.NodeName != n.Name || !podReady(p) {
			continue
		}
		w := mutation(k, Pods, "status", p, func(now *corev1.Pod) error {
			if c := podCondition(now, corev1.PodReady); c != nil && c.Status != corev1.ConditionFalse {
				c.Status, c.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(v.Now())
			}
			return nil
		})
		w.Beside, w.Ignore = true, Gone
		w.Done = func(runtime.Object) []Write {
			return []Write{record(k, "node-controller", Reference(p, podKind), corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")}
		}
		out.Writes = append(out.Writes, w)
	}
}
