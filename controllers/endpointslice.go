package controllers

import (
	"maps"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The EndpointSlice controller writes down where a Service's pods are, a
// hundred to a slice. Key: a Service. Woken by it, by its pods and slices and by zones of nodes.
//
// It changes as few slices as it can: endpoints stay in the slice they are in, new ones
// fill slices that are touched anyway, then slices with room, then new slices.

const (
	sliceManager   = "endpointslice-controller.k8s.io"
	sliceEndpoints = 100 // the most in one slice
)

var serviceKind = corev1.SchemeGroupVersion.WithKind("Service")

// EndpointSlice is endpointslice-controller.
func EndpointSlice() Controller {
	return Controller{
		Name: "endpointslice-controller",
		Keys: keyMap{
			Services:       itself,
			Pods:           servicePodKeys,
			EndpointSlices: sliceKeys(sliceManager),
			Nodes:          zoneKeys,
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				s := get[*corev1.Service](v, Services, k.Namespace, k.Name)
				if s != nil && endpointsWanted(s) && s.DeletionTimestamp == nil {
					syncSlices(v, k, s, &out)
				}
			}
			return out
		},
	}
}

// sliceKeys maps a slice of one manager to its Service.
func sliceKeys(manager string) KeysFunc {
	return func(_ View, c Object) []Key {
		m := accessor(c.Current())
		service := m.GetLabels()[discoveryv1.LabelServiceName]
		if service == "" || m.GetLabels()[discoveryv1.LabelManagedBy] != manager {
			return nil
		}
		return []Key{{Namespace: m.GetNamespace(), Name: service}}
	}
}

// zoneKeys wakes every Service when a node changes its zone.
func zoneKeys(v View, c Object) []Key {
	zone := func(n any) string {
		node, _ := n.(*corev1.Node)
		if node == nil {
			return ""
		}
		return node.Labels[corev1.LabelTopologyZone]
	}
	if zone(c.Now) == zone(c.Prev) {
		return nil
	}
	var keys []Key
	for _, s := range v.List(Services, "", nil) {
		keys = append(keys, NameKey(s))
	}
	return keys
}

// sliceGroup is what slices with the same address type and ports should hold.
type sliceGroup struct {
	family    discoveryv1.AddressType
	ports     []discoveryv1.EndpointPort
	endpoints []discoveryv1.Endpoint
}

// syncSlices brings the slices of a Service to what its pods are.
func syncSlices(v View, k Key, s *corev1.Service, out *Outcome) {
	pods := selectedPods(v, s)
	groups := groupEndpoints(v, s, pods)
	w := &sliceWriter{k: k, s: s, labels: sliceLabels(s), trigger: triggerTime(s, pods), out: out}
	have := map[string][]*discoveryv1.EndpointSlice{}
	for _, slice := range typed[*discoveryv1.EndpointSlice](v.List(EndpointSlices, s.Namespace, labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: s.Name, discoveryv1.LabelManagedBy: sliceManager,
	}))) {
		if !metav1.IsControlledBy(slice, s) {
			w.spare = append(w.spare, slice) // of an earlier Service of this name
			continue
		}
		key := groupKey(slice.AddressType, slice.Ports)
		have[key] = append(have[key], slice)
	}
	keys := make([]string, 0, len(groups))
	for key := range groups {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		w.fill(groups[key], have[key])
		delete(have, key)
	}
	for _, key := range sortedKeys(have) {
		w.spare = append(w.spare, have[key]...)
	}
	w.finish()
}

// groupEndpoints makes the endpoints, by address type and ports. Without any there is one empty group for each
// family, so that a Service always has a slice.
func groupEndpoints(v View, s *corev1.Service, pods []*corev1.Pod) map[string]*sliceGroup {
	groups := map[string]*sliceGroup{}
	for _, family := range families(s) {
		found := false
		for _, p := range pods {
			ports := endpointPorts(s, p)
			e, ok := podEndpoint(v, s, p, family)
			if !ok {
				continue
			}
			found = true
			key := groupKey(family, ports)
			if groups[key] == nil {
				groups[key] = &sliceGroup{family: family, ports: ports}
			}
			groups[key].endpoints = append(groups[key].endpoints, e)
		}
		if !found {
			groups[groupKey(family, nil)] = &sliceGroup{family: family}
		}
	}
	return groups
}

// families are the address types of a Service.
func families(s *corev1.Service) []discoveryv1.AddressType {
	var out []discoveryv1.AddressType
	for _, f := range s.Spec.IPFamilies {
		if f == corev1.IPv6Protocol {
			out = append(out, discoveryv1.AddressTypeIPv6)
		} else {
			out = append(out, discoveryv1.AddressTypeIPv4)
		}
	}
	if len(out) == 0 {
		out = append(out, discoveryv1.AddressTypeIPv4)
	}
	return out
}

// endpointPorts are the ports that a pod offers to the Service.
func endpointPorts(s *corev1.Service, p *corev1.Pod) []discoveryv1.EndpointPort {
	var ports []discoveryv1.EndpointPort
	for i := range s.Spec.Ports {
		port := s.Spec.Ports[i]
		if n, ok := targetPort(p, &port); ok {
			ports = append(ports, discoveryv1.EndpointPort{Name: &port.Name, Port: &n, Protocol: &port.Protocol, AppProtocol: port.AppProtocol})
		}
	}
	return ports
}

// podEndpoint is a pod as an endpoint; false when it has no address of the family.
func podEndpoint(v View, s *corev1.Service, p *corev1.Pod, family discoveryv1.AddressType) (discoveryv1.Endpoint, bool) {
	serving, ending := podReady(p), p.DeletionTimestamp != nil
	ready := s.Spec.PublishNotReadyAddresses || (serving && !ending)
	e := discoveryv1.Endpoint{
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &ending},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
	}
	for _, ip := range podIPs(p) {
		if isIPv6(ip) == (family == discoveryv1.AddressTypeIPv6) {
			e.Addresses = append(e.Addresses, ip)
		}
	}
	if p.Spec.NodeName != "" {
		name := p.Spec.NodeName
		e.NodeName = &name
		if n := get[*corev1.Node](v, Nodes, "", name); n != nil && n.Labels[corev1.LabelTopologyZone] != "" {
			zone := n.Labels[corev1.LabelTopologyZone]
			e.Zone = &zone
		}
	}
	if ownName(p, s) {
		host := p.Spec.Hostname
		e.Hostname = &host
	}
	return e, len(e.Addresses) > 0
}

// groupKey names an address type and a set of ports.
func groupKey(family discoveryv1.AddressType, ports []discoveryv1.EndpointPort) string {
	parts := make([]string, 0, len(ports))
	for i := range ports {
		parts = append(parts, ports[i].String())
	}
	sort.Strings(parts)
	return string(family) + "\x00" + strings.Join(parts, "\x00")
}

// sliceLabels are the Service's labels and those that say whose the slice is.
func sliceLabels(s *corev1.Service) map[string]string {
	out := map[string]string{}
	for name, value := range s.Labels {
		out[name] = value
	}
	delete(out, corev1.IsHeadlessService)
	if headless(s) {
		out[corev1.IsHeadlessService] = ""
	}
	out[discoveryv1.LabelServiceName] = s.Name
	out[discoveryv1.LabelManagedBy] = sliceManager
	return out
}

// sliceWriter collects what to do with the slices of one Service.
type sliceWriter struct {
	k       Key
	s       *corev1.Service
	labels  map[string]string
	trigger string
	spare   []*discoveryv1.EndpointSlice // no longer of use
	created []*discoveryv1.EndpointSlice
	out     *Outcome
}

// fill distributes the endpoints of a group over its slices.
func (w *sliceWriter) fill(g *sliceGroup, have []*discoveryv1.EndpointSlice) {
	wanted := map[string]discoveryv1.Endpoint{}
	for _, e := range g.endpoints {
		wanted[endpointID(e)] = e
	}
	next := make([][]discoveryv1.Endpoint, len(have))
	touched := make([]bool, len(have))
	for i, slice := range have {
		for _, e := range slice.Endpoints {
			now, ok := wanted[endpointID(e)]
			if !ok {
				touched[i] = true
				continue
			}
			delete(wanted, endpointID(e))
			touched[i] = touched[i] || !equality.Semantic.DeepEqual(e, now)
			next[i] = append(next[i], now)
		}
		touched[i] = touched[i] || !equality.Semantic.DeepEqual(slice.Labels, w.labels)
	}
	var left []discoveryv1.Endpoint
	for _, e := range g.endpoints {
		if _, ok := wanted[endpointID(e)]; ok {
			left = append(left, e)
		}
	}
	add := func(i int) {
		n := min(sliceEndpoints-len(next[i]), len(left))
		if n > 0 {
			next[i], left, touched[i] = append(next[i], left[:n]...), left[n:], true
		}
	}
	for i := range have {
		if touched[i] && len(left) > 0 {
			add(i)
		}
	}
	if len(left) < sliceEndpoints { // what would fill a slice gets one of its own
		for i := range have {
			add(i)
		}
	}
	empty := 0
	for i, slice := range have {
		if len(next[i]) == 0 && (len(g.endpoints) > 0 || empty > 0) {
			w.spare = append(w.spare, slice)
			continue
		}
		if len(next[i]) == 0 {
			empty++
		}
		if touched[i] {
			w.update(slice, g.ports, next[i])
		}
	}
	for len(left) > 0 || (len(have) == 0 && len(g.endpoints) == 0) {
		n := min(sliceEndpoints, len(left))
		w.create(g, left[:n])
		left = left[n:]
		if len(left) == 0 {
			break
		}
	}
}

// endpointID tells endpoints apart: the pod, and where it is.
func endpointID(e discoveryv1.Endpoint) string {
	id := strings.Join(e.Addresses, ",")
	if e.TargetRef != nil {
		id += "/" + string(e.TargetRef.UID)
	}
	return id
}

// update makes the write of a changed slice.
func (w *sliceWriter) update(slice *discoveryv1.EndpointSlice, ports []discoveryv1.EndpointPort, endpoints []discoveryv1.Endpoint) {
	u := mutation(w.k, EndpointSlices, "", slice, func(now *discoveryv1.EndpointSlice) error {
		now.Labels = maps.Clone(w.labels)
		now.Ports, now.Endpoints = ports, endpoints
		w.stamp(now)
		return nil
	})
	u.Beside = true
	w.out.Writes = append(w.out.Writes, u)
}

// create remembers a slice to be made.
func (w *sliceWriter) create(g *sliceGroup, endpoints []discoveryv1.Endpoint) {
	slice := &discoveryv1.EndpointSlice{
		TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: w.s.Name + "-", Namespace: w.s.Namespace, Labels: maps.Clone(w.labels),
			OwnerReferences: []metav1.OwnerReference{controllerRef(w.s, serviceKind)},
		},
		AddressType: g.family, Ports: g.ports, Endpoints: endpoints,
	}
	w.stamp(slice)
	w.created = append(w.created, slice)
}

// stamp tells when the change was triggered, for those who measure how long it took.
func (w *sliceWriter) stamp(slice *discoveryv1.EndpointSlice) {
	if slice.Annotations == nil {
		slice.Annotations = map[string]string{}
	}
	slice.Annotations[corev1.EndpointsLastChangeTriggerTime] = w.trigger
}

// finish uses spare slices for those to be made, where it can, then creates and deletes.
func (w *sliceWriter) finish() {
	for _, slice := range w.created {
		if i := w.reusable(slice); i >= 0 {
			w.update(w.spare[i], slice.Ports, slice.Endpoints)
			w.spare = append(w.spare[:i:i], w.spare[i+1:]...)
			continue
		}
		c := creation(w.k, EndpointSlices, slice)
		c.Ignore = terminating
		c.Beside = true
		w.out.Writes = append(w.out.Writes, c)
	}
	for _, slice := range w.spare {
		d := deletion(w.k, EndpointSlices, slice)
		d.Beside = true
		w.out.Writes = append(w.out.Writes, d)
	}
}

// reusable finds a spare slice of the Service with the address type, -1 when there is none.
func (w *sliceWriter) reusable(like *discoveryv1.EndpointSlice) int {
	for i, slice := range w.spare {
		if slice.AddressType == like.AddressType && metav1.IsControlledBy(slice, w.s) {
			return i
		}
	}
	return -1
}

// sortedKeys gives a map's keys in order.
func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
