package core

import (
	"path"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a PersistentVolume: one source, which never changes.

func accessModes(f *faults, modes []corev1.PersistentVolumeAccessMode, at *field.Path) {
	alone, shared := false, false
	for _, m := range modes {
		known := oneOf(f, at, m, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOnce, corev1.ReadWriteOncePod)
		alone = alone || m == corev1.ReadWriteOncePod
		shared = shared || known && m != corev1.ReadWriteOncePod
	}
	if alone && shared {
		f.forbidden(at, "may not use ReadWriteOncePod with other access modes")
	}
}

func validatePersistentVolume(_ *kinds.Context, p *corev1.PersistentVolume) field.ErrorList {
	var f faults
	s, at := &p.Spec, field.NewPath("spec")
	f.accessModes(s, at)
	f.capacity(s.Capacity, at.Child("capacity"))
	if s.PersistentVolumeReclaimPolicy != "" {
		oneOf(&f, at.Child("persistentVolumeReclaimPolicy"), s.PersistentVolumeReclaimPolicy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRecycle, corev1.PersistentVolumeReclaimRetain)
	}
	if n := s.NodeAffinity; n != nil && n.Required == nil {
		f.required(at.Child("nodeAffinity", "required"), "must specify required node constraints")
	} else if n != nil {
		f.nodeSelector(n.Required, at.Child("nodeAffinity", "required"))
	}
	f.persistentSource(p.Name, s, at)
	f.volumeClasses(s, at)
	if _, has := p.Annotations[corev1.MountOptionAnnotation]; has && !takesMountOptions(&s.PersistentVolumeSource) {
		f.forbidden(field.NewPath("metadata", "annotations", corev1.MountOptionAnnotation), "may not specify mount options for this volume type")
	}
	return f.all
}

// ValidateInlineVolume checks a volume that is no object of its own: a VolumeAttachment carries it.
func ValidateInlineVolume(s *corev1.PersistentVolumeSpec, at *field.Path) field.ErrorList {
	const where = "in the context of inline volumes"
	var f faults
	if s.ClaimRef != nil {
		f.forbidden(at.Child("claimRef"), "may not be specified "+where)
	}
	if len(s.Capacity) != 0 {
		f.forbidden(at.Child("capacity"), "may not be specified "+where)
	}
	if s.CSI == nil {
		f.required(at.Child("csi"), "has to be specified "+where)
	}
	f.accessModes(s, at)
	if p := s.PersistentVolumeReclaimPolicy; p != "" && p != corev1.PersistentVolumeReclaimRetain {
		f.forbidden(at.Child("persistentVolumeReclaimPolicy"), "may only be "+string(corev1.PersistentVolumeReclaimRetain)+" "+where)
	}
	if s.NodeAffinity != nil {
		f.forbidden(at.Child("nodeAffinity"), "may not be specified "+where)
	}
	f.persistentSource("", s, at)
	if s.StorageClassName != "" {
		f.forbidden(at.Child("storageClassName"), "may not be specified "+where)
	}
	if m := s.VolumeMode; m != nil && *m != corev1.PersistentVolumeFilesystem {
		f.forbidden(at.Child("volumeMode"), "may not specify volumeMode other than "+string(corev1.PersistentVolumeFilesystem)+" "+where)
	}
	return f.all
}

func (f *faults) accessModes(s *corev1.PersistentVolumeSpec, at *field.Path) {
	at = at.Child("accessModes")
	if len(s.AccessModes) == 0 {
		f.required(at, "")
	}
	accessModes(f, s.AccessModes, at)
}

func (f *faults) capacity(list corev1.ResourceList, at *field.Path) {
	if len(list) == 0 {
		f.required(at, "")
	}
	if _, has := list[corev1.ResourceStorage]; !has || len(list) > 1 {
		f.all = append(f.all, field.NotSupported(at, list, []corev1.ResourceName{corev1.ResourceStorage}))
	}
	for _, name := range common.Keys(list) {
		q, at := list[name], at.Key(string(name))
		if q.Value() < 0 {
			f.invalid(at, q.Value(), "must be a valid resource quantity")
		}
		if q.Sign() <= 0 {
			f.invalid(at, q.String(), "must be greater than zero")
		}
	}
}

func (f *faults) volumeClasses(s *corev1.PersistentVolumeSpec, at *field.Path) {
	if s.HostPath != nil && path.Clean(s.HostPath.Path) == "/" && s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		f.forbidden(at.Child("persistentVolumeReclaimPolicy"), "may not be 'recycle' for a hostPath mount of '/'")
	}
	if s.StorageClassName != "" {
		f.invalids(at.Child("storageClassName"), s.StorageClassName, validation.IsDNS1123Subdomain(s.StorageClassName))
	}
	f.volumeMode(s.VolumeMode, at.Child("volumeMode"))
	if name := s.VolumeAttributesClassName; name != nil {
		at := at.Child("volumeAttributesClassName")
		if *name == "" {
			f.required(at, "an empty string is disallowed")
		} else {
			f.invalids(at, *name, validation.IsDNS1123Subdomain(*name))
		}
		if s.CSI == nil {
			f.required(field.NewPath("spec", "csi"), "has to be specified when using volumeAttributesClassName")
		}
	}
}

func (f *faults) volumeMode(mode *corev1.PersistentVolumeMode, at *field.Path) {
	if mode != nil {
		oneOf(f, at, *mode, corev1.PersistentVolumeBlock, corev1.PersistentVolumeFilesystem)
	}
}

// persistentSource wants one source. They are looked at in this order, and only the first
// is looked into, but for a flexVolume: that is upstream's way.
func (f *faults) persistentSource(name string, spec *corev1.PersistentVolumeSpec, at *field.Path) {
	count, volume := 0, at
	source := func(there bool, name string, check func(at *field.Path)) {
		if !there {
			return
		}
		count++
		if count > 1 && name != "flexVolume" {
			f.forbidden(at.Child(name), oneType)
			return
		}
		check(at.Child(name))
	}
	s := &spec.PersistentVolumeSource
	source(s.HostPath != nil, "hostPath", func(at *field.Path) { f.checkHostPath(s.HostPath, at) })
	f.vendorDisks(s, volume, source)
	source(s.NFS != nil, "nfs", func(at *field.Path) { f.checkNFS(s.NFS, at) })
	f.vendorNetworks(name, s, volume, source)
	source(s.Local != nil, "local", func(at *field.Path) {
		if s.Local.Path == "" {
			f.required(at.Child("path"), "")
		} else {
			f.noBacksteps(s.Local.Path, at.Child("path"))
		}
		if spec.NodeAffinity == nil {
			f.required(volume.Child("nodeAffinity"), "Local volume requires node affinity")
		}
	})
	source(s.StorageOS != nil, "storageos", func(at *field.Path) {
		f.storageOS(s.StorageOS.VolumeName, s.StorageOS.VolumeNamespace, at)
		if r := s.StorageOS.SecretRef; r != nil {
			f.named(r.Name, at.Child("secretRef", "name"))
			f.named(r.Namespace, at.Child("secretRef", "namespace"))
		}
	})
	source(s.CSI != nil, "csi", func(at *field.Path) { f.persistentCSI(s.CSI, at) })
	if count == 0 {
		f.required(at, "must specify a volume type")
	}
}

func (f *faults) persistentCSI(s *corev1.CSIPersistentVolumeSource, at *field.Path) {
	f.driverName(s.Driver, at.Child("driver"))
	f.named(s.VolumeHandle, at.Child("volumeHandle"))
	for _, r := range []struct {
		name string
		ref  *corev1.SecretReference
	}{{"controllerPublishSecretRef", s.ControllerPublishSecretRef}, {"controllerExpandSecretRef", s.ControllerExpandSecretRef},
		{"nodePublishSecretRef", s.NodePublishSecretRef}, {"nodeExpandSecretRef", s.NodeExpandSecretRef}} {
		if r.ref == nil {
			continue
		}
		at := at.Child(r.name)
		if r.ref.Name == "" {
			f.required(at.Child("name"), "")
		} else {
			f.add(common.DNSSubdomain(r.ref.Name, at.Child("name")))
		}
		if r.ref.Namespace == "" {
			f.required(at.Child("namespace"), "")
		} else {
			f.add(common.DNSLabel(r.ref.Namespace, at.Child("namespace")))
		}
	}
}

func (f *faults) vendorDisks(s *corev1.PersistentVolumeSource, volume *field.Path, source func(there bool, name string, check func(at *field.Path))) {
	source(s.GCEPersistentDisk != nil, "gcePersistentDisk", func(at *field.Path) {
		f.disk("pdName", s.GCEPersistentDisk.PDName, s.GCEPersistentDisk.Partition, volume.Child("persistentDisk")) // upstream's path
	})
	source(s.AWSElasticBlockStore != nil, "awsElasticBlockStore", func(at *field.Path) {
		f.disk("volumeID", s.AWSElasticBlockStore.VolumeID, s.AWSElasticBlockStore.Partition, at)
	})
	source(s.Glusterfs != nil, "glusterfs", func(at *field.Path) {
		f.named(s.Glusterfs.EndpointsName, at.Child("endpoints"))
		f.named(s.Glusterfs.Path, at.Child("path"))
		if n := s.Glusterfs.EndpointsNamespace; n != nil && *n == "" {
			f.invalid(at.Child("endpointsNamespace"), *n, "if the endpointnamespace is set, it must be a valid namespace name")
		} else if n != nil {
			f.add(common.DNSLabel(*n, at.Child("endpointsNamespace")))
		}
	})
	source(s.Flocker != nil, "flocker", func(at *field.Path) { f.flocker(s.Flocker, at) })
}

func (f *faults) vendorNetworks(name string, s *corev1.PersistentVolumeSource, volume *field.Path, source func(there bool, name string, check func(at *field.Path))) {
	source(s.RBD != nil, "rbd", func(at *field.Path) { f.rbd(s.RBD.CephMonitors, s.RBD.RBDImage, at) })
	source(s.Quobyte != nil, "quobyte", func(at *field.Path) { f.quobyte(s.Quobyte, at) })
	source(s.CephFS != nil, "cephFS", func(*field.Path) { f.monitors(s.CephFS.Monitors, volume.Child("cephfs")) }) // both paths are upstream's
	source(s.ISCSI != nil, "iscsi", func(at *field.Path) {
		i := s.ISCSI
		if i.InitiatorName != nil && len(name+":"+i.TargetPortal) > 64 {
			f.invalid(at.Child("targetportal"), i.TargetPortal, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.")
		}
		f.iscsi(iscsiTarget{
			portal: i.TargetPortal, iqn: i.IQN, lun: i.Lun, initiator: i.InitiatorName,
			lacksSecret:   (i.DiscoveryCHAPAuth || i.SessionCHAPAuth) && i.SecretRef == nil,
			unnamedSecret: i.SecretRef != nil && i.SecretRef.Name == "",
			unknownName:   "must be valid format",
		}, at)
	})
	source(s.Cinder != nil, "cinder", func(at *field.Path) {
		f.named(s.Cinder.VolumeID, at.Child("volumeID"))
		if r := s.Cinder.SecretRef; r != nil {
			f.named(r.Name, at.Child("secretRef", "name"))
			f.named(r.Namespace, at.Child("secretRef", "namespace"))
		}
	})
	source(s.FC != nil, "fc", func(at *field.Path) { f.fibreChannel(s.FC, at) })
	source(s.FlexVolume != nil, "flexVolume", func(at *field.Path) { f.flex(s.FlexVolume.Driver, s.FlexVolume.Options, at) })
	source(s.AzureFile != nil, "azureFile", func(at *field.Path) {
		f.named(s.AzureFile.SecretName, at.Child("secretName"))
		f.named(s.AzureFile.ShareName, at.Child("shareName"))
		if n := s.AzureFile.SecretNamespace; n != nil {
			f.named(*n, at.Child("secretNamespace"))
		}
	})
	source(s.VsphereVolume != nil, "vsphereVolume", func(at *field.Path) { f.named(s.VsphereVolume.VolumePath, at.Child("volumePath")) })
	source(s.PhotonPersistentDisk != nil, "photonPersistentDisk", func(at *field.Path) { f.named(s.PhotonPersistentDisk.PdID, at.Child("pdID")) })
	source(s.PortworxVolume != nil, "portworxVolume", func(at *field.Path) { f.named(s.PortworxVolume.VolumeID, at.Child("volumeID")) })
	source(s.AzureDisk != nil, "azureDisk", func(at *field.Path) { f.azureDisk(s.AzureDisk, at) })
	source(s.ScaleIO != nil, "scaleIO", func(at *field.Path) { f.scaleIO(s.ScaleIO.Gateway, s.ScaleIO.System, s.ScaleIO.VolumeName, at) })
}

func takesMountOptions(s *corev1.PersistentVolumeSource) bool {
	return s.GCEPersistentDisk != nil || s.AWSElasticBlockStore != nil || s.Glusterfs != nil || s.NFS != nil || s.RBD != nil ||
		s.Quobyte != nil || s.ISCSI != nil || s.Cinder != nil || s.CephFS != nil || s.AzureFile != nil || s.VsphereVolume != nil ||
		s.AzureDisk != nil || s.PhotonPersistentDisk != nil
}

func validatePersistentVolumeUpdate(r *kinds.Context, p, old *corev1.PersistentVolume) field.ErrorList {
	var f faults
	f.add(validatePersistentVolume(r, p))
	now, was := p.Spec.PersistentVolumeSource, old.Spec.PersistentVolumeSource
	if now.CSI != nil && was.CSI != nil && was.CSI.ControllerExpandSecretRef == nil {
		csi := *now.CSI
		csi.ControllerExpandSecretRef = nil // it may be added later
		now.CSI = &csi
	}
	if !common.Equal(now, was) {
		f.forbidden(field.NewPath("spec", "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation\n"+
			diff.Diff(common.Internal(was), common.Internal(now)))
	}
	f.add(common.Immutable(p.Spec.VolumeMode, old.Spec.VolumeMode, field.NewPath("volumeMode")))
	if old.Spec.NodeAffinity != nil && !common.Equal(p.Spec.NodeAffinity, old.Spec.NodeAffinity) && !onlyRenamedLabels(p.Spec.NodeAffinity, old.Spec.NodeAffinity) {
		f.invalid(field.NewPath("nodeAffinity"), p.Spec.NodeAffinity, "field is immutable, except for updating from beta label to GA")
	}
	if old.Spec.VolumeAttributesClassName != nil && p.Spec.VolumeAttributesClassName == nil {
		f.forbidden(field.NewPath("spec", "volumeAttributesClassName"), "update from non-nil value to nil is forbidden")
	}
	return f.all
}

// onlyRenamedLabels: a volume made under an old name of a node label may take the new one.
func onlyRenamedLabels(now, old *corev1.VolumeNodeAffinity) bool {
	if now == nil || now.Required == nil || old.Required == nil || len(now.Required.NodeSelectorTerms) != len(old.Required.NodeSelectorTerms) {
		return false
	}
	renamed := map[string]string{
		corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion,
		"beta.kubernetes.io/os": corev1.LabelOSStable, "beta.kubernetes.io/arch": corev1.LabelArchStable,
		corev1.LabelInstanceType: corev1.LabelInstanceTypeStable,
	}
	follow := func(was, is []corev1.NodeSelectorRequirement) {
		for i := range min(len(was), len(is)) {
			if renamed[was[i].Key] == is[i].Key { // also of a key without a new name that is now "": upstream lets that pass here
				was[i].Key = is[i].Key
			}
		}
	}
	was := old.DeepCopy()
	for i, term := range was.Required.NodeSelectorTerms {
		follow(term.MatchExpressions, now.Required.NodeSelectorTerms[i].MatchExpressions)
		follow(term.MatchFields, now.Required.NodeSelectorTerms[i].MatchFields)
	}
	return common.Equal(was, now)
}

func persistentVolumeWarnings(_ *kinds.Context, p, _ *corev1.PersistentVolume) []string {
	w := &warnings{}
	for _, a := range [][2]string{
		{corev1.BetaStorageClassAnnotation, `deprecated since v1.8; use "storageClassName" attribute instead`},
		{corev1.MountOptionAnnotation, `deprecated since v1.31; use "mountOptions" attribute instead`},
	} {
		if _, has := p.Annotations[a[0]]; has {
			w.add("%s: %s", field.NewPath("metadata", "annotations").Key(a[0]), a[1])
		}
	}
	s := &p.Spec
	if s.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRecycle {
		w.add("spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.")
	}
	if n := s.NodeAffinity; n != nil && n.Required != nil {
		for i := range n.Required.NodeSelectorTerms {
			w.nodeTerm(&n.Required.NodeSelectorTerms[i], labelValues, field.NewPath("spec", "nodeAffinity", "required", "nodeSelectorTerms").Index(i))
		}
	}
	for _, old := range []struct {
		there      bool
		name, text string
	}{
		{s.CephFS != nil, "cephfs", "deprecated in v1.28, non-functional in v1.31+"},
		{s.PhotonPersistentDisk != nil, "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
		{s.ScaleIO != nil, "scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
		{s.StorageOS != nil, "storageOS", "deprecated in v1.22, non-functional in v1.25+"},
		{s.Glusterfs != nil, "glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
		{s.RBD != nil, "rbd", "deprecated in v1.28, non-functional in v1.31+"},
	} {
		if old.there {
			w.add("spec.%s: %s", old.name, old.text)
		}
	}
	return w.out
}
