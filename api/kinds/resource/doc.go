// Package resource holds the kinds of resource.k8s.io, dynamic resource
// allocation: DeviceClass, DeviceTaintRule, ResourceClaim,
// ResourceClaimTemplate and ResourceSlice.
//
// Why this shape: one file per kind; what claims, templates and classes share
// is in devices.go.
//
// Hardest part: a claim's allocation refers to the requests of its spec by
// name, and these names may have two parts.
//
// What can be lost: nothing; everything here is a pure function.
package resource

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{deviceClasses(), deviceTaintRules(), resourceClaims(), resourceClaimTemplates(), resourceSlices()}
}
