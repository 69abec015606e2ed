package core

import (
	corev1 "k8s.io/api/core/v1"
)

// Defaults of volumes, those of pods and of persistent volumes: a volume
// without a source is an emptyDir, and files have mode 0644 unless said otherwise.

func defaultVolume(v *corev1.Volume) {
	if v.VolumeSource == (corev1.VolumeSource{}) {
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	// Each source that is named: that there is more than one is told by validation.
	if v.HostPath != nil {
		defaultHostPath(v.HostPath)
	}
	if v.Secret != nil {
		setOnce(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	}
	if v.ConfigMap != nil {
		setOnce(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	}
	if v.DownwardAPI != nil {
		setOnce(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		defaultDownwardFiles(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		defaultProjected(v.Projected)
	}
	if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
		defaultClaimSpec(&v.Ephemeral.VolumeClaimTemplate.Spec)
	}
	if v.Image != nil && v.Image.PullPolicy == "" {
		v.Image.PullPolicy = pullPolicy(v.Image.Reference)
	}
	defaultVendorVolume(v)
}

// setOnce fills in an optional number.
func setOnce(p **int32, value int32) {
	if *p == nil {
		*p = &value
	}
}

func setText(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

func defaultHostPath(h *corev1.HostPathVolumeSource) {
	if h.Type == nil {
		h.Type = new(corev1.HostPathUnset)
	}
}

func defaultDownwardFiles(files []corev1.DownwardAPIVolumeFile) {
	for i := range files {
		defaultFieldRef(files[i].FieldRef)
	}
}

func defaultProjected(p *corev1.ProjectedVolumeSource) {
	setOnce(&p.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range p.Sources {
		if d := p.Sources[i].DownwardAPI; d != nil {
			defaultDownwardFiles(d.Items)
		}
		if t := p.Sources[i].ServiceAccountToken; t != nil && t.ExpirationSeconds == nil {
			t.ExpirationSeconds = new(int64(3600))
		}
	}
}

// defaultVendorVolume fills in the storage systems that once were part of Kubernetes itself.
func defaultVendorVolume(v *corev1.Volume) {
	if v.ISCSI != nil {
		setText(&v.ISCSI.ISCSIInterface, "default")
	}
	if v.RBD != nil {
		defaultRBD(&v.RBD.RBDPool, &v.RBD.RadosUser, &v.RBD.Keyring)
	}
	if v.AzureDisk != nil {
		defaultAzureDisk(v.AzureDisk)
	}
	if v.ScaleIO != nil {
		setText(&v.ScaleIO.StorageMode, "ThinProvisioned")
		setText(&v.ScaleIO.FSType, "xfs")
	}
}

func defaultRBD(pool, user, keyring *string) {
	setText(pool, "rbd")
	setText(user, "admin")
	setText(keyring, "/etc/ceph/keyring")
}

func defaultAzureDisk(d *corev1.AzureDiskVolumeSource) {
	if d.CachingMode == nil {
		d.CachingMode = new(corev1.AzureDataDiskCachingReadWrite)
	}
	if d.FSType == nil {
		d.FSType = new("ext4")
	}
	if d.ReadOnly == nil {
		d.ReadOnly = new(false)
	}
	if d.Kind == nil {
		d.Kind = new(corev1.AzureSharedBlobDisk)
	}
}

// DefaultVolumeClaim fills in a claim template of a StatefulSet as well as a claim.
func DefaultVolumeClaim(c *corev1.PersistentVolumeClaim) {
	if c.Status.Phase == "" {
		c.Status.Phase = corev1.ClaimPending
	}
	defaultClaimSpec(&c.Spec)
	roundUp(c.Status.Capacity)
	roundUp(c.Status.AllocatedResources)
}

func defaultClaimSpec(s *corev1.PersistentVolumeClaimSpec) {
	if s.VolumeMode == nil {
		s.VolumeMode = new(corev1.PersistentVolumeFilesystem)
	}
	roundUp(s.Resources.Limits)
	roundUp(s.Resources.Requests)
}
