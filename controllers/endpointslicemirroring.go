package controllers

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The mirroring controller copies Endpoints that people write by hand, for
// Services without a selector, into EndpointSlices. Key: the Endpoints, called like the
// Service. Woken by both and by the slices.

const mirrorManager = "endpointslicemirroring-controller.k8s.io"

var endpointsKind = corev1.SchemeGroupVersion.WithKind("Endpoints")

// EndpointSliceMirroring is endpointslice-mirroring-controller.
func EndpointSliceMirroring() Controller {
	return Controller{
		Name:    "endpointslice-mirroring-controller",
		Account: "endpointslicemirroring-controller",
		Keys:    keyMap{Endpoints: itself, Services: itself, EndpointSlices: sliceKeys(mirrorManager)},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				mirrorEndpoints(v, k, &out)
			}
			return out
		},
	}
}

// mirrored gives the Endpoints that are to be mirrored, nil when they are not.
func mirrored(v View, k Key) *corev1.Endpoints {
	e := get[*corev1.Endpoints](v, Endpoints, k.Namespace, k.Name)
	s := get[*corev1.Service](v, Services, k.Namespace, k.Name)
	if e == nil || s == nil || s.Spec.Selector != nil || e.DeletionTimestamp != nil ||
		e.Labels[discoveryv1.LabelSkipMirror] == "true" || e.Annotations[leaderAnnotation] != "" {
		return nil
	}
	return e
}

// mirrorEndpoints brings the slices to what the Endpoints say: one slice for each set of ports and address family.
func mirrorEndpoints(v View, k Key, out *Outcome) {
	have := map[string]*discoveryv1.EndpointSlice{}
	var spare []*discoveryv1.EndpointSlice
	for _, slice := range typed[*discoveryv1.EndpointSlice](v.List(EndpointSlices, k.Namespace, labels.SelectorFromSet(labels.Set{
		discoveryv1.LabelServiceName: k.Name, discoveryv1.LabelManagedBy: mirrorManager,
	}))) {
		key := groupKey(slice.AddressType, slice.Ports)
		if have[key] != nil {
			spare = append(spare, slice)
		} else {
			have[key] = slice
		}
	}
	if e := mirrored(v, k); e != nil {
		groups := mirrorGroups(e)
		for _, key := range sortedKeys(groups) {
			mirrorGroup(k, e, groups[key], have[key], out)
			delete(have, key)
		}
	}
	for _, key := range sortedKeys(have) {
		spare = append(spare, have[key])
	}
	for _, slice := range spare {
		out.Writes = append(out.Writes, deletion(k, EndpointSlices, slice))
	}
}

// mirrorGroups turns subsets into groups.
func mirrorGroups(e *corev1.Endpoints) map[string]*sliceGroup {
	groups := map[string]*sliceGroup{}
	for i := range e.Subsets {
		subset := &e.Subsets[i]
		var ports []discoveryv1.EndpointPort
		for _, p := range slices.SortedFunc(slices.Values(subset.Ports), portsByHash) {
			ports = append(ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port, Protocol: &p.Protocol, AppProtocol: p.AppProtocol})
		}
		put := func(a corev1.EndpointAddress, ready bool) {
			family := discoveryv1.AddressTypeIPv4
			if isIPv6(a.IP) {
				family = discoveryv1.AddressTypeIPv6
			}
			key := groupKey(family, ports)
			if groups[key] == nil {
				groups[key] = &sliceGroup{family: family, ports: ports}
			}
			ep := discoveryv1.Endpoint{
				Addresses: []string{a.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: a.TargetRef, NodeName: a.NodeName,
			}
			if a.Hostname != "" {
				ep.Hostname = &a.Hostname
			}
			groups[key].endpoints = append(groups[key].endpoints, ep)
		}
		for _, a := range subset.Addresses {
			put(a, true)
		}
		for _, a := range subset.NotReadyAddresses {
			put(a, false)
		}
	}
	return groups
}

// mirrorGroup creates or updates the slice of a group.
func mirrorGroup(k Key, e *corev1.Endpoints, g *sliceGroup, have *discoveryv1.EndpointSlice, out *Outcome) {
	const most = 1000
	if len(g.endpoints) > most {
		g.endpoints = g.endpoints[:most]
	}
	labels := map[string]string{}
	maps.Copy(labels, e.Labels)
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = e.Name, mirrorManager
	annotations := map[string]string{}
	maps.Copy(annotations, e.Annotations)
	delete(annotations, corev1.EndpointsLastChangeTriggerTime)
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if have == nil {
		w := creation(k, EndpointSlices, &discoveryv1.EndpointSlice{
			TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
			ObjectMeta: metav1.ObjectMeta{
				GenerateName: e.Name + "-", Namespace: e.Namespace, Labels: labels, Annotations: annotations,
				OwnerReferences: []metav1.OwnerReference{controllerRef(e, endpointsKind)},
			},
			AddressType: g.family, Ports: g.ports, Endpoints: g.endpoints,
		})
		w.Ignore = terminating
		out.Writes = append(out.Writes, w)
		return
	}
	if equality.Semantic.DeepEqual(have.Endpoints, g.endpoints) && equality.Semantic.DeepEqual(have.Labels, labels) &&
		equality.Semantic.DeepEqual(have.Annotations, annotations) {
		return
	}
	out.Writes = append(out.Writes, mutation(k, EndpointSlices, "", have, func(now *discoveryv1.EndpointSlice) error {
		now.Labels, now.Annotations, now.Endpoints = labels, annotations, g.endpoints
		return nil
	}))
}
