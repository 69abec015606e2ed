// CSINode lists the CSI drivers of the node of the same name; the kubelet
// writes it.
package storage

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	maxNodeID           = 256
	maxHealthConditions = 16
	maxReason           = 256
)

func csiNodes() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("CSINode")
	v1 := common.Version[storagev1.CSINode, storagev1.CSINodeList](gvk)
	main := common.Typed[storagev1.CSINode, *storagev1.CSINode]{
		ResetFields:      []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *storagev1.CSINode) { obj.Status = storagev1.CSINodeStatus{} },
		PrepareForUpdate: func(_ *kinds.Context, obj, old *storagev1.CSINode) { obj.Status = old.Status },
		Validate:         func(_ *kinds.Context, obj *storagev1.CSINode) field.ErrorList { return validateCSINode(obj) },
		ValidateUpdate: func(_ *kinds.Context, obj, old *storagev1.CSINode) field.ErrorList {
			return append(validateCSINode(obj), driversFixed(obj, old)...)
		},
		ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[storagev1.CSINode, *storagev1.CSINode]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *storagev1.CSINode) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
			if len(old.Status.StorageHealth) == 0 {
				obj.Status.StorageHealth = nil // a feature that is off
			}
		},
		ValidateUpdate: validateCSINodeStatus, ForbidUnconditionalUpdate: true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "csinodes", Singular: "csinode", Kind: gvk.Kind, ReturnsDeleted: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/csinodes",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

// driversFixed: a driver may come and go, but while it stays only its allocatable may change.
func driversFixed(obj, old *storagev1.CSINode) field.ErrorList {
	var all field.ErrorList
	for _, was := range old.Spec.Drivers {
		for _, is := range obj.Spec.Drivers {
			if was.Name == is.Name {
				was, is := was, is
				was.Allocatable, is.Allocatable = nil, nil
				all = append(all, common.Immutable(&is, &was, field.NewPath("spec", "drivers"))...)
			}
		}
	}
	return all
}

func validateCSINode(obj *storagev1.CSINode) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i := range obj.Spec.Drivers {
		d, path := &obj.Spec.Drivers[i], field.NewPath("spec", "drivers").Index(i)
		all = append(all, driverName(d.Name, path.Child("name"))...)
		if d.NodeID == "" {
			all = append(all, field.Required(path.Child("nodeID"), ""))
		}
		if len(d.NodeID) > maxNodeID {
			all = append(all, field.Invalid(path.Child("nodeID"), d.NodeID, fmt.Sprintf("must be %d characters or less", maxNodeID)))
		}
		if a := d.Allocatable; a != nil && a.Count != nil {
			all = append(all, common.NonNegative(int64(*a.Count), path.Child("allocatable", "count"))...)
		}
		if seen[d.Name] {
			all = append(all, field.Duplicate(path.Child("name"), d.Name))
		}
		seen[d.Name] = true
		all = append(all, topologyKeys(d.TopologyKeys, path)...)
	}
	return all
}

func topologyKeys(keys []string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for _, k := range keys {
		if k == "" {
			all = append(all, field.Required(path, k))
		}
		if seen[k] {
			all = append(all, field.Duplicate(path, k))
		}
		seen[k] = true
		all = append(all, common.QualifiedName(k, path)...)
	}
	return all
}

func validateCSINodeStatus(_ *kinds.Context, obj, _ *storagev1.CSINode) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i := range obj.Status.StorageHealth {
		h, path := &obj.Status.StorageHealth[i], field.NewPath("status", "storageHealth").Index(i)
		if seen[h.Name] {
			all = append(all, field.Duplicate(path, h.Name))
		}
		seen[h.Name] = true
		all = append(all, driverName(h.Name, path.Child("name"))...)
		if n := len(h.HealthConditions); n > maxHealthConditions {
			all = append(all, field.TooMany(path.Child("healthConditions"), n, maxHealthConditions))
			continue
		}
		for j := range h.HealthConditions {
			all = append(all, validateHealth(&h.HealthConditions[j], path.Child("healthConditions").Index(j))...)
		}
	}
	return all
}

func validateHealth(c *storagev1.StorageHealthCondition, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if c.Status != storagev1.StorageDegraded && c.Status != storagev1.StorageUnreachable {
		all = append(all, field.NotSupported(path.Child("status"), c.Status,
			[]storagev1.StorageHealthStatusType{storagev1.StorageDegraded, storagev1.StorageUnreachable}))
	}
	if c.Reason == "" {
		all = append(all, field.Required(path.Child("reason"), ""))
	} else {
		all = append(all, common.Invalid(metavalidation.IsValidConditionReason(c.Reason), c.Reason, path.Child("reason"))...)
		all = append(all, common.MaxBytes(c.Reason, maxReason, path.Child("reason"))...)
	}
	all = append(all, common.MaxBytes(c.Message, maxErrorMessage, path.Child("message"))...)
	if c.AccessMode != nil {
		all = append(all, common.OneOf(*c.AccessMode, path.Child("accessMode"), corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)...)
	}
	if c.VolumeMode != nil {
		all = append(all, common.OneOf(*c.VolumeMode, path.Child("volumeMode"), corev1.PersistentVolumeFilesystem, corev1.PersistentVolumeBlock)...)
	}
	return all
}
