package controllers

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Two controllers keep what is in use from going: a claim that a pod on a node mounts, a volume that is bound. Each has a
// finalizer, which comes off when the object is being deleted and is not in use. Keys: a claim; a volume.

const (
	claimFinalizer  = "kubernetes.io/pvc-protection"
	volumeFinalizer = "kubernetes.io/pv-protection"
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
	protect(k, c, claimFinalizer, mounted, out)
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
					protect(k, pv, volumeFinalizer, pv.Status.Phase == corev1.VolumeBound, &out)
				}
			}
			return out
		},
	}
}

// protect puts the finalizer on, or takes it off what is being deleted and not in use.
func protect[T runtime.Object](k Key, obj T, finalizer string, used bool, out *Outcome) {
	gr := PersistentVolumeClaims
	if _, ok := any(obj).(*corev1.PersistentVolume); ok {
		gr = PersistentVolumes
	}
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
