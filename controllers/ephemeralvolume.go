package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/ephemeral"
)

// A pod's ephemeral volume is a claim that lives and dies with the pod: made here, removed by the garbage collector through its
// owner. Key: a pod. Woken when it is new, and when a claim goes that it still wants.

// EphemeralVolume is ephemeral-volume-controller.
func EphemeralVolume() Controller {
	return Controller{
		Name: "ephemeral-volume-controller", Account: "ephemeral-volume-controller",
		Keys: keyMap{
			Pods: func(_ View, c Object) []Key {
				if p, ok := c.Now.(*corev1.Pod); ok && c.Prev == nil {
					return keyOfEphemeral(p, "")
				}
				return nil
			},
			PersistentVolumeClaims: func(v View, c Object) []Key {
				var keys []Key
				if c.Now == nil {
					gone := accessor(c.Prev)
					for _, p := range typed[*corev1.Pod](v.List(Pods, gone.GetNamespace(), nil)) {
						keys = append(keys, keyOfEphemeral(p, gone.GetName())...)
					}
				}
				return keys
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if p := get[*corev1.Pod](v, Pods, k.Namespace, k.Name); p != nil && p.DeletionTimestamp == nil {
					claimEphemeral(v, k, p, &out)
				}
			}
			return out
		},
	}
}

// keyOfEphemeral is the pod's key when it has an ephemeral volume, of that claim if it is named.
func keyOfEphemeral(p *corev1.Pod, claim string) []Key {
	for i := range p.Spec.Volumes {
		if vol := &p.Spec.Volumes[i]; vol.Ephemeral != nil && (claim == "" || claim == ephemeral.VolumeClaimName(p, vol)) {
			return []Key{NameKey(p)}
		}
	}
	return nil
}

// claimEphemeral makes the claims that are missing, up to the first that cannot be: it is told, and tried again.
func claimEphemeral(v View, k Key, p *corev1.Pod, out *Outcome) {
	fail := func(vol string, why error) Write {
		return record(k, "ephemeral_volume", Reference(p, podKind), corev1.EventTypeWarning, "FailedBinding", fmt.Sprintf("ephemeral volume %s: %v", vol, why))
	}
	for i := range p.Spec.Volumes {
		vol := &p.Spec.Volumes[i]
		if vol.Ephemeral == nil || vol.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		name := ephemeral.VolumeClaimName(p, vol)
		if have := get[*corev1.PersistentVolumeClaim](v, PersistentVolumeClaims, p.Namespace, name); have != nil {
			if err := ephemeral.VolumeIsForPod(p, have); err != nil {
				out.Writes = append(out.Writes, fail(vol.Name, err))
				return
			}
			continue
		}
		t := vol.Ephemeral.VolumeClaimTemplate
		w := creation(k, PersistentVolumeClaims, &corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, Labels: t.Labels, Annotations: t.Annotations,
				OwnerReferences: []metav1.OwnerReference{controllerRef(p, podKind)}},
			Spec: *t.Spec.DeepCopy(),
		})
		w.Failed = func(err error) []Write {
			if terminating(err) {
				return nil
			}
			return []Write{fail(vol.Name, fmt.Errorf("create PVC %s: %w", name, err))}
		}
		out.Writes = append(out.Writes, w)
	}
}
