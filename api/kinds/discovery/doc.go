// Package discovery holds the kind of discovery.k8s.io: EndpointSlice, a part
// of the addresses behind a Service.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: endpoints that did not change are not judged again, since
// older servers accepted more.
//
// What can be lost: nothing; everything here is a pure function.
package discovery

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{endpointSlices()} }
