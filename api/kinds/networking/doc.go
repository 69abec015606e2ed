// Package networking holds the kinds of networking.k8s.io: Ingress,
// IngressClass, IPAddress, NetworkPolicy and ServiceCIDR.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: an Ingress keeps being updatable when it was stored under
// looser rules; what a rule forgives then is decided by the old object.
//
// What can be lost: nothing; everything here is a pure function.
package networking

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{ingressClasses(), ingresses(), ipAddresses(), networkPolicies(), serviceCIDRs()}
}
