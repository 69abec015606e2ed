// CSIDriver tells what a CSI driver wants of Kubernetes. Its name is the
// driver's.
package storage

import (
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	minTokenSeconds  = 600
	maxTokenSeconds  = 1 << 32
	minUpdateSeconds = 10

	tokensInSecrets = "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes"
)

func csiDrivers() *kinds.Resource {
	gvk := storagev1.SchemeGroupVersion.WithKind("CSIDriver")
	v1 := common.Version[storagev1.CSIDriver, storagev1.CSIDriverList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "csidrivers", Singular: "csidriver", Kind: gvk.Kind, ReturnsDeleted: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/csidrivers",
		Strategy: common.Typed[storagev1.CSIDriver, *storagev1.CSIDriver]{
			Default: defaultCSIDriver,
			PrepareForUpdate: func(_ *kinds.Context, obj, old *storagev1.CSIDriver) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate: func(_ *kinds.Context, obj *storagev1.CSIDriver) field.ErrorList { return validateCSIDriver(&obj.Spec) },
			ValidateUpdate: func(_ *kinds.Context, obj, old *storagev1.CSIDriver) field.ErrorList {
				path := field.NewPath("spec")
				all := validateCSIDriver(&obj.Spec)
				all = append(all, common.Immutable(obj.Spec.AttachRequired, old.Spec.AttachRequired, path.Child("attachedRequired"))...)
				return append(all, common.Immutable(obj.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, path.Child("volumeLifecycleModes"))...)
			},
			Warnings:                  csiDriverWarnings,
			ForbidUnconditionalUpdate: true,
			FreeUpdate:                true,
		}.Strategy(),
	}
}

func defaultCSIDriver(obj *storagev1.CSIDriver) {
	s := &obj.Spec
	set := func(at **bool, value bool) {
		if *at == nil {
			*at = &value
		}
	}
	set(&s.AttachRequired, true)
	set(&s.PodInfoOnMount, false)
	set(&s.StorageCapacity, false)
	set(&s.RequiresRepublish, false)
	set(&s.SELinuxMount, false)
	set(&s.PreventPodSchedulingIfMissing, false)
	if s.FSGroupPolicy == nil {
		p := storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy
		s.FSGroupPolicy = &p
	}
	if len(s.VolumeLifecycleModes) == 0 {
		s.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

func csiDriverWarnings(_ *kinds.Context, obj, old *storagev1.CSIDriver) []string {
	if len(obj.Spec.TokenRequests) == 0 || obj.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	if old != nil && common.Equal(obj.Spec.TokenRequests, old.Spec.TokenRequests) {
		return nil
	}
	return []string{tokensInSecrets}
}

// validateCSIDriver: defaults have filled in the flags, so that none of them can be missing.
func validateCSIDriver(s *storagev1.CSIDriverSpec) field.ErrorList {
	path := field.NewPath("spec")
	all := common.Among(*s.FSGroupPolicy, path.Child("fsGroupPolicy"),
		storagev1.FileFSGroupPolicy, storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	all = append(all, tokenRequests(s.TokenRequests, path.Child("tokenRequests"))...)
	for _, m := range s.VolumeLifecycleModes {
		if m != storagev1.VolumeLifecyclePersistent && m != storagev1.VolumeLifecycleEphemeral {
			all = append(all, field.NotSupported(path.Child("volumeLifecycleModes"), m,
				[]storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}))
		}
	}
	if p := s.NodeAllocatableUpdatePeriodSeconds; p != nil && *p < minUpdateSeconds {
		all = append(all, field.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), *p, "must be greater than or equal to 10 seconds"))
	}
	if s.ServiceAccountTokenInSecrets != nil && len(s.TokenRequests) == 0 {
		all = append(all, field.Invalid(path.Child("serviceAccountTokenInSecrets"), s.ServiceAccountTokenInSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	return all
}

func tokenRequests(requests []storagev1.TokenRequest, path *field.Path) field.ErrorList {
	var all field.ErrorList
	seen := map[string]bool{}
	for i, t := range requests {
		at := path.Index(i)
		if seen[t.Audience] {
			all = append(all, field.Duplicate(at.Child("audience"), t.Audience))
			continue
		}
		seen[t.Audience] = true
		if t.ExpirationSeconds == nil {
			continue
		}
		if *t.ExpirationSeconds < minTokenSeconds {
			all = append(all, field.Invalid(at.Child("expirationSeconds"), *t.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
		}
		if *t.ExpirationSeconds > maxTokenSeconds {
			all = append(all, field.Invalid(at.Child("expirationSeconds"), *t.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	return all
}
