package controllers

import (
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The pod garbage collector removes pods that nobody else will: those of nodes
// that are gone, those that were deleted before they had a node, and the oldest of very many
// that have ended. Key{} every twenty seconds, and when a pod or node may be such a case.

const (
	podGCPeriod = 20 * time.Second
	keptEnded   = 12500            // pods that have ended and are kept
	quarantine  = 40 * time.Second // how long a node must be gone
)

// PodGC is pod-garbage-collector-controller.
func PodGC() Controller {
	missing := map[string]time.Time{} // since when a node is missed: of this process only, so a start waits again
	return Controller{
		Name:    "pod-garbage-collector-controller",
		Account: "pod-garbage-collector",
		Every:   podGCPeriod,
		Keys: keyMap{
			Pods: func(_ View, c Object) []Key {
				p, _ := c.Now.(*corev1.Pod)
				if p != nil && p.DeletionTimestamp != nil && p.Spec.NodeName == "" {
					return []Key{{}}
				}
				return nil
			},
			Nodes: func(_ View, c Object) []Key {
				if c.Now == nil {
					return []Key{{}}
				}
				return nil
			},
		},
		Step: func(v View, _ []Key) Outcome {
			var out Outcome
			pods := typed[*corev1.Pod](v.List(Pods, "", nil))
			for _, p := range pods {
				if p.Spec.NodeName == "" && p.DeletionTimestamp != nil {
					out.Writes = append(out.Writes, forced(NameKey(p), p))
				}
			}
			collectOrphans(v, pods, missing, &out)
			collectEnded(pods, &out)
			return out
		},
	}
}

// forced deletes a pod that no kubelet will confirm.
func forced(k Key, p *corev1.Pod) Write {
	w := deletion(k, Pods, p)
	now := int64(0)
	w.GracePeriodSeconds = &now
	return w
}

// collectOrphans removes the pods of nodes that have been gone for a while.
func collectOrphans(v View, pods []*corev1.Pod, missing map[string]time.Time, out *Outcome) {
	lost := map[string][]*corev1.Pod{}
	for _, p := range pods {
		if p.Spec.NodeName != "" && v.Get(Nodes, "", p.Spec.NodeName) == nil {
			lost[p.Spec.NodeName] = append(lost[p.Spec.NodeName], p)
		}
	}
	for node := range missing {
		if lost[node] == nil {
			delete(missing, node)
		}
	}
	for _, node := range sortedKeys(lost) {
		since, known := missing[node]
		if !known {
			missing[node] = v.Now()
			out.again(Key{}, v.Now().Add(quarantine))
			continue
		}
		if v.Now().Sub(since) < quarantine {
			continue
		}
		for _, p := range lost[node] {
			k := NameKey(p)
			if !podEnded(p) {
				w := disrupt(v, k, p, "DeletionByPodGC", "PodGC: node no longer exists")
				change := w.Mutate
				w.Mutate = func(obj runtime.Object) error {
					obj.(*corev1.Pod).Status.Phase = corev1.PodFailed
					return change(obj)
				}
				out.Writes = append(out.Writes, w)
			}
			out.Writes = append(out.Writes, forced(k, p))
		}
	}
}

// collectEnded removes the oldest ended pods beyond what is kept.
func collectEnded(pods []*corev1.Pod, out *Outcome) {
	var ended []*corev1.Pod
	for _, p := range pods {
		if podEnded(p) {
			ended = append(ended, p)
		}
	}
	if len(ended) <= keptEnded {
		return
	}
	sort.SliceStable(ended, func(i, j int) bool { return ended[i].CreationTimestamp.Before(&ended[j].CreationTimestamp) })
	for _, p := range ended[:len(ended)-keptEnded] {
		out.Writes = append(out.Writes, forced(NameKey(p), p))
	}
}
