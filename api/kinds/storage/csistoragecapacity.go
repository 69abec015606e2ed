// CSIStorageCapacity says how much a driver can still provision of one
// StorageClass in one part of the cluster; the scheduler reads it.
package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func csiStorageCapacities() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("CSIStorageCapacity")
	v1 := common.Version[storagev1.CSIStorageCapacity, storagev1.CSIStorageCapacityList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "csistoragecapacities", Singular: "csistoragecapacity", Kind: gvk.Kind, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/csistoragecapacities",
		Strategy: common.Typed[storagev1.CSIStorageCapacity, *storagev1.CSIStorageCapacity]{
			Validate: func(_ *kinds.Context, obj *storagev1.CSIStorageCapacity) field.ErrorList {
				return validateCapacity(obj, metavalidation.LabelSelectorValidationOptions{})
			},
			ValidateUpdate:            validateCapacityUpdate,
			ForbidUnconditionalUpdate: true,
		}.Strategy(),
	}
}

func validateCapacity(obj *storagev1.CSIStorageCapacity, o metavalidation.LabelSelectorValidationOptions) field.ErrorList {
	all := metavalidation.ValidateLabelSelector(obj.NodeTopology, o, field.NewPath("nodeTopology"))
	all = append(all, common.Invalid(apivalidation.NameIsDNSSubdomain(obj.StorageClassName, false), obj.StorageClassName, field.NewPath("storageClassName"))...)
	if q := obj.Capacity; q != nil && q.Sign() < 0 {
		all = append(all, field.Invalid(field.NewPath("capacity"), q.String(), apivalidation.IsNegativeErrorMsg))
	}
	return all
}

func validateCapacityUpdate(_ *kinds.Context, obj, old *storagev1.CSIStorageCapacity) field.ErrorList {
	loose := len(common.LabelSelector(old.NodeTopology, nil)) > 0
	all := validateCapacity(obj, metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: loose})
	const fixed = "field is immutable"
	if !common.Equal(obj.NodeTopology, old.NodeTopology) {
		all = append(all, field.Invalid(field.NewPath("nodeTopology"), obj.NodeTopology, fixed))
	}
	if obj.StorageClassName != old.StorageClassName {
		all = append(all, field.Invalid(field.NewPath("storageClassName"), obj.StorageClassName, fixed))
	}
	return all
}
