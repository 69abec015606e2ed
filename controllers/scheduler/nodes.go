package scheduler

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"kuberow/controllers"
)

// The state of nodes during one Step: what they have, what is asked of them,
// and which pods are on them, including those that the Step has placed already.

// amounts are resources as numbers: cpu in thousandths, others in their unit.
type amounts map[corev1.ResourceName]int64

// nodeState is a node with its pods.
type nodeState struct {
	node        *corev1.Node
	allocatable amounts
	requested   amounts
	nonzero     amounts // as requested, but a container that asks for nothing counts a little: for scores
	pods        []*corev1.Pod
	ports       map[hostPort]bool
}

// hostPort is a port of the node that a container takes.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

// cluster is all nodes.
type cluster struct {
	v     controllers.View
	nodes []*nodeState
	byKey map[string]*nodeState
	// antiPods are placed pods with required anti-affinity: they may refuse a newcomer.
	antiPods []placedPod
}

// placedPod is a pod and where it is.
type placedPod struct {
	pod  *corev1.Pod
	node *corev1.Node
}

// The requests that a container without any counts for in scores.
const (
	defaultMilliCPU = 100
	defaultMemory   = 200 * 1024 * 1024
)

func newCluster(v controllers.View, nodes []*corev1.Node, pods []*corev1.Pod) *cluster {
	c := &cluster{v: v, byKey: map[string]*nodeState{}}
	for _, n := range nodes {
		s := &nodeState{node: n, allocatable: numbers(n.Status.Allocatable), requested: amounts{}, nonzero: amounts{}, ports: map[hostPort]bool{}}
		c.nodes = append(c.nodes, s)
		c.byKey[n.Name] = s
	}
	for _, p := range pods {
		if n := c.byKey[p.Spec.NodeName]; n != nil && !ended(p) {
			n.add(p)
			if hasAntiAffinity(p) {
				c.antiPods = append(c.antiPods, placedPod{p, n.node})
			}
		}
	}
	return c
}

// add counts a pod as being on the node.
func (n *nodeState) add(p *corev1.Pod) {
	n.pods = append(n.pods, p)
	for name, value := range requests(p) {
		n.requested[name] += value
	}
	for name, value := range nonzeroRequests(p) {
		n.nonzero[name] += value
	}
	for _, port := range hostPorts(p) {
		n.ports[port] = true
	}
}

// numbers turns quantities into numbers.
func numbers(list corev1.ResourceList) amounts {
	out := make(amounts, len(list))
	for name, q := range list {
		if name == corev1.ResourceCPU {
			out[name] = q.MilliValue()
		} else {
			out[name] = q.Value()
		}
	}
	return out
}

// requests are what a pod asks of its node, with init and sidecar containers and overhead.
func requests(p *corev1.Pod) amounts {
	if asksNothing(p) {
		return nil
	}
	return numbers(resource.PodRequests(p, resource.PodResourcesOptions{UseStatusResources: true}))
}

// asksNothing is the quick answer for the many pods without requests.
func asksNothing(p *corev1.Pod) bool {
	if p.Spec.Resources != nil || len(p.Spec.Overhead) > 0 {
		return false
	}
	for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
		for i := range list {
			if len(list[i].Resources.Requests) > 0 {
				return false
			}
		}
	}
	return true
}

// nonzeroRequests are the requests for scores.
func nonzeroRequests(p *corev1.Pod) amounts {
	if asksNothing(p) {
		n := int64(len(p.Spec.Containers))
		return amounts{corev1.ResourceCPU: n * defaultMilliCPU, corev1.ResourceMemory: n * defaultMemory}
	}
	least := corev1.ResourceList{
		corev1.ResourceCPU:    *quantity(defaultMilliCPU, milli),
		corev1.ResourceMemory: *quantity(defaultMemory, unit),
	}
	return numbers(resource.PodRequests(p, resource.PodResourcesOptions{UseStatusResources: true, NonMissingContainerRequests: least}))
}

// hostPorts lists the node's ports that a pod takes.
func hostPorts(p *corev1.Pod) []hostPort {
	var ports []hostPort
	take := func(c *corev1.Container) {
		for _, port := range c.Ports {
			if port.HostPort > 0 {
				h := hostPort{ip: port.HostIP, protocol: port.Protocol, port: port.HostPort}
				if h.ip == "" {
					h.ip = "0.0.0.0"
				}
				if h.protocol == "" {
					h.protocol = corev1.ProtocolTCP
				}
				ports = append(ports, h)
			}
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			take(c)
		}
	}
	for i := range p.Spec.Containers {
		take(&p.Spec.Containers[i])
	}
	return ports
}

// portsClash says whether a wanted port is taken; 0.0.0.0 takes it on every address.
func (n *nodeState) portsClash(wanted []hostPort) bool {
	for _, w := range wanted {
		for have := range n.ports {
			if have.port == w.port && have.protocol == w.protocol && (have.ip == w.ip || have.ip == "0.0.0.0" || w.ip == "0.0.0.0") {
				return true
			}
		}
	}
	return false
}
