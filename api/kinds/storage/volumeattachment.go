// VolumeAttachment asks a CSI driver to attach a volume to a node; the driver
// reports in the status.
package storage

import (
	"math"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

const (
	maxDriverName   = 63
	maxErrorMessage = 1024
)

func volumeAttachments() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("VolumeAttachment")
	v1 := common.Version[storagev1.VolumeAttachment, storagev1.VolumeAttachmentList](gvk)
	main := common.Typed[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]{
		ResetFields: []string{"status"},
		Default:     defaultAttachment,
		PrepareForCreate: func(_ *kinds.Context, obj *storagev1.VolumeAttachment) {
			obj.Status = storagev1.VolumeAttachmentStatus{}
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *storagev1.VolumeAttachment) { obj.Status = old.Status },
		Validate: func(_ *kinds.Context, obj *storagev1.VolumeAttachment) field.ErrorList {
			none := func(string, *field.Path) field.ErrorList { return nil }
			return append(validateAttachment(obj, none), declaredAttacher(obj.Spec.Attacher, field.NewPath("spec", "attacher"))...)
		},
		ValidateUpdate: validateAttachmentUpdate, ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[storagev1.VolumeAttachment, *storagev1.VolumeAttachment]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *storagev1.VolumeAttachment) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
		},
		ValidateUpdate: validateAttachmentUpdate, ForbidUnconditionalUpdate: true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "volumeattachments", Singular: "volumeattachment", Kind: gvk.Kind, ReturnsDeleted: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/volumeattachments",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

func defaultAttachment(obj *storagev1.VolumeAttachment) {
	if v := obj.Spec.Source.InlineVolumeSpec; v != nil {
		core.DefaultInlineVolume(v)
	}
}

// validateAttachmentUpdate: a spec that changed is refused before its fields are looked at by what they declare.
func validateAttachmentUpdate(_ *kinds.Context, obj, old *storagev1.VolumeAttachment) field.ErrorList {
	return append(validateAttachment(obj, driverName), common.Frozen(obj.Spec, old.Spec, field.NewPath("spec"))...)
}

func declaredAttacher(name string, path *field.Path) field.ErrorList {
	return common.Wanted(name, path, validate.LongNameCaseless, common.MaxLength[string](maxDriverName))
}

func validateAttachment(obj *storagev1.VolumeAttachment, attacher func(string, *field.Path) field.ErrorList) field.ErrorList {
	path := field.NewPath("spec")
	all := attacher(obj.Spec.Attacher, path.Child("attacher"))
	all = append(all, validateSource(&obj.Spec.Source, path.Child("source"))...)
	all = append(all, common.Invalid(apivalidation.NameIsDNSSubdomain(obj.Spec.NodeName, false), obj.Spec.NodeName, path.Child("nodeName"))...)
	all = append(all, validateAttachmentStatus(&obj.Status, field.NewPath("status"))...)
	if name := obj.Spec.Source.PersistentVolumeName; name != nil {
		all = append(all, common.Invalid(apivalidation.NameIsDNSSubdomain(*name, false), *name, path.Child("source", "persistentVolumeName"))...)
	}
	return all
}

func validateSource(s *storagev1.VolumeAttachmentSource, path *field.Path) field.ErrorList {
	const one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
	switch {
	case s.InlineVolumeSpec == nil && s.PersistentVolumeName == nil:
		return field.ErrorList{field.Required(path, one)}
	case s.InlineVolumeSpec != nil && s.PersistentVolumeName != nil:
		return field.ErrorList{field.Forbidden(path, one)}
	case s.PersistentVolumeName != nil && *s.PersistentVolumeName == "":
		return field.ErrorList{field.Required(path.Child("persistentVolumeName"), "must specify non empty persistentVolumeName")}
	case s.InlineVolumeSpec != nil:
		return core.ValidateInlineVolume(s.InlineVolumeSpec, path.Child("inlineVolumeSpec"))
	}
	return nil
}

func validateAttachmentStatus(s *storagev1.VolumeAttachmentStatus, path *field.Path) field.ErrorList {
	var all field.ErrorList
	size := 0
	for k, v := range s.AttachmentMetadata {
		size += len(k) + len(v)
	}
	if size > maxParametersSize {
		all = append(all, field.TooLong(path.Child("attachmentMetadata"), "", maxParametersSize))
	}
	all = append(all, validateVolumeError(s.AttachError, path.Child("attachError"))...)
	return append(all, validateVolumeError(s.DetachError, path.Child("detachError"))...)
}

func validateVolumeError(e *storagev1.VolumeError, path *field.Path) field.ErrorList {
	if e == nil {
		return nil
	}
	all := common.MaxBytes(e.Message, maxErrorMessage, path.Child("message"))
	if e.ErrorCode != nil && *e.ErrorCode < 0 {
		all = append(all, field.Invalid(path.Child("errorCode"), *e.ErrorCode, validation.InclusiveRangeError(0, math.MaxInt32)))
	}
	return all
}

// driverName checks the name of a CSI driver.
func driverName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	all := common.MaxBytes(name, maxDriverName, path)
	all = append(all, common.Invalid(validation.IsDNS1123Subdomain(strings.ToLower(name)), name, path)...)
	return all
}
