package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// The taint eviction controller deletes pods from nodes with a NoExecute taint:
// at once, or when the shortest tolerationSeconds of those tolerations that match is over. Key: a
// Pod. Woken by it and by its node.

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// TaintEviction is taint-eviction-controller.
func TaintEviction() Controller {
	return Controller{
		Name:    "taint-eviction-controller",
		Account: "node-controller",
		Keys:    keyMap{Pods: taintedPodKeys, Nodes: taintedNodeKeys},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				p := get[*corev1.Pod](v, Pods, k.Namespace, k.Name)
				if p == nil || p.Spec.NodeName == "" || p.DeletionTimestamp != nil {
					continue
				}
				if n := get[*corev1.Node](v, Nodes, "", p.Spec.NodeName); n != nil {
					evictTainted(v, k, p, n, &out)
				}
			}
			return out
		},
	}
}

// noExecute gives the taints that send pods off.
func noExecute(n *corev1.Node) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range n.Spec.Taints {
		if t.Effect == corev1.TaintEffectNoExecute {
			out = append(out, t)
		}
	}
	return out
}

// taintedPodKeys wakes a pod that comes to a tainted node, or is on one and changes.
func taintedPodKeys(v View, c Object) []Key {
	p, _ := c.Now.(*corev1.Pod)
	if p == nil || p.Spec.NodeName == "" {
		return nil
	}
	n := get[*corev1.Node](v, Nodes, "", p.Spec.NodeName)
	if n == nil || len(noExecute(n)) == 0 {
		return nil
	}
	return []Key{NameKey(p)}
}

// taintedNodeKeys wakes the pods of a node whose taints changed.
func taintedNodeKeys(v View, c Object) []Key {
	now, _ := c.Now.(*corev1.Node)
	if now == nil || len(noExecute(now)) == 0 {
		return nil
	}
	if prev, _ := c.Prev.(*corev1.Node); prev != nil && len(noExecute(prev)) == len(noExecute(now)) && fmt.Sprint(noExecute(prev)) == fmt.Sprint(noExecute(now)) {
		return nil
	}
	var keys []Key
	for _, p := range typed[*corev1.Pod](v.List(Pods, "", nil)) {
		if p.Spec.NodeName == now.Name {
			keys = append(keys, NameKey(p))
		}
	}
	return keys
}

// toleratedUntil is when a pod's patience with taints is over: now, at a time, or never (ok is false).
func toleratedUntil(p *corev1.Pod, taints []corev1.Taint, now time.Time) (until time.Time, ok bool) {
	for i := range taints {
		t := &taints[i]
		since := now
		if t.TimeAdded != nil {
			since = t.TimeAdded.Time
		}
		borne, end, bounded := false, time.Time{}, false
		for j := range p.Spec.Tolerations {
			tol := &p.Spec.Tolerations[j]
			if !tol.ToleratesTaint(klog.Background(), t, false) {
				continue
			}
			borne = true
			if tol.TolerationSeconds == nil {
				continue
			}
			at := since.Add(time.Duration(max(0, *tol.TolerationSeconds)) * time.Second)
			if !bounded || at.Before(end) {
				end, bounded = at, true
			}
		}
		if !borne {
			return now, true
		}
		if bounded && (!ok || end.Before(until)) {
			until, ok = end, true
		}
	}
	return until, ok
}

// evictTainted deletes the pod when it is time, or asks to be called then.
func evictTainted(v View, k Key, p *corev1.Pod, n *corev1.Node, out *Outcome) {
	taints := noExecute(n)
	if len(taints) == 0 {
		return
	}
	until, bounded := toleratedUntil(p, taints, v.Now())
	if !bounded {
		return
	}
	if until.After(v.Now()) {
		out.again(k, until)
		return
	}
	out.Writes = append(out.Writes, record(k, "taint-eviction-controller",
		corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		corev1.EventTypeNormal, "TaintManagerEviction", fmt.Sprintf("Marking for deletion Pod %s/%s", p.Namespace, p.Name)))
	out.Writes = append(out.Writes, disrupt(v, k, p, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"), deletion(k, Pods, p))
}

// disrupt makes the write of the condition that tells why a pod is being deleted by the cluster, not by a user.
func disrupt(v View, k Key, p *corev1.Pod, reason, message string) Write {
	w := mutation(k, Pods, "status", p, func(now *corev1.Pod) error {
		c := corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(v.Now()), ObservedGeneration: now.Generation,
		}
		if have := podCondition(now, corev1.DisruptionTarget); have != nil {
			*have = c
		} else {
			now.Status.Conditions = append(now.Status.Conditions, c)
		}
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	return w
}
