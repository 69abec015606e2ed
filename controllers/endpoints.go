package controllers

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/dump"
)

// The Endpoints controller keeps the older form of the same: one object per
// Service, with all addresses. Deprecated, but real clusters still have it. Key: a Service. Woken
// by it, by its pods and when its Endpoints go. Those that a person makes may be there before their Service.

const (
	endpointsManager = "endpoint-controller"
	managedBy        = "endpoints.kubernetes.io/managed-by"
	mostAddresses    = 1000 // then it is cut, and says so
)

// EndpointsController is endpoints-controller.
func EndpointsController() Controller {
	return Controller{
		Name:    "endpoints-controller",
		Account: "endpoint-controller",
		Keys:    keyMap{Services: itself, Pods: servicePodKeys, Endpoints: endpointsKeys},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				syncEndpoints(v, k, &out)
			}
			return out
		},
	}
}

// endpointsKeys wakes for Endpoints that went, and at the first pass for own ones, whose Service may have gone meanwhile.
func endpointsKeys(_ View, c Object) []Key {
	own := c.Now != nil && accessor(c.Now).GetLabels()[managedBy] == endpointsManager
	if c.Now == nil || (c.Prev == nil && own) {
		return []Key{NameKey(c.Current())}
	}
	return nil
}

// leaderAnnotation marks Endpoints that are a lock of an old kind, which no Service owns.
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader"

// syncEndpoints brings the Endpoints of a Service to what its pods are.
func syncEndpoints(v View, k Key, out *Outcome) {
	s := get[*corev1.Service](v, Services, k.Namespace, k.Name)
	have := get[*corev1.Endpoints](v, Endpoints, k.Namespace, k.Name)
	if s == nil {
		if have != nil && have.Annotations[leaderAnnotation] == "" {
			out.Writes = append(out.Writes, deletion(k, Endpoints, have))
		}
		return
	}
	if !endpointsWanted(s) {
		return
	}
	pods := selectedPods(v, s)
	subsets, cut := cutSubsets(packSubsets(s, pods))
	labels := maps.Clone(s.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, corev1.IsHeadlessService)
	if headless(s) {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[managedBy] = endpointsManager
	if have != nil && equality.Semantic.DeepEqual(have.Subsets, subsets) && equality.Semantic.DeepEqual(have.Labels, labels) {
		return
	}
	fill := func(e *corev1.Endpoints) {
		e.Labels, e.Subsets = labels, subsets
		if e.Annotations == nil {
			e.Annotations = map[string]string{}
		}
		e.Annotations[corev1.EndpointsLastChangeTriggerTime] = triggerTime(s, pods)
		delete(e.Annotations, corev1.EndpointsOverCapacity)
		if cut {
			e.Annotations[corev1.EndpointsOverCapacity] = "truncated"
		}
	}
	if have == nil {
		e := &corev1.Endpoints{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Endpoints"},
			ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace},
		}
		fill(e)
		w := creation(k, Endpoints, e)
		w.Ignore = terminating
		out.Writes = append(out.Writes, w)
		return
	}
	out.Writes = append(out.Writes, mutation(k, Endpoints, "", have, func(now *corev1.Endpoints) error {
		fill(now)
		return nil
	}))
}

// packAddress is an address with its readiness.
type packAddress struct {
	address corev1.EndpointAddress
	ready   bool
}

// packSubsets groups ports that lead to the same addresses into subsets, in upstream's canonical order.
func packSubsets(s *corev1.Service, pods []*corev1.Pod) []corev1.EndpointSubset {
	byPort := map[corev1.EndpointPort][]packAddress{}
	var ports []corev1.EndpointPort
	put := func(port corev1.EndpointPort, a packAddress) {
		if _, ok := byPort[port]; !ok {
			ports = append(ports, port)
		}
		byPort[port] = append(byPort[port], a)
	}
	for _, p := range pods {
		if p.DeletionTimestamp != nil && !s.Spec.PublishNotReadyAddresses {
			continue
		}
		a, ok := serviceAddress(s, p)
		if !ok {
			continue
		}
		if len(s.Spec.Ports) == 0 && s.Spec.ClusterIP == corev1.ClusterIPNone {
			put(corev1.EndpointPort{Port: -1}, a)
		}
		for i := range s.Spec.Ports {
			port := &s.Spec.Ports[i]
			if n, ok := targetPort(p, port); ok {
				put(corev1.EndpointPort{Name: port.Name, Port: n, Protocol: port.Protocol, AppProtocol: port.AppProtocol}, a)
			}
		}
	}
	byAddresses := map[string]*corev1.EndpointSubset{}
	for _, port := range ports {
		addresses := byPort[port]
		sort.SliceStable(addresses, func(i, j int) bool { return lessAddress(addresses[i].address, addresses[j].address) })
		key := ""
		for _, a := range addresses {
			key += fmt.Sprintf("%s/%s/%t ", a.address.IP, a.address.TargetRef.UID, a.ready)
		}
		subset := byAddresses[key]
		if subset == nil {
			subset = &corev1.EndpointSubset{}
			for _, a := range addresses {
				if a.ready {
					subset.Addresses = append(subset.Addresses, a.address)
				} else {
					subset.NotReadyAddresses = append(subset.NotReadyAddresses, a.address)
				}
			}
			byAddresses[key] = subset
		}
		if port.Port > 0 {
			subset.Ports = append(subset.Ports, port)
		}
	}
	subsets := make([]corev1.EndpointSubset, 0, len(byAddresses))
	for _, key := range sortedKeys(byAddresses) {
		subset := byAddresses[key]
		sort.SliceStable(subset.Ports, func(i, j int) bool { return bytes.Compare(dumpHash(subset.Ports[i]), dumpHash(subset.Ports[j])) < 0 })
		subsets = append(subsets, *subset)
	}
	sort.SliceStable(subsets, func(i, j int) bool { return bytes.Compare(dumpHash(subsets[i]), dumpHash(subsets[j])) < 0 })
	return subsets
}

// serviceAddress is a pod as an address of the Service's first family.
func serviceAddress(s *corev1.Service, p *corev1.Pod) (packAddress, bool) {
	six := len(s.Spec.IPFamilies) > 0 && s.Spec.IPFamilies[0] == corev1.IPv6Protocol
	for _, ip := range podIPs(p) {
		if isIPv6(ip) != six {
			continue
		}
		a := corev1.EndpointAddress{
			IP:        ip,
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		}
		if p.Spec.NodeName != "" {
			node := p.Spec.NodeName
			a.NodeName = &node
		}
		if ownName(p, s) {
			a.Hostname = p.Spec.Hostname
		}
		return packAddress{address: a, ready: s.Spec.PublishNotReadyAddresses || podReady(p)}, true
	}
	return packAddress{}, false
}

// lessAddress orders addresses by their text, then by pod.
func lessAddress(a, b corev1.EndpointAddress) bool {
	if a.IP != b.IP {
		return a.IP < b.IP
	}
	return a.TargetRef != nil && b.TargetRef != nil && a.TargetRef.UID < b.TargetRef.UID
}

// dumpHash orders what has no order of its own, as upstream does.
func dumpHash(v any) []byte {
	h := fnv.New128a()
	fmt.Fprintf(h, "%v", dump.ForHash(v))
	return []byte(hex.EncodeToString(h.Sum(nil)))
}

// portsByHash is the order that ports come in.
func portsByHash(a, b corev1.EndpointPort) int { return bytes.Compare(dumpHash(a), dumpHash(b)) }

// cutSubsets keeps what an Endpoints may hold, ready addresses first.
func cutSubsets(subsets []corev1.EndpointSubset) ([]corev1.EndpointSubset, bool) {
	total, ready := 0, 0
	for _, s := range subsets {
		total += len(s.Addresses) + len(s.NotReadyAddresses)
		ready += len(s.Addresses)
	}
	if total <= mostAddresses {
		return subsets, false
	}
	room, roomNotReady := min(ready, mostAddresses), max(0, mostAddresses-ready)
	var out []corev1.EndpointSubset
	for _, s := range subsets {
		n, m := min(room, len(s.Addresses)), min(roomNotReady, len(s.NotReadyAddresses))
		room, roomNotReady = room-n, roomNotReady-m
		if n+m > 0 {
			out = append(out, corev1.EndpointSubset{Addresses: s.Addresses[:n], NotReadyAddresses: s.NotReadyAddresses[:m], Ports: s.Ports})
		}
	}
	return out, true
}
