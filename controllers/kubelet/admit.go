package kubelet

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A node's own word on a pod that was put on it without the scheduler (its
// spec.nodeName was set by who made it): when the pod does not fit, it fails before it starts.
// Real kubelets check every pod; those that the scheduler placed fit here, since
// it sees the same pods as the nodes do.

// admit says whether the pod may start; when not, the worker's evict is set.
func (k *Kubelet) admit(ctx context.Context, w *worker) bool {
	w.mu.Lock()
	pod, fresh := w.pod, w.sandbox == nil && w.volumes == nil
	w.mu.Unlock()
	if !fresh || pod.Status.StartTime != nil || findCondition(pod.Status.Conditions, corev1.PodScheduled) != nil {
		return true
	}
	o, err := k.Reader.Get(ctx, nodeResource, "", pod.Spec.NodeName)
	if err != nil {
		return true // nothing to compare with
	}
	node, ok := o.(*corev1.Node)
	if !ok {
		return true
	}
	why, message := k.misfit(ctx, pod, node)
	if why == "" {
		return true
	}
	k.event(pod, "", corev1.EventTypeWarning, why, message)
	w.mu.Lock()
	w.evict = &reason{why, "Pod was rejected: " + message}
	w.mu.Unlock()
	return false
}

// misfit gives the first reason why the pod cannot run on the node, "" when it can.
func (k *Kubelet) misfit(ctx context.Context, pod *corev1.Pod, node *corev1.Node) (why, message string) {
	if fits, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); err != nil || !fits {
		return "NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
	}
	objs, err := k.Reader.List(ctx, podResource, "", nil)
	if err != nil {
		return "", ""
	}
	used := corev1.ResourceList{}
	ports := map[string]bool{}
	count := int64(0)
	for _, o := range objs {
		p, ok := o.(*corev1.Pod)
		if !ok || p.UID == pod.UID || p.Spec.NodeName != node.Name || terminalPhase(p.Status.Phase) {
			continue
		}
		count++
		for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(q)
			used[name] = sum
		}
		for _, port := range hostPorts(p) {
			ports[port] = true
		}
	}
	if slices.ContainsFunc(hostPorts(pod), func(p string) bool { return ports[p] }) {
		return "NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
	}
	room := node.Status.Allocatable
	if limit := room[corev1.ResourcePods]; count+1 > limit.Value() && !limit.IsZero() {
		return outOf(corev1.ResourcePods, 1, count, limit.Value())
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		want, have, cap := amount(name, requests[name]), amount(name, used[name]), amount(name, room[name])
		if want > 0 && want > cap-have {
			return outOf(name, want, have, cap)
		}
	}
	return "", ""
}

// outOf is the reason and message of a resource that does not suffice.
func outOf(name corev1.ResourceName, want, used, capacity int64) (why, message string) {
	return "OutOf" + string(name),
		fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, want, used, capacity)
}

// amount is a quantity as the scheduler counts it: cpu in thousandths.
func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// hostPorts are the ports of the node that a pod takes.
func hostPorts(p *corev1.Pod) []string {
	var out []string
	for i := range p.Spec.Containers {
		for _, port := range p.Spec.Containers[i].Ports {
			if port.HostPort > 0 {
				out = append(out, fmt.Sprintf("%s/%s/%d", port.HostIP, port.Protocol, port.HostPort))
			}
		}
	}
	return out
}
