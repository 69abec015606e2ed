package core

import (
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// The volumes of particular storage systems. Pods and persistent volumes have
// types of their own for most of them, so the rules take the fields, not the type.

var (
	iqnName = regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`)
	euiName = regexp.MustCompile(`^eui.[[:alnum:]]{16}$`)
	naaName = regexp.MustCompile(`^naa.[[:alnum:]]{32}$`)
)

// vendorSources offers each source to source, which knows whether it is the first.
func (c *podCheck) vendorSources(v *corev1.Volume, source func(there bool, name string, check func(at *field.Path))) {
	source(v.AzureFile != nil, "azureFile", func(at *field.Path) {
		c.named(v.AzureFile.SecretName, at.Child("secretName"))
		c.named(v.AzureFile.ShareName, at.Child("shareName"))
	})
	source(v.VsphereVolume != nil, "vsphereVolume", func(at *field.Path) { c.named(v.VsphereVolume.VolumePath, at.Child("volumePath")) })
	source(v.PhotonPersistentDisk != nil, "photonPersistentDisk", func(at *field.Path) { c.named(v.PhotonPersistentDisk.PdID, at.Child("pdID")) })
	source(v.PortworxVolume != nil, "portworxVolume", func(at *field.Path) { c.named(v.PortworxVolume.VolumeID, at.Child("volumeID")) })
	source(v.AzureDisk != nil, "azureDisk", func(at *field.Path) { c.azureDisk(v.AzureDisk, at) })
	source(v.StorageOS != nil, "storageos", func(at *field.Path) {
		c.storageOS(v.StorageOS.VolumeName, v.StorageOS.VolumeNamespace, at)
		if r := v.StorageOS.SecretRef; r != nil {
			c.named(r.Name, at.Child("secretRef", "name"))
		}
	})
}

func (c *podCheck) podISCSI(s *corev1.ISCSIVolumeSource, at *field.Path) {
	c.iscsi(iscsiTarget{
		portal: s.TargetPortal, iqn: s.IQN, lun: s.Lun, initiator: s.InitiatorName,
		lacksSecret: (s.DiscoveryCHAPAuth || s.SessionCHAPAuth) && s.SecretRef == nil,
		unknownName: "must be valid format starting with iqn, eui, or naa",
	}, at)
}

func (c *podCheck) podCinder(s *corev1.CinderVolumeSource, at *field.Path) {
	c.named(s.VolumeID, at.Child("volumeID"))
	if r := s.SecretRef; r != nil {
		c.named(r.Name, at.Child("secretRef", "name"))
	}
}

func (f *faults) disk(field, id string, partition int32, at *field.Path) {
	f.named(id, at.Child(field))
	if partition < 0 || partition > 255 {
		f.invalid(at.Child("partition"), partition, validation.InclusiveRangeError(1, 255))
	}
}

// iscsiTarget is what the iSCSI sources of pods and of persistent volumes have in common.
type iscsiTarget struct {
	portal, iqn                string
	lun                        int32
	initiator                  *string
	lacksSecret, unnamedSecret bool
	unknownName                string // what is said of a name of no known form
}

func (f *faults) iscsi(t iscsiTarget, at *field.Path) {
	f.named(t.portal, at.Child("targetPortal"))
	if t.iqn == "" {
		f.required(at.Child("iqn"), "")
	} else {
		f.iscsiName(t.iqn, t.unknownName, at.Child("iqn"))
	}
	if t.lun < 0 || t.lun > 255 {
		f.invalid(at.Child("lun"), t.lun, validation.InclusiveRangeError(0, 255))
	}
	if t.lacksSecret {
		f.required(at.Child("secretRef"), "")
	}
	if t.unnamedSecret {
		f.required(at.Child("secretRef", "name"), "")
	}
	if t.initiator != nil {
		f.iscsiName(*t.initiator, t.unknownName, at.Child("initiatorname"))
	}
}

func (f *faults) iscsiName(name, unknown string, at *field.Path) {
	for prefix, form := range map[string]*regexp.Regexp{"iqn": iqnName, "eui": euiName, "naa": naaName} {
		if strings.HasPrefix(name, prefix) {
			if !form.MatchString(name) {
				f.invalid(at, name, "must be valid format")
			}
			return
		}
	}
	f.invalid(at, name, unknown)
}

func (f *faults) flocker(s *corev1.FlockerVolumeSource, at *field.Path) {
	if s.DatasetName == "" && s.DatasetUUID == "" {
		f.required(at, "one of datasetName and datasetUUID is required")
	}
	if s.DatasetName != "" && s.DatasetUUID != "" {
		f.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(s.DatasetName, "/") {
		f.invalid(at.Child("datasetName"), s.DatasetName, "must not contain '/'")
	}
}

func (f *faults) monitors(list []string, at *field.Path) {
	if len(list) == 0 {
		f.required(at.Child("monitors"), "")
	}
}

func (f *faults) rbd(monitors []string, image string, at *field.Path) {
	f.monitors(monitors, at)
	f.named(image, at.Child("image"))
}

func (f *faults) quobyte(s *corev1.QuobyteVolumeSource, at *field.Path) {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case s.Registry == "":
		f.required(at.Child("registry"), pairs)
	case len(s.Tenant) >= 65:
		f.required(at.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(s.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				f.invalid(at.Child("registry"), s.Registry, pairs)
			}
		}
	}
	f.named(s.Volume, at.Child("volume"))
}

func (f *faults) fibreChannel(s *corev1.FCVolumeSource, at *field.Path) {
	wwns := at.Child("targetWWNs")
	switch {
	case len(s.TargetWWNs) == 0 && len(s.WWIDs) == 0:
		f.required(wwns, "must specify either targetWWNs or wwids, but not both")
	case len(s.TargetWWNs) != 0 && len(s.WWIDs) != 0:
		f.invalid(wwns, s.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(s.TargetWWNs) == 0 {
		return
	}
	if s.Lun == nil {
		f.required(at.Child("lun"), "lun is required if targetWWNs is specified")
	} else if *s.Lun < 0 || *s.Lun > 255 {
		f.invalid(at.Child("lun"), s.Lun, validation.InclusiveRangeError(0, 255))
	}
}

func (f *faults) flex(driver string, options map[string]string, at *field.Path) {
	f.named(driver, at.Child("driver"))
	for _, key := range common.Keys(options) {
		namespace, _, _ := strings.Cut(key, "/")
		domain := "." + strings.ToLower(namespace)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			f.invalid(at.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

func (f *faults) azureDisk(s *corev1.AzureDiskVolumeSource, at *field.Path) {
	f.named(s.DiskName, at.Child("diskName"))
	f.named(s.DataDiskURI, at.Child("diskURI"))
	if m := s.CachingMode; m != nil {
		oneOf(f, at.Child("cachingMode"), *m, corev1.AzureDataDiskCachingNone, corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)
	}
	if s.Kind == nil {
		return
	}
	oneOf(f, at.Child("kind"), *s.Kind, corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk, corev1.AzureSharedBlobDisk)
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *s.Kind == corev1.AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(s.DataDiskURI, prefix) {
		f.all = append(f.all, field.NotSupported(at.Child("diskURI"), s.DataDiskURI, []string{form}))
	}
}

func (f *faults) storageOS(name, namespace string, at *field.Path) {
	if name == "" {
		f.required(at.Child("volumeName"), "")
	} else {
		f.add(common.DNSLabel(name, at.Child("volumeName")))
	}
	if namespace != "" {
		f.add(common.DNSLabel(namespace, at.Child("volumeNamespace")))
	}
}

func (f *faults) scaleIO(gateway, system, volume string, at *field.Path) {
	f.named(gateway, at.Child("gateway"))
	f.named(system, at.Child("system"))
	f.named(volume, at.Child("volumeName"))
}
