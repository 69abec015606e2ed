package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// Three controllers keep what is in use from going: a claim that a pod on a node mounts, a volume that is bound, a class of
// attributes that a claim or a volume names. Each has a finalizer, which comes off when the object is being deleted and is not
// in use. Keys: a claim; a volume; a class.

const (
	claimFinalizer  = "kubernetes.io/pvc-protection"
	volumeFinalizer = "kubernetes.io/pv-protection"
	classFinalizer  = "kubernetes.io/vac-protection"
)

// ClaimProtection is persistentvolumeclaim-protection-controller.
func ClaimProtection() Controller {
	return Controller{
		Name: "persistentvolumeclaim-protection-controller", Account: "pvc-protection-controller",
		Keys: keyMap{
			PersistentVolumeClaims: itself,
			Pods: func(_ View, c Object) []Key {
				var keys []Key
				for _, obj := range []runtime.Object{c.Now, c.Prev} {
					if p, ok := obj.(*corev1.Pod); ok {
						for _, name := range claimsOfPod(p) {
							keys = append(keys, Key{Namespace: p.Namespace, Name: name})
						}
					}
				}
				return keys
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if c := get[*corev1.PersistentVolumeClaim](v, PersistentVolumeClaims, k.Namespace, k.Name); c != nil {
					protectClaim(v, k, c, &out)
				}
			}
			return out
		},
	}
}

// claimsOfPod names the claims that a pod mounts, those of its ephemeral volumes included.
func claimsOfPod(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		} else if v.Ephemeral != nil {
			names = append(names, p.Name+"-"+v.Name)
		}
	}
	return names
}

// protectClaim keeps the finalizer and, while the claim is bound, the condition Unused.
func protectClaim(v View, k Key, c *corev1.PersistentVolumeClaim, out *Outcome) {
	mounted, referenced := false, false
	for _, p := range typed[*corev1.Pod](v.List(Pods, c.Namespace, nil)) {
		if slices.Contains(claimsOfPod(p), c.Name) {
			mounted = mounted || p.Spec.NodeName != ""
			referenced = referenced || !podEnded(p)
		}
	}
	if c.DeletionTimestamp == nil && c.Status.Phase == corev1.ClaimBound {
		noteUse(v, k, c, referenced, out)
	}
	protect(k, PersistentVolumeClaims, c, claimFinalizer, mounted, out)
}

// noteUse sets the condition.
func noteUse(v View, k Key, c *corev1.PersistentVolumeClaim, used bool, out *Outcome) {
	want := corev1.PersistentVolumeClaimCondition{Type: corev1.PersistentVolumeClaimUnused, Status: corev1.ConditionTrue,
		Reason: "NoPodsUsingPVC", Message: "No pods are currently referencing this PVC", LastTransitionTime: metav1.NewTime(v.Now())}
	if used {
		want.Status, want.Reason, want.Message = corev1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC"
	}
	same := func(o corev1.PersistentVolumeClaimCondition) bool { return o.Type == want.Type }
	if i := slices.IndexFunc(c.Status.Conditions, same); i >= 0 && c.Status.Conditions[i].Status == want.Status {
		return
	}
	out.Writes = append(out.Writes, mutation(k, PersistentVolumeClaims, "status", c, func(now *corev1.PersistentVolumeClaim) error {
		now.Status.Conditions = append(slices.DeleteFunc(slices.Clone(now.Status.Conditions), same), want)
		return nil
	}))
}

// VolumeProtection is persistentvolume-protection-controller.
func VolumeProtection() Controller {
	return Controller{
		Name: "persistentvolume-protection-controller", Account: "pv-protection-controller",
		Keys: keyMap{PersistentVolumes: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if pv := get[*corev1.PersistentVolume](v, PersistentVolumes, "", k.Name); pv != nil {
					protect(k, PersistentVolumes, pv, volumeFinalizer, pv.Status.Phase == corev1.VolumeBound, &out)
				}
			}
			return out
		},
	}
}

// AttributesClassProtection is volumeattributesclass-protection-controller.
func AttributesClassProtection() Controller {
	named := func(_ View, c Object) []Key {
		var keys []Key
		for _, obj := range []runtime.Object{c.Now, c.Prev} {
			for _, name := range classesOf(obj) {
				keys = append(keys, Key{Name: name})
			}
		}
		return keys
	}
	return Controller{
		Name: "volumeattributesclass-protection-controller", Account: "volumeattributesclass-protection-controller",
		Keys: keyMap{AttributesClasses: itself, PersistentVolumes: named, PersistentVolumeClaims: named},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				class := get[*storagev1.VolumeAttributesClass](v, AttributesClasses, "", k.Name)
				if class == nil {
					continue
				}
				used := false
				for _, obj := range slices.Concat(v.List(PersistentVolumes, "", nil), v.List(PersistentVolumeClaims, "", nil)) {
					used = used || slices.Contains(classesOf(obj), class.Name)
				}
				protect(k, AttributesClasses, class, classFinalizer, used, &out)
			}
			return out
		},
	}
}

// classesOf names the classes of attributes that a claim or a volume has, wants or is on the way to.
func classesOf(obj runtime.Object) []string {
	var names []string
	switch o := obj.(type) {
	case *corev1.PersistentVolume:
		names = []string{ptr.Deref(o.Spec.VolumeAttributesClassName, "")}
	case *corev1.PersistentVolumeClaim:
		names = []string{ptr.Deref(o.Spec.VolumeAttributesClassName, ""), ptr.Deref(o.Status.CurrentVolumeAttributesClassName, "")}
		if m := o.Status.ModifyVolumeStatus; m != nil {
			names = append(names, m.TargetVolumeAttributesClassName)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// protect puts the finalizer on, or takes it off what is being deleted and not in use.
func protect[T runtime.Object](k Key, gr Resource, obj T, finalizer string, used bool, out *Outcome) {
	m := accessor(obj)
	has, going := slices.Contains(m.GetFinalizers(), finalizer), m.GetDeletionTimestamp() != nil
	if has == !going || (going && (used || !has)) {
		return
	}
	w := mutation(k, gr, "", obj, func(now T) error {
		m := accessor(now)
		rest := slices.DeleteFunc(slices.Clone(m.GetFinalizers()), func(f string) bool { return f == finalizer })
		if !going {
			rest = append(rest, finalizer)
		}
		m.SetFinalizers(rest)
		return nil
	})
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}
