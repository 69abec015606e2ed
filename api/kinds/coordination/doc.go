// Package coordination holds the kind of coordination.k8s.io: Lease, by which
// components agree on a leader and nodes say that they live.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: none; the fields of coordinated leader election are dropped,
// as a server with that feature off does.
//
// What can be lost: nothing; everything here is a pure function.
package coordination

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{leases()} }
