package rest

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What may stand in metadata. Some rules hold for every object (anyMeta), others belong to
// a kind: its name, and that a finalizer names its owner's domain. A new object is held to
// its kind's rules first, an update to the general ones: both find the same things, and
// which comes first decides what a client reads first.

var metadata = field.NewPath("metadata")

// invalid is the 422 that lists errs, or nil. Two rules may find the same thing; it is said once.
// Custom resources keep what is said twice, as upstream does.
func (o *op) invalid(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	if !o.Resource.Custom {
		errs = once(errs)
	}
	return apierrors.NewInvalid(o.Resource.Hub.GVK.GroupKind(), name, errs)
}

// once drops an error that is said a second time in the same words.
func once(all field.ErrorList) field.ErrorList {
	said := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(e *field.Error) bool {
		text := e.Error()
		twice := said[text]
		said[text] = true
		return twice
	})
}

// anyMeta checks metadata as that of any kind, whose name may be all that fits into a URL.
func (o *op) anyMeta(m metav1.Object) field.ErrorList {
	return sortMaps(validation.ValidateObjectMetaAccessor(m, o.Resource.Namespaced, path.ValidatePathSegmentName, metadata))
}

// kindMeta checks a new object's metadata by its kind's rules.
func (o *op) kindMeta(m metav1.Object) field.ErrorList {
	name, s := validation.ValidateNameFunc(validation.NameIsDNSSubdomain), o.Resource.Strategy
	if s != nil && s.FreeMeta {
		return nil
	}
	if s != nil && s.ValidateName != nil {
		name = s.ValidateName
	}
	errs := sortMaps(validation.ValidateObjectMetaAccessor(m, o.Resource.Namespaced, name, metadata))
	if s != nil && s.FreeFinalizers {
		return errs
	}
	return append(errs, o.finalizerNames(m)...)
}

// updatedMeta checks what a kind asks of an updated object's metadata beyond anyMeta.
func (o *op) updatedMeta(m metav1.Object) field.ErrorList {
	s := o.strategy
	switch {
	case s.FreeMeta:
		return nil
	case s == o.Resource.Strategy && !s.FreeUpdate:
		return o.kindMeta(m)
	case s.FreeFinalizers:
		return nil
	}
	return o.finalizerNames(m)
}

// sortMaps orders what is wrong with labels and annotations, which upstream tells in the
// random order of a map: the same request gets the same answer each time.
func sortMaps(errs field.ErrorList) field.ErrorList {
	for _, part := range []*field.Path{metadata.Child("labels"), metadata.Child("annotations")} {
		first := slices.IndexFunc(errs, func(e *field.Error) bool { return e.Field == part.String() })
		if first < 0 {
			continue
		}
		last := first
		for last < len(errs) && errs[last].Field == part.String() {
			last++
		}
		slices.SortStableFunc(errs[first:last], func(a, b *field.Error) int {
			return strings.Compare(fmt.Sprint(a.BadValue), fmt.Sprint(b.BadValue))
		})
	}
	return errs
}

// finalizerNames wants a finalizer to name its owner's domain, but for the three that are Kubernetes' own.
func (o *op) finalizerNames(m metav1.Object) (errs field.ErrorList) {
	if o.Resource.Custom {
		return nil
	}
	for i, f := range m.GetFinalizers() {
		switch {
		case strings.Contains(f, "/"), f == "kubernetes", f == metav1.FinalizerOrphanDependents, f == metav1.FinalizerDeleteDependents:
		default:
			errs = append(errs, field.Invalid(metadata.Child("finalizers").Index(i), f, "name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}
