package core

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A PersistentVolume's phase belongs to its controller; the API only stamps the
// time when it moved.

func persistentVolumes() *kinds.Resource {
	strategy := common.Typed[corev1.PersistentVolume, *corev1.PersistentVolume]{
		Default: defaultPersistentVolume,
		PrepareForCreate: func(r *kinds.Context, p *corev1.PersistentVolume) {
			p.Status = corev1.PersistentVolumeStatus{
				Phase: corev1.VolumePending, LastPhaseTransitionTime: new(metav1.NewTime(r.Now)),
			}
		},
		PrepareForUpdate: func(_ *kinds.Context, p, old *corev1.PersistentVolume) { p.Status = old.Status },
		Validate:         validatePersistentVolume,
		ValidateUpdate:   validatePersistentVolumeUpdate,
		Warnings:         persistentVolumeWarnings,
		ResetFields:      []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = preparePersistentVolumeStatus
	status.ValidateUpdate = nil
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[corev1.PersistentVolume, corev1.PersistentVolumeList](gvk("PersistentVolume"))
	return single(kinds.Resource{
		Name: "persistentvolumes", Singular: "persistentvolume", ReturnsDeleted: true, ShortNames: []string{"pv"},
		Verbs: common.Verbs(), Prefix: "/registry/persistentvolumes", StorageVersionHash: "HN/zwEC+JgM=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

func preparePersistentVolumeStatus(r *kinds.Context, p, old *corev1.PersistentVolume) {
	p.Spec = old.Spec
	was, is := old.Status.LastPhaseTransitionTime, p.Status.LastPhaseTransitionTime
	if old.Status.Phase == p.Status.Phase {
		if is == nil {
			p.Status.LastPhaseTransitionTime = was
		}
	} else if is == nil || is.Equal(was) {
		p.Status.LastPhaseTransitionTime = new(metav1.NewTime(r.Now))
	}
}

func defaultPersistentVolume(p *corev1.PersistentVolume) {
	if p.Status.Phase == "" {
		p.Status.Phase = corev1.VolumePending
	}
	if p.Spec.PersistentVolumeReclaimPolicy == "" {
		p.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	if p.Spec.VolumeMode == nil {
		p.Spec.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	DefaultInlineVolume(&p.Spec)
}

// DefaultInlineVolume fills in the source of a volume, whether it is an object or part of one.
func DefaultInlineVolume(v *corev1.PersistentVolumeSpec) {
	roundUp(v.Capacity)
	s := &v.PersistentVolumeSource
	if s.HostPath != nil {
		defaultHostPath(s.HostPath)
	}
	if s.RBD != nil {
		defaultRBD(&s.RBD.RBDPool, &s.RBD.RadosUser, &s.RBD.Keyring)
	}
	if s.ISCSI != nil {
		setText(&s.ISCSI.ISCSIInterface, "default")
	}
	if s.AzureDisk != nil {
		defaultAzureDisk(s.AzureDisk)
	}
	if s.ScaleIO != nil {
		setText(&s.ScaleIO.StorageMode, "ThinProvisioned")
		setText(&s.ScaleIO.FSType, "xfs")
	}
}
