package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a claim. Once made it stays, but for its size and its
// attributes class when it is bound, and the name of its volume when it has none.

func validateClaim(_ *kinds.Context, c *corev1.PersistentVolumeClaim) field.ErrorList {
	return ValidateClaimSpec(&c.Spec, field.NewPath("spec"))
}

// ValidateClaimSpec checks the spec of a claim or of a claim template.
func ValidateClaimSpec(s *corev1.PersistentVolumeClaimSpec, at *field.Path) field.ErrorList {
	return claimSpec(s, at, validation.IsDNS1123Subdomain)
}

// claimSpec checks a claim's spec, with a rule for the API groups of its data sources.
func claimSpec(s *corev1.PersistentVolumeClaimSpec, at *field.Path, group func(string) []string) field.ErrorList {
	var f faults
	if len(s.AccessModes) == 0 {
		f.required(at.Child("accessModes"), "at least 1 access mode is required")
	}
	f.add(common.LabelSelector(s.Selector, at.Child("selector")))
	accessModes(&f, s.AccessModes, at.Child("accessModes"))
	size := at.Child("resources").Key(string(corev1.ResourceStorage))
	if q, has := s.Resources.Requests[corev1.ResourceStorage]; !has {
		f.required(size, "")
	} else if q.Sign() <= 0 {
		f.invalid(size, q.String(), "must be greater than zero")
	}
	if n := s.StorageClassName; n != nil && *n != "" {
		f.invalids(at.Child("storageClassName"), *n, validation.IsDNS1123Subdomain(*n))
	}
	f.volumeMode(s.VolumeMode, at.Child("volumeMode"))
	f.dataSources(s, at, group)
	if n := s.VolumeAttributesClassName; n != nil && *n != "" {
		f.invalids(at.Child("volumeAttributesClassName"), *n, validation.IsDNS1123Subdomain(*n))
	}
	return f.all
}

func (f *faults) dataSources(s *corev1.PersistentVolumeClaimSpec, at *field.Path, group func(string) []string) {
	a, b := s.DataSource, s.DataSourceRef
	if a != nil {
		f.dataSource(a.Name, a.Kind, a.APIGroup, at.Child("dataSource"), group)
	}
	if b == nil {
		return
	}
	f.dataSource(b.Name, b.Kind, b.APIGroup, at.Child("dataSourceRef"), group)
	elsewhere := b.Namespace != nil && *b.Namespace != ""
	if elsewhere {
		f.invalids(at.Child("dataSourceRef", "namespace"), *b.Namespace, validation.IsDNS1123Label(*b.Namespace))
	}
	if a == nil {
		return
	}
	if elsewhere {
		f.invalid(at, at.Child("dataSource"), "may not be specified when dataSourceRef.namespace is specified")
	} else if !same(a.APIGroup, b.APIGroup) || a.Kind != b.Kind || a.Name != b.Name {
		f.invalid(at, at.Child("dataSource"), "must match dataSourceRef")
	}
}

func (f *faults) dataSource(name, kind string, group *string, at *field.Path, rule func(string) []string) {
	f.named(name, at.Child("name"))
	f.named(kind, at.Child("kind"))
	if group == nil || *group == "" {
		if kind != "PersistentVolumeClaim" {
			f.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
		}
		return
	}
	f.invalids(at.Child("apiGroup"), *group, rule(*group))
}

// sourceGroups is the rule for the API groups of an updated claim's data sources: one that has
// a group was made when any was taken, so far as anybody can tell.
func sourceGroups(old *corev1.PersistentVolumeClaimSpec) func(string) []string {
	if a := old.DataSource; a != nil && a.APIGroup != nil {
		return func(string) []string { return nil }
	}
	if b := old.DataSourceRef; b != nil && b.APIGroup != nil {
		return func(string) []string { return nil }
	}
	return validation.IsDNS1123Subdomain
}

func validateClaimUpdate(_ *kinds.Context, c, old *corev1.PersistentVolumeClaim) field.ErrorList {
	var f faults
	spec := field.NewPath("spec")
	f.add(claimSpec(&c.Spec, spec, sourceGroups(&old.Spec)))
	now, was := c.Spec.DeepCopy(), old.Spec.DeepCopy()
	if was.VolumeName == "" {
		was.VolumeName = now.VolumeName
	}
	f.storageClass(c, old, now)
	if c.Status.Phase == corev1.ClaimBound {
		if now.Resources.Requests != nil {
			now.Resources.Requests[corev1.ResourceStorage] = was.Resources.Requests[corev1.ResourceStorage]
		}
		now.VolumeAttributesClassName = was.VolumeAttributesClassName
	}
	if !common.Equal(now, was) {
		f.forbidden(spec, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n"+
			diff.Diff(common.Internal(*was), common.Internal(*now)))
	}
	size, oldSize := c.Spec.Resources.Requests[corev1.ResourceStorage], old.Spec.Resources.Requests[corev1.ResourceStorage]
	if size.Cmp(oldSize) < 0 && size.Cmp(old.Status.Capacity[corev1.ResourceStorage]) <= 0 {
		f.forbidden(spec.Child("resources", "requests", "storage"), "field can not be less than status.capacity")
	}
	f.add(common.Immutable(c.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode")))
	if name := c.Spec.VolumeAttributesClassName; !same(name, old.Spec.VolumeAttributesClassName) && old.Status.CurrentVolumeAttributesClassName != nil {
		at := spec.Child("volumeAttributesClassName")
		if name == nil {
			f.forbidden(at, "update to nil is forbidden when status.currentVolumeAttributesClassName is not nil")
		} else if *name == "" {
			f.forbidden(at, "update to empty string is forbidden when status.currentVolumeAttributesClassName is not nil")
		}
	}
	return f.all
}

// storageClass: the class may move from the old annotation into the field, and be set when there was none.
func (f *faults) storageClass(c, old *corev1.PersistentVolumeClaim, now *corev1.PersistentVolumeClaimSpec) {
	const key = corev1.BetaStorageClassAnnotation
	was, had := old.Annotations[key]
	is, has := c.Annotations[key]
	name, oldName := c.Spec.StorageClassName, old.Spec.StorageClassName
	if had && oldName == nil && name != nil && *name == was && (!has || is == was) {
		now.StorageClassName = nil
		return
	}
	if is != was {
		f.invalid(field.NewPath("metadata", "annotations").Key(key), is, "field is immutable")
	}
	if name != nil && oldName == nil && (!had || *name == was) {
		now.StorageClassName = nil
	}
}

func validateClaimStatus(_ *kinds.Context, c, _ *corev1.PersistentVolumeClaim) field.ErrorList {
	var f faults
	at := field.NewPath("status")
	for _, name := range common.Keys(c.Status.Capacity) {
		if q := c.Status.Capacity[name]; q.Value() < 0 {
			f.invalid(at.Child("capacity").Key(string(name)), q.Value(), "must be a valid resource quantity")
		}
	}
	for _, name := range common.Keys(c.Status.AllocatedResourceStatuses) {
		at := at.Child("allocatedResourceStatuses")
		f.claimResource(name, at)
		switch c.Status.AllocatedResourceStatuses[name] {
		case corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
			corev1.PersistentVolumeClaimNodeResizePending, corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible:
		default:
			f.all = append(f.all, field.NotSupported(at, name, []corev1.ClaimResourceStatus{
				corev1.PersistentVolumeClaimControllerResizeInProgress, corev1.PersistentVolumeClaimControllerResizeInfeasible,
				corev1.PersistentVolumeClaimNodeResizeInProgress, corev1.PersistentVolumeClaimNodeResizeInfeasible,
				corev1.PersistentVolumeClaimNodeResizePending}))
		}
	}
	for _, name := range common.Keys(c.Status.AllocatedResources) {
		at := at.Child("allocatedResources")
		before := len(f.all)
		f.claimResource(name, at)
		if q := c.Status.AllocatedResources[name]; len(f.all) == before && q.Value() < 0 {
			f.invalid(at.Key(string(name)), q.Value(), "must be a valid resource quantity")
		}
	}
	return f.all
}

func (f *faults) claimResource(name corev1.ResourceName, at *field.Path) {
	before := len(f.all)
	f.invalids(at, string(name), validation.IsQualifiedName(string(name)))
	if len(f.all) == before && isNative(name) {
		oneOf(f, at, name, corev1.ResourceStorage)
	}
}

func claimWarnings(_ *kinds.Context, c, _ *corev1.PersistentVolumeClaim) []string {
	w := &warnings{}
	if _, has := c.Annotations[corev1.BetaStorageClassAnnotation]; has {
		w.add(`%s: deprecated since v1.8; use "storageClassName" attribute instead`, field.NewPath("metadata", "annotations").Key(corev1.BetaStorageClassAnnotation))
	}
	return append(w.out, ClaimSpecWarnings(&c.Spec, field.NewPath("spec"))...)
}

// ClaimSpecWarnings warns about a claim's spec, or a claim template's, that stands at path.
func ClaimSpecWarnings(s *corev1.PersistentVolumeClaimSpec, at *field.Path) []string {
	w := &warnings{}
	for _, list := range []struct {
		name    string
		amounts corev1.ResourceList
	}{{"requests", s.Resources.Requests}, {"limits", s.Resources.Limits}} {
		if q, has := list.amounts[corev1.ResourceStorage]; has && q.MilliValue()%1000 != 0 {
			w.add("%s: fractional byte value %q is invalid, must be an integer", at.Child("resources", list.name).Key(string(corev1.ResourceStorage)), q.String())
		}
	}
	return w.out
}
