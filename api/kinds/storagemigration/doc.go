// Package storagemigration holds the kind of storagemigration.k8s.io:
// StorageVersionMigration, a request to write all objects of a resource again.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: the status only moves forward.
//
// What can be lost: nothing; everything here is a pure function.
package storagemigration

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource { return []*kinds.Resource{migrations()} }
