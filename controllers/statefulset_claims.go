package controllers

import (
	"fmt"
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The claims of a StatefulSet's pods: TEMPLATE-SET-ORDINAL. They outlive their pods; whether they outlive the set, or
// their ordinal, is said by who owns them (persistentVolumeClaimRetentionPolicy).

// setsForClaim wakes the sets whose claim changed.
func setsForClaim(v View, c Object) []Key {
	claim := accessor(c.Current())
	var keys []Key
	for _, s := range typed[*appsv1.StatefulSet](v.List(StatefulSets, claim.GetNamespace(), nil)) {
		for _, t := range s.Spec.VolumeClaimTemplates {
			if strings.HasPrefix(claim.GetName(), t.Name+"-"+s.Name+"-") {
				keys = append(keys, NameKey(s))
				break
			}
		}
	}
	return keys
}

// claimName names the claim of a template for an ordinal.
func claimName(s *appsv1.StatefulSet, template string, n int) string {
	return fmt.Sprintf("%s-%s-%d", template, s.Name, n)
}

// mountClaims gives a pod its claims, in place of the template's volumes of the same names.
func mountClaims(s *appsv1.StatefulSet, p *corev1.Pod, n int) {
	var volumes []corev1.Volume
	mine := map[string]bool{}
	for _, t := range s.Spec.VolumeClaimTemplates {
		mine[t.Name] = true
		volumes = append(volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(s, t.Name, n)}}})
	}
	for _, v := range p.Spec.Volumes {
		if !mine[v.Name] {
			volumes = append(volumes, v)
		}
	}
	p.Spec.Volumes = volumes
}

// createClaims makes the claims that a pod lacks. It says whether the pod can start: not when one is being deleted.
func (s *setStep) createClaims(p *corev1.Pod) bool {
	for i := range s.set.Spec.VolumeClaimTemplates {
		t := &s.set.Spec.VolumeClaimTemplates[i]
		name := claimName(s.set, t.Name, ordinal(s.set, p.Name))
		have := get[*corev1.PersistentVolumeClaim](s.v, PersistentVolumeClaims, s.set.Namespace, name)
		if have != nil && have.DeletionTimestamp != nil {
			s.write(s.did("Create", p, fmt.Errorf("pvc %s is being deleted", name))...)
			s.out.again(s.k, s.v.Now().Add(time.Second))
			return false
		}
		if have == nil {
			s.createClaim(t, name, p)
		}
	}
	return true
}

// createClaim makes one.
func (s *setStep) createClaim(t *corev1.PersistentVolumeClaim, name string, p *corev1.Pod) {
	claim := t.DeepCopy()
	claim.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	claim.Name, claim.Namespace = name, s.set.Namespace
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	maps.Copy(claim.Labels, s.set.Spec.Selector.MatchLabels)
	claim.OwnerReferences = s.claimOwners(claim, p)
	about := Reference(s.set, statefulSetKind)
	w := creation(s.k, PersistentVolumeClaims, claim)
	w.Done = func(runtime.Object) []Write {
		return []Write{record(s.k, "statefulset-controller", about, corev1.EventTypeNormal, "SuccessfulCreate",
			fmt.Sprintf("Create Claim %s Pod %s in StatefulSet %s success", name, p.Name, s.set.Name))}
	}
	w.Failed = func(err error) []Write {
		return []Write{record(s.k, "statefulset-controller", about, corev1.EventTypeWarning, "FailedCreate",
			fmt.Sprintf("Create Claim %s for Pod %s in StatefulSet %s failed error: %s", name, p.Name, s.set.Name, err))}
	}
	s.write(w)
}

// retention is the policy: whether claims go with the set, and with their ordinal.
func (s *setStep) retention() (deleted, scaled bool) {
	p := s.set.Spec.PersistentVolumeClaimRetentionPolicy
	if p == nil {
		return false, false
	}
	return p.WhenDeleted == appsv1.DeletePersistentVolumeClaimRetentionPolicyType, p.WhenScaled == appsv1.DeletePersistentVolumeClaimRetentionPolicyType
}

// claimOwners gives the references that a claim should have. A claim that another controller has stays as it is.
func (s *setStep) claimOwners(claim *corev1.PersistentVolumeClaim, p *corev1.Pod) []metav1.OwnerReference {
	deleted, scaled := s.retention()
	var refs []metav1.OwnerReference
	for _, ref := range claim.OwnerReferences {
		if (ref.Kind == statefulSetKind.Kind && ref.Name == s.set.Name) || (ref.Kind == podKind.Kind && ref.Name == p.Name) {
			continue
		}
		if ref.Controller != nil && *ref.Controller {
			return claim.OwnerReferences
		}
		refs = append(refs, ref)
	}
	n := ordinal(s.set, p.Name) - first(s.set)
	switch beyond := n < 0 || n >= int(*s.set.Spec.Replicas); {
	case scaled && beyond && p.UID != "":
		return append(refs, controllerRef(p, podKind))
	case deleted && !(scaled && beyond):
		return append(refs, controllerRef(s.set, statefulSetKind))
	}
	return refs
}

// ownClaims brings the owners of a pod's claims in line with the policy.
func (s *setStep) ownClaims(p *corev1.Pod) {
	for _, t := range s.set.Spec.VolumeClaimTemplates {
		claim := get[*corev1.PersistentVolumeClaim](s.v, PersistentVolumeClaims, s.set.Namespace, claimName(s.set, t.Name, ordinal(s.set, p.Name)))
		if claim == nil || claim.DeletionTimestamp != nil {
			continue
		}
		refs := s.claimOwners(claim, p)
		if len(refs)+len(claim.OwnerReferences) == 0 || equality.Semantic.DeepEqual(refs, claim.OwnerReferences) {
			continue
		}
		s.write(mutation(s.k, PersistentVolumeClaims, "", claim, func(now *corev1.PersistentVolumeClaim) error {
			now.OwnerReferences = refs
			return nil
		}))
	}
}

// claimsStale says that a claim still belongs to the pod of the same name before this one, and goes with it.
func (s *setStep) claimsStale(p *corev1.Pod) bool {
	if _, scaled := s.retention(); !scaled {
		return false
	}
	for _, t := range s.set.Spec.VolumeClaimTemplates {
		claim := get[*corev1.PersistentVolumeClaim](s.v, PersistentVolumeClaims, s.set.Namespace, claimName(s.set, t.Name, ordinal(s.set, p.Name)))
		if claim == nil {
			continue
		}
		for _, ref := range claim.OwnerReferences {
			if ref.Kind == podKind.Kind && ref.Name == p.Name {
				return true
			}
		}
	}
	return false
}
