// Package node holds the kind of node.k8s.io: RuntimeClass, which names a
// handler of the container runtime and what it costs.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: none.
//
// What can be lost: nothing; everything here is a pure function.
package node

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{runtimeClasses()} }
