package controllers

import (
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What the controllers of Endpoints and of EndpointSlices share: which pods
// stand behind a Service, and when a change of a pod matters to them.

// servicePodKeys maps a pod to the Services that select it, or did.
func servicePodKeys(v View, c Object) []Key {
	now, _ := c.Now.(*corev1.Pod)
	prev, _ := c.Prev.(*corev1.Pod)
	if now != nil && prev != nil && !endpointChanged(prev, now) {
		return nil
	}
	pod := now
	if pod == nil {
		pod = prev
	}
	var keys []Key
	for _, s := range typed[*corev1.Service](v.List(Services, pod.Namespace, nil)) {
		if len(s.Spec.Selector) == 0 {
			continue
		}
		selector := labels.SelectorFromSet(s.Spec.Selector)
		if (now != nil && selector.Matches(labels.Set(now.Labels))) || (prev != nil && selector.Matches(labels.Set(prev.Labels))) {
			keys = append(keys, NameKey(s))
		}
	}
	return keys
}

// endpointChanged says whether a pod differs in what an endpoint shows.
func endpointChanged(a, b *corev1.Pod) bool {
	return podReady(a) != podReady(b) || podEnded(a) != podEnded(b) ||
		(a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		a.Spec.NodeName != b.Spec.NodeName || a.Status.PodIP != b.Status.PodIP ||
		!equality.Semantic.DeepEqual(a.Status.PodIPs, b.Status.PodIPs) || !equality.Semantic.DeepEqual(a.Labels, b.Labels)
}

// selectedPods gives the pods of a Service that have an address and have not ended.
func selectedPods(v View, s *corev1.Service) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range typed[*corev1.Pod](v.List(Pods, s.Namespace, labels.SelectorFromSet(s.Spec.Selector))) {
		if !podEnded(p) && len(podIPs(p)) > 0 {
			pods = append(pods, p)
		}
	}
	return pods
}

// podIPs are the pod's addresses.
func podIPs(p *corev1.Pod) []string {
	var ips []string
	for _, ip := range p.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	if len(ips) == 0 && p.Status.PodIP != "" {
		ips = append(ips, p.Status.PodIP)
	}
	return ips
}

// isIPv6 says which family an address is of.
func isIPv6(ip string) bool {
	parsed := net.ParseIP(ip)
	return parsed != nil && parsed.To4() == nil
}

// targetPort is the port of a pod that a Service's port leads to: a number, or the name of a container's port.
func targetPort(p *corev1.Pod, port *corev1.ServicePort) (int32, bool) {
	if port.TargetPort.Type == intstr.Int {
		return port.TargetPort.IntVal, true
	}
	named := func(c *corev1.Container) (int32, bool) {
		for _, have := range c.Ports {
			if have.Name == port.TargetPort.StrVal && have.Protocol == port.Protocol {
				return have.ContainerPort, true
			}
		}
		return 0, false
	}
	for i := range p.Spec.Containers {
		if n, ok := named(&p.Spec.Containers[i]); ok {
			return n, true
		}
	}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			if n, ok := named(c); ok {
				return n, true
			}
		}
	}
	return 0, false
}

// ownName says that DNS gives the pod a name of its own below the Service.
func ownName(p *corev1.Pod, s *corev1.Service) bool {
	return p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name && p.Namespace == s.Namespace
}

// headless says that a Service has no address of its own.
func headless(s *corev1.Service) bool {
	return s.Spec.ClusterIP == corev1.ClusterIPNone || s.Spec.ClusterIP == ""
}

// endpointsWanted says whether endpoints of a Service are found by its selector.
func endpointsWanted(s *corev1.Service) bool {
	return s.Spec.Type != corev1.ServiceTypeExternalName && s.Spec.Selector != nil
}

// triggerTime is the newest of the changes that endpoints show: that a Service was made, or a pod became ready.
func triggerTime(s *corev1.Service, pods []*corev1.Pod) string {
	at := s.CreationTimestamp.Time
	for _, p := range pods {
		if c := podCondition(p, corev1.PodReady); c != nil && c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	return at.UTC().Format(time.RFC3339Nano)
}
