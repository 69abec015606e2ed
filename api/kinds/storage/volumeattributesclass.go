// VolumeAttributesClass holds the driver's parameters of volumes of a class
// that may be changed while a volume exists. The class itself never changes.
package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func volumeAttributesClasses() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("VolumeAttributesClass")
	v1 := common.Version[storagev1.VolumeAttributesClass, storagev1.VolumeAttributesClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "volumeattributesclasses", Singular: "volumeattributesclass", Kind: gvk.Kind, ReturnsDeleted: true, ShortNames: []string{"vac"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/volumeattributesclasses",
		Strategy: common.Typed[storagev1.VolumeAttributesClass, *storagev1.VolumeAttributesClass]{
			Validate: func(_ *kinds.Context, obj *storagev1.VolumeAttributesClass) field.ErrorList {
				return validateAttributesClass(obj)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *storagev1.VolumeAttributesClass) field.ErrorList {
				var all field.ErrorList
				if obj.DriverName != old.DriverName {
					all = append(all, field.Forbidden(field.NewPath("driverName"), "updates to driverName are forbidden."))
				}
				if !common.Equal(obj.Parameters, old.Parameters) {
					all = append(all, field.Forbidden(field.NewPath("parameters"), "updates to parameters are forbidden."))
				}
				return append(all, validateAttributesClass(obj)...)
			},
		}.Strategy(),
	}
}

func validateAttributesClass(obj *storagev1.VolumeAttributesClass) field.ErrorList {
	all, missing := provisioner(obj.DriverName, field.NewPath("driverName"))
	all = append(missing, all...)
	path := field.NewPath("parameters")
	all = append(all, parameters(obj.Parameters, path)...)
	if len(obj.Parameters) == 0 {
		all = append(all, field.Required(path, "must contain at least one key/value pair"))
	}
	return all
}
