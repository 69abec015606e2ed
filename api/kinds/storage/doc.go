// Package storage holds the kinds of storage.k8s.io: CSIDriver, CSINode,
// CSIStorageCapacity, StorageClass, VolumeAttachment and VolumeAttributesClass.
//
// Why this shape: one file per kind, its rules written over the Go type that
// the API reference shows.
//
// Hardest part: almost everything here is fixed once written, since volumes
// that exist were made by it.
//
// What can be lost: nothing; everything here is a pure function.
package storage

import "kuberow/api/kinds"

// Resources lists the resources of the group.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{
		csiDrivers(), csiNodes(), csiStorageCapacities(), storageClasses(), volumeAttachments(), volumeAttributesClasses(),
	}
}
