package admission

// The three plugins of storage: claims without a class get the default one;
// claims, volumes and attribute classes get the finalizer that keeps them
// while they are used; claims grow only where their class allows it.

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var storageClasses = schema.GroupResource{Group: storagev1.GroupName, Resource: "storageclasses"}

func defaultStorageClass() Plugin {
	return Plugin{Name: "DefaultStorageClass", Mutate: func(a *Attributes) error {
		claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
		if !ok || a.Operation != create || a.Subresource != "" {
			return nil
		}
		if _, old := claim.Annotations[corev1.BetaStorageClassAnnotation]; old || claim.Spec.StorageClassName != nil {
			return nil
		}
		classes, err := list[*storagev1.StorageClass](a, storageClasses)
		if err != nil {
			return err
		}
		if c := newestDefault(classes, "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"); c != nil {
			claim.Spec.StorageClassName = &c.Name
		}
		return nil
	}}
}

// newestDefault: of several defaults the newest counts, of equally old ones the first by name.
func newestDefault[T metav1.Object](all []T, annotations ...string) (found T) {
	defaults := slices.DeleteFunc(slices.Clone(all), func(o T) bool {
		return !slices.ContainsFunc(annotations, func(name string) bool { return o.GetAnnotations()[name] == "true" })
	})
	slices.SortFunc(defaults, func(x, y T) int {
		if c := y.GetCreationTimestamp().Compare(x.GetCreationTimestamp().Time); c != 0 {
			return c
		}
		return strings.Compare(x.GetName(), y.GetName())
	})
	if len(defaults) > 0 {
		found = defaults[0]
	}
	return found
}

func storageObjectInUseProtection() Plugin {
	return Plugin{Name: "StorageObjectInUseProtection", Mutate: func(a *Attributes) error {
		if a.Operation != create || a.Subresource != "" {
			return nil
		}
		finalizer := ""
		switch a.Object.(type) {
		case *corev1.PersistentVolume:
			finalizer = "kubernetes.io/pv-protection"
		case *corev1.PersistentVolumeClaim:
			finalizer = "kubernetes.io/pvc-protection"
		case *storagev1.VolumeAttributesClass:
			finalizer = "kubernetes.io/vac-protection"
		default:
			return nil
		}
		if m := a.Object.(metav1.Object); !slices.Contains(m.GetFinalizers(), finalizer) {
			m.SetFinalizers(append(m.GetFinalizers(), finalizer))
		}
		return nil
	}}
}

func persistentVolumeClaimResize() Plugin {
	return Plugin{Name: "PersistentVolumeClaimResize", Validate: func(a *Attributes) error {
		claim, ok := a.Object.(*corev1.PersistentVolumeClaim)
		old, was := a.Old.(*corev1.PersistentVolumeClaim)
		if !ok || !was || a.Operation != update || a.Subresource != "" {
			return nil
		}
		if claim.Spec.Resources.Requests.Storage().Cmp(*old.Spec.Resources.Requests.Storage()) <= 0 {
			return nil
		}
		if old.Status.Phase != corev1.ClaimBound {
			return forbidden(a, "Only bound persistent volume claims can be expanded")
		}
		name := classOf(claim)
		if name != "" && name == classOf(old) {
			o, err := a.Reader.Get(a.Ctx, storageClasses, "", name)
			if err != nil && !apierrors.IsNotFound(err) {
				return apierrors.NewInternalError(err)
			}
			if c, ok := o.(*storagev1.StorageClass); ok && c.AllowVolumeExpansion != nil && *c.AllowVolumeExpansion {
				return nil
			}
		}
		return forbidden(a, "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize")
	}}
}

func classOf(claim *corev1.PersistentVolumeClaim) string {
	if name, ok := claim.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return name
	}
	if claim.Spec.StorageClassName != nil {
		return *claim.Spec.StorageClassName
	}
	return ""
}
