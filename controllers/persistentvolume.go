package controllers

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	volumehelper "k8s.io/component-helpers/storage/volume"
)

// The volume binder gives claims the volumes that exist. Keys: a claim, a volume. Woken by both and by storage classes.
//
// A binding is two references, written in this order: volume to claim (spec.claimRef), then claim to volume
// (spec.volumeName). Whoever finds only the first goes on from there. Nothing is provisioned: kuberow has no plugins.

const (
	bindCompleted    = volumehelper.AnnBindCompleted
	boundByBinder    = volumehelper.AnnBoundByController
	volumeComponent  = "persistentvolume-controller"
	inTreePrefix     = "kubernetes.io/"
	claimProvisioner = "volume.kubernetes.io/storage-provisioner"
	oldProvisioner   = "volume.beta.kubernetes.io/storage-provisioner"
)

var (
	claimKind  = corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim")
	volumeKind = corev1.SchemeGroupVersion.WithKind("PersistentVolume")
	// deletablePath is what the hostPath plugin of kube-controller-manager deletes.
	deletablePath = regexp.MustCompile("/tmp/.+")
)

// VolumeBinder is persistentvolume-binder-controller.
func VolumeBinder() Controller {
	return Controller{
		Name: "persistentvolume-binder-controller", Account: "persistent-volume-binder",
		Keys: keyMap{PersistentVolumeClaims: binderKeysOfClaim, PersistentVolumes: binderKeysOfVolume, StorageClasses: binderKeysOfClass},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				b := &binder{v: v, k: k, out: &out}
				if k.Resource == PersistentVolumes {
					if pv := get[*corev1.PersistentVolume](v, PersistentVolumes, "", k.Name); pv != nil {
						b.volume(pv)
					}
				} else if c := get[*corev1.PersistentVolumeClaim](v, PersistentVolumeClaims, k.Namespace, k.Name); c != nil && c.DeletionTimestamp == nil {
					b.claim(c)
				}
			}
			return out
		},
	}
}

func claimKey(namespace, name string) Key {
	return Key{Namespace: namespace, Name: name, Resource: PersistentVolumeClaims}
}

func volumeKey(name string) Key { return Key{Name: name, Resource: PersistentVolumes} }

func binderKeysOfClaim(v View, c Object) []Key {
	claim, ok := c.Current().(*corev1.PersistentVolumeClaim)
	if !ok {
		return nil
	}
	keys := []Key{claimKey(claim.Namespace, claim.Name)}
	for _, pv := range typed[*corev1.PersistentVolume](v.List(PersistentVolumes, "", nil)) {
		if ref := pv.Spec.ClaimRef; pv.Name == claim.Spec.VolumeName || (ref != nil && ref.Namespace == claim.Namespace && ref.Name == claim.Name) {
			keys = append(keys, volumeKey(pv.Name))
		}
	}
	return keys
}

// binderKeysOfVolume wakes, beside the volume and its claim, those that wait for one of its class or for it.
func binderKeysOfVolume(v View, c Object) []Key {
	pv, ok := c.Current().(*corev1.PersistentVolume)
	if !ok {
		return nil
	}
	keys := []Key{volumeKey(pv.Name)}
	for _, claim := range typed[*corev1.PersistentVolumeClaim](v.List(PersistentVolumeClaims, "", nil)) {
		waits := claim.Spec.VolumeName == "" && pv.Spec.ClaimRef == nil && pv.Status.Phase == corev1.VolumeAvailable &&
			volumehelper.GetPersistentVolumeClaimClass(claim) == volumehelper.GetPersistentVolumeClass(pv)
		if waits || claim.Spec.VolumeName == pv.Name || (claim.Spec.VolumeName == "" && volumehelper.IsVolumeBoundToClaim(pv, claim)) {
			keys = append(keys, claimKey(claim.Namespace, claim.Name))
		}
	}
	return keys
}

func binderKeysOfClass(v View, c Object) []Key {
	var keys []Key
	for _, claim := range typed[*corev1.PersistentVolumeClaim](v.List(PersistentVolumeClaims, "", nil)) {
		class := volumehelper.GetPersistentVolumeClaimClass(claim)
		if claim.Spec.VolumeName == "" && (class == "" || class == accessor(c.Current()).GetName()) {
			keys = append(keys, claimKey(claim.Namespace, claim.Name))
		}
	}
	return keys
}

// binder is one step of one key.
type binder struct {
	v   View
	k   Key
	out *Outcome
}

func (b *binder) write(w ...Write) { b.out.Writes = append(b.out.Writes, w...) }

func (b *binder) tellClaim(c *corev1.PersistentVolumeClaim, eventType, reason, message string) {
	b.write(record(b.k, volumeComponent, Reference(c, claimKind), eventType, reason, message))
}

// claim brings a claim forward.
func (b *binder) claim(c *corev1.PersistentVolumeClaim) {
	_, done := c.Annotations[bindCompleted]
	if c.Spec.VolumeName == "" {
		if done {
			b.lose(c, "ClaimLost", "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
		} else {
			b.search(c)
		}
		return
	}
	pv := get[*corev1.PersistentVolume](b.v, PersistentVolumes, "", c.Spec.VolumeName)
	switch {
	case pv == nil && done:
		b.lose(c, "ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case pv == nil:
		b.claimStatus(c, corev1.ClaimPending, nil)
	case done && (pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID == c.UID):
		b.bind(pv, c)
	case done:
		b.lose(c, "ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly")
	case pv.Spec.ClaimRef == nil:
		if why := unfit(pv, c); why != "" {
			b.tellClaim(c, corev1.EventTypeWarning, "VolumeMismatch", fmt.Sprintf("Cannot bind to requested volume %q: %s", pv.Name, why))
			b.claimStatus(c, corev1.ClaimPending, nil)
			return
		}
		b.bind(pv, c)
	case volumehelper.IsVolumeBoundToClaim(pv, c):
		b.bind(pv, c)
	default:
		b.tellClaim(c, corev1.EventTypeWarning, "FailedBinding", fmt.Sprintf("volume %q already bound to a different claim.", pv.Name))
		b.claimStatus(c, corev1.ClaimPending, nil)
	}
}

// unfit says why a claim cannot have the volume that it names.
func unfit(pv *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) string {
	want, have := c.Spec.Resources.Requests[corev1.ResourceStorage], pv.Spec.Capacity[corev1.ResourceStorage]
	switch {
	case pv.DeletionTimestamp != nil:
		return fmt.Sprintf("the volume is marked for deletion %q", pv.Name)
	case have.Value() < want.Value():
		return "requested PV is too small"
	case volumehelper.GetPersistentVolumeClass(pv) != volumehelper.GetPersistentVolumeClaimClass(c):
		return "storageClassName does not match"
	case volumehelper.CheckVolumeModeMismatches(&c.Spec, &pv.Spec):
		return "incompatible volumeMode"
	case !volumehelper.CheckAccessModes(c, pv):
		return "incompatible accessMode"
	}
	return ""
}

// search looks for a volume: one that is reserved for the claim, else the smallest that fits.
func (b *binder) search(c *corev1.PersistentVolumeClaim) {
	name := volumehelper.GetPersistentVolumeClaimClass(c)
	class := get[*storagev1.StorageClass](b.v, StorageClasses, "", name)
	delay := class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	var fits []*corev1.PersistentVolume
	for _, pv := range typed[*corev1.PersistentVolume](b.v.List(PersistentVolumes, "", nil)) {
		if volumehelper.IsVolumeBoundToClaim(pv, c) || volumehelper.CheckAccessModes(c, pv) {
			fits = append(fits, pv)
		}
	}
	pv, err := volumehelper.FindMatchingVolume(c, fits, nil, nil, delay, true)
	if err == nil && pv != nil {
		b.bind(pv, c)
		return
	}
	switch {
	case err != nil:
		b.tellClaim(c, corev1.EventTypeWarning, "FailedBinding", err.Error())
	case delay && !volumehelper.IsDelayBindingProvisioning(c):
		b.tellClaim(c, corev1.EventTypeNormal, "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
	case name == "":
		b.tellClaim(c, corev1.EventTypeNormal, "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
	case class == nil:
		b.tellClaim(c, corev1.EventTypeWarning, "ProvisioningFailed", apierrors.NewNotFound(schema.GroupResource{Group: StorageClasses.Group, Resource: "storageclass"}, name).Error())
	case strings.HasPrefix(class.Provisioner, inTreePrefix):
		b.tellClaim(c, corev1.EventTypeWarning, "ProvisioningFailed", "no volume plugin matched name: "+class.Provisioner)
	default:
		b.askProvisioner(c, class.Provisioner)
	}
	b.claimStatus(c, corev1.ClaimPending, nil)
}

// askProvisioner names the program that shall make a volume; it watches for that.
func (b *binder) askProvisioner(c *corev1.PersistentVolumeClaim, name string) {
	if c.Annotations[claimProvisioner] != name {
		b.write(mutation(b.k, PersistentVolumeClaims, "", c, func(now *corev1.PersistentVolumeClaim) error {
			metav1.SetMetaDataAnnotation(&now.ObjectMeta, claimProvisioner, name)
			metav1.SetMetaDataAnnotation(&now.ObjectMeta, oldProvisioner, name)
			return nil
		}))
	}
	b.tellClaim(c, corev1.EventTypeNormal, "ExternalProvisioning", fmt.Sprintf("Waiting for a volume to be created either by the external provisioner '%s' "+
		"or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.", name))
}

// lose marks a claim whose volume is not there any more.
func (b *binder) lose(c *corev1.PersistentVolumeClaim, reason, message string) {
	if c.Status.Phase != corev1.ClaimLost {
		b.claimStatus(c, corev1.ClaimLost, nil)
		b.tellClaim(c, corev1.EventTypeWarning, reason, message)
	}
}

// bind does of the four writes of a binding those that are missing. Another claim may have taken the volume meanwhile:
// then the first fails, and the claim looks again.
func (b *binder) bind(pv *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) {
	reserved := volumehelper.IsVolumeBoundToClaim(pv, c)
	if !reserved || pv.Spec.ClaimRef.UID != c.UID {
		ref := Reference(c, claimKind)
		b.write(mutation(b.k, PersistentVolumes, "", pv, func(now *corev1.PersistentVolume) error {
			if now.Spec.ClaimRef != nil && !volumehelper.IsVolumeBoundToClaim(now, c) {
				return conflict(PersistentVolumes, pv.Name, "another claim has it")
			}
			now.Spec.ClaimRef = &ref
			if !reserved {
				metav1.SetMetaDataAnnotation(&now.ObjectMeta, boundByBinder, "yes")
			}
			return nil
		}))
	}
	b.phase(pv, corev1.VolumeBound, "")
	_, done := c.Annotations[bindCompleted]
	if c.Spec.VolumeName != pv.Name || !done {
		b.write(mutation(b.k, PersistentVolumeClaims, "", c, func(now *corev1.PersistentVolumeClaim) error {
			if now.Spec.VolumeName != pv.Name {
				now.Spec.VolumeName = pv.Name
				metav1.SetMetaDataAnnotation(&now.ObjectMeta, boundByBinder, "yes")
			}
			metav1.SetMetaDataAnnotation(&now.ObjectMeta, bindCompleted, "yes")
			return nil
		}))
	}
	b.claimStatus(c, corev1.ClaimBound, pv)
}

// claimStatus stores a claim's phase and what its volume offers.
func (b *binder) claimStatus(c *corev1.PersistentVolumeClaim, phase corev1.PersistentVolumeClaimPhase, pv *corev1.PersistentVolume) {
	change := func(s *corev1.PersistentVolumeClaimStatus) {
		was := s.Phase
		s.Phase = phase
		if pv == nil {
			s.AccessModes, s.Capacity, s.CurrentVolumeAttributesClassName = nil, nil, nil
			return
		}
		s.AccessModes = pv.Spec.AccessModes
		if was != phase {
			s.Capacity, s.CurrentVolumeAttributesClassName = pv.Spec.Capacity.DeepCopy(), pv.Spec.VolumeAttributesClassName
		}
	}
	status := c.Status.DeepCopy()
	if change(status); equality.Semantic.DeepEqual(*status, c.Status) {
		return
	}
	b.write(mutation(b.k, PersistentVolumeClaims, "status", c, func(now *corev1.PersistentVolumeClaim) error {
		change(&now.Status)
		return nil
	}))
}

// phase stores a volume's phase, and says whether it is new.
func (b *binder) phase(pv *corev1.PersistentVolume, phase corev1.PersistentVolumePhase, message string) bool {
	if pv.Status.Phase == phase {
		return false
	}
	now := metav1.NewTime(b.v.Now())
	w := mutation(b.k, PersistentVolumes, "status", pv, func(pv *corev1.PersistentVolume) error {
		if pv.Status.Phase != phase {
			pv.Status.LastPhaseTransitionTime = &now
		}
		pv.Status.Phase, pv.Status.Message = phase, message
		return nil
	})
	w.Ignore = Gone
	b.write(w)
	return true
}

// volume brings a volume forward.
func (b *binder) volume(pv *corev1.PersistentVolume) {
	ref := pv.Spec.ClaimRef
	if ref == nil || ref.UID == "" {
		b.phase(pv, corev1.VolumeAvailable, "")
		return
	}
	c := get[*corev1.PersistentVolumeClaim](b.v, PersistentVolumeClaims, ref.Namespace, ref.Name)
	switch {
	case c == nil || c.UID != ref.UID:
		b.reclaim(pv)
	case c.Spec.VolumeName == pv.Name:
		b.phase(pv, corev1.VolumeBound, "")
	case c.Spec.VolumeName != "":
		b.unbind(pv)
	}
}

// unbind lets go of a claim that went elsewhere.
func (b *binder) unbind(pv *corev1.PersistentVolume) {
	b.write(mutation(b.k, PersistentVolumes, "", pv, func(now *corev1.PersistentVolume) error {
		if _, ours := now.Annotations[boundByBinder]; !ours && now.Spec.ClaimRef != nil {
			now.Spec.ClaimRef.UID = "" // the user reserved it; that stays
			return nil
		}
		now.Spec.ClaimRef = nil
		delete(now.Annotations, boundByBinder)
		return nil
	}))
	b.phase(pv, corev1.VolumeAvailable, "")
}

// reclaim does what the volume's policy says when its claim is gone. Deleting a hostPath volume deletes the object only:
// the directory is on a node, which may be a container or simulated, and not the server's to remove.
func (b *binder) reclaim(pv *corev1.PersistentVolume) {
	if pv.Status.Phase != corev1.VolumeReleased && pv.Status.Phase != corev1.VolumeFailed {
		b.phase(pv, corev1.VolumeReleased, "")
		return // the rest when this is seen
	}
	fail := func(reason, message string) {
		if b.phase(pv, corev1.VolumeFailed, message) {
			b.write(record(b.k, volumeComponent, Reference(pv, volumeKind), corev1.EventTypeWarning, reason, message))
		}
	}
	switch provisioner := pv.Annotations[volumehelper.AnnDynamicallyProvisioned]; pv.Spec.PersistentVolumeReclaimPolicy {
	case corev1.PersistentVolumeReclaimRecycle:
		fail("VolumeFailedRecycle", "No recycler plugin found for the volume!")
	case corev1.PersistentVolumeReclaimDelete:
		switch {
		case pv.DeletionTimestamp != nil, provisioner != "" && !strings.HasPrefix(provisioner, inTreePrefix), pv.Spec.CSI != nil:
			// who provisioned it deletes it
		case pv.Spec.HostPath == nil:
			fail("VolumeFailedDelete", fmt.Sprintf("error getting deleter volume plugin for volume %q: no deletable volume plugin matched", pv.Name))
		case !deletablePath.MatchString(pv.Spec.HostPath.Path):
			fail("VolumeFailedDelete", "host_path deleter only supports /tmp/.+ but received provided "+pv.Spec.HostPath.Path)
		default:
			b.write(deletion(b.k, PersistentVolumes, pv))
		}
	}
}
