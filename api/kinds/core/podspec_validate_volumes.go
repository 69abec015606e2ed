package core

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Volumes, and how containers mount them. A volume that is wrong in itself is not
// known to the mounts, so that they say so too, as upstream does.

const (
	fileModes   = "must be a number between 0 and 0777 (octal), both inclusive"
	oneType     = "may not specify more than 1 volume type"
	onlyMounted = "may only be specified when "
)

func (c *podCheck) checkVolumes(at *field.Path) {
	c.volumes = map[string]corev1.VolumeSource{}
	made := sets.New[string]() // the claims that ephemeral volumes make
	if c.meta != nil && c.meta.Name != "" {
		for _, v := range c.spec.Volumes {
			if v.Ephemeral != nil {
				made.Insert(c.meta.Name + "-" + v.Name)
			}
		}
	}
	for i := range c.spec.Volumes {
		v, at := &c.spec.Volumes[i], at.Index(i)
		before := len(c.all)
		c.checkSource(v, at)
		if v.Name == "" {
			c.required(at.Child("name"), "")
		} else {
			c.add(common.DNSLabel(v.Name, at.Child("name")))
		}
		if _, twice := c.volumes[v.Name]; twice {
			c.duplicate(at.Child("name"), v.Name)
		}
		if len(c.all) == before {
			c.volumes[v.Name] = v.VolumeSource
		}
		if p := v.PersistentVolumeClaim; p != nil && made.Has(p.ClaimName) {
			c.invalid(at.Child("persistentVolumeClaim", "claimName"), p.ClaimName, "must not reference a PVC that gets created for an ephemeral volume")
		}
	}
}

// checkSource checks the one source of a volume; a second one is refused unseen.
// Where upstream's path differs from the field's name, ours does too.
func (c *podCheck) checkSource(v *corev1.Volume, at *field.Path) {
	count := 0
	source := func(there bool, name string, check func(at *field.Path)) {
		if !there {
			return
		}
		count++
		if count > 1 {
			c.forbidden(at.Child(name), oneType)
			return
		}
		check(at.Child(name))
	}
	if e := v.EmptyDir; e != nil {
		count++
		if e.SizeLimit != nil && e.SizeLimit.Sign() < 0 {
			c.forbidden(at.Child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity")
		}
	}
	source(v.HostPath != nil, "hostPath", func(at *field.Path) { c.checkHostPath(v.HostPath, at) })
	source(v.GitRepo != nil, "gitRepo", func(at *field.Path) { c.checkGitRepo(v.GitRepo, at) })
	source(v.GCEPersistentDisk != nil, "gcePersistentDisk", func(*field.Path) {
		c.disk("pdName", v.GCEPersistentDisk.PDName, v.GCEPersistentDisk.Partition, at.Child("persistentDisk"))
	})
	source(v.AWSElasticBlockStore != nil, "awsElasticBlockStore", func(at *field.Path) {
		c.disk("volumeID", v.AWSElasticBlockStore.VolumeID, v.AWSElasticBlockStore.Partition, at)
	})
	source(v.Secret != nil, "secret", func(at *field.Path) {
		c.named(v.Secret.SecretName, at.Child("secretName"))
		c.files(v.Secret.DefaultMode, v.Secret.Items, at)
	})
	source(v.NFS != nil, "nfs", func(at *field.Path) { c.checkNFS(v.NFS, at) })
	source(v.ISCSI != nil, "iscsi", func(at *field.Path) { c.podISCSI(v.ISCSI, at) })
	if s := v.ISCSI; s != nil && s.InitiatorName != nil && len(v.Name+":"+s.TargetPortal) > 64 {
		c.invalid(at.Child("name"), v.Name, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.")
	}
	source(v.Glusterfs != nil, "glusterfs", func(at *field.Path) {
		c.named(v.Glusterfs.EndpointsName, at.Child("endpoints"))
		c.named(v.Glusterfs.Path, at.Child("path"))
	})
	source(v.Flocker != nil, "flocker", func(at *field.Path) { c.flocker(v.Flocker, at) })
	source(v.PersistentVolumeClaim != nil, "persistentVolumeClaim", func(at *field.Path) {
		c.named(v.PersistentVolumeClaim.ClaimName, at.Child("claimName"))
	})
	source(v.RBD != nil, "rbd", func(at *field.Path) { c.rbd(v.RBD.CephMonitors, v.RBD.RBDImage, at) })
	source(v.Cinder != nil, "cinder", func(at *field.Path) { c.podCinder(v.Cinder, at) })
	source(v.CephFS != nil, "cephFS", func(*field.Path) { c.monitors(v.CephFS.Monitors, at.Child("cephfs")) })
	source(v.Quobyte != nil, "quobyte", func(at *field.Path) { c.quobyte(v.Quobyte, at) })
	source(v.DownwardAPI != nil, "downwarAPI", func(*field.Path) { c.checkDownwardAPI(v.DownwardAPI, at.Child("downwardAPI")) })
	source(v.FC != nil, "fc", func(at *field.Path) { c.fibreChannel(v.FC, at) })
	source(v.FlexVolume != nil, "flexVolume", func(at *field.Path) { c.flex(v.FlexVolume.Driver, v.FlexVolume.Options, at) })
	source(v.ConfigMap != nil, "configMap", func(at *field.Path) {
		c.named(v.ConfigMap.Name, at.Child("name"))
		c.files(v.ConfigMap.DefaultMode, v.ConfigMap.Items, at)
	})
	c.vendorSources(v, source)
	source(v.Projected != nil, "projected", func(at *field.Path) { c.checkProjected(v.Projected, at) })
	source(v.ScaleIO != nil, "scaleIO", func(at *field.Path) { c.scaleIO(v.ScaleIO.Gateway, v.ScaleIO.System, v.ScaleIO.VolumeName, at) })
	source(v.CSI != nil, "csi", func(at *field.Path) { c.checkCSI(v.CSI, at) })
	source(v.Ephemeral != nil, "ephemeral", func(*field.Path) { c.checkEphemeralVolume(v, at) })
	source(v.Image != nil, "image", func(at *field.Path) {
		c.named(v.Image.Reference, at.Child("reference"))
		needed(&c.faults, at.Child("pullPolicy"), v.Image.PullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	})
	if count == 0 {
		c.required(at, "must specify a volume type")
	}
}

func (f *faults) named(name string, at *field.Path) {
	if name == "" {
		f.required(at, "")
	}
}

func (f *faults) mode(mode *int32, at *field.Path) {
	if mode != nil && (*mode > 0o777 || *mode < 0) {
		f.invalid(at, *mode, fileModes)
	}
}

func (f *faults) checkHostPath(h *corev1.HostPathVolumeSource, at *field.Path) {
	if h.Path == "" {
		f.required(at.Child("path"), "")
		return
	}
	f.noBacksteps(h.Path, at.Child("path"))
	if h.Type != nil {
		oneOf(f, at.Child("type"), *h.Type, corev1.HostPathUnset, corev1.HostPathBlockDev, corev1.HostPathCharDev, corev1.HostPathDirectory,
			corev1.HostPathDirectoryOrCreate, corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket)
	}
}

func (f *faults) checkNFS(n *corev1.NFSVolumeSource, at *field.Path) {
	f.named(n.Server, at.Child("server"))
	f.named(n.Path, at.Child("path"))
	if !path.IsAbs(n.Path) {
		f.invalid(at.Child("path"), n.Path, "must be an absolute path")
	}
}

func (f *faults) checkGitRepo(g *corev1.GitRepoVolumeSource, at *field.Path) {
	f.named(g.Repository, at.Child("repository"))
	f.descending(g.Directory, at.Child("directory"))
}

func (c *podCheck) checkDownwardAPI(d *corev1.DownwardAPIVolumeSource, at *field.Path) {
	c.mode(d.DefaultMode, at.Child("defaultMode"))
	for i := range d.Items {
		c.downwardFile(&d.Items[i], at)
	}
}

func (c *podCheck) files(mode *int32, items []corev1.KeyToPath, at *field.Path) {
	c.mode(mode, at.Child("defaultMode"))
	for i := range items {
		c.keyToPath(&items[i], at.Child("items").Index(i))
	}
}

func (c *podCheck) keyToPath(k *corev1.KeyToPath, at *field.Path) {
	c.named(k.Key, at.Child("key"))
	c.named(k.Path, at.Child("path"))
	c.localPath(k.Path, at.Child("path"))
	c.mode(k.Mode, at.Child("mode"))
}

func (c *podCheck) downwardFile(d *corev1.DownwardAPIVolumeFile, at *field.Path) {
	c.named(d.Path, at.Child("path"))
	c.localPath(d.Path, at.Child("path"))
	switch {
	case d.FieldRef != nil:
		c.fieldRef(d.FieldRef, volumeFields(), at.Child("fieldRef"))
		if d.ResourceFieldRef != nil {
			c.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
		}
	case d.ResourceFieldRef != nil:
		at := at.Child("resourceFieldRef")
		if d.ResourceFieldRef.ContainerName == "" {
			c.required(at.Child("containerName"), "")
			c.divisor(d.ResourceFieldRef, at.Child("divisor"))
		} else {
			c.resourceRef(d.ResourceFieldRef, at)
		}
	default:
		c.required(at, "one of fieldRef and resourceFieldRef is required")
	}
	c.mode(d.Mode, at.Child("mode"))
}

func (c *podCheck) checkCSI(s *corev1.CSIVolumeSource, at *field.Path) {
	c.driverName(s.Driver, at.Child("driver"))
	if r := s.NodePublishSecretRef; r != nil {
		if r.Name == "" {
			c.required(at.Child("nodePublishSecretRef", "name"), "")
		} else {
			c.invalids(at.Child("name"), r.Name, validation.IsDNS1123Subdomain(r.Name))
		}
	}
}

func (f *faults) driverName(name string, at *field.Path) {
	if name == "" {
		f.required(at, "")
		return
	}
	f.add(common.MaxBytes(name, 63, at))
	f.invalids(at, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))
}

func (c *podCheck) checkEphemeralVolume(v *corev1.Volume, volume *field.Path) {
	at := volume.Child("ephemeral")
	t := v.Ephemeral.VolumeClaimTemplate
	if t == nil {
		c.required(at.Child("volumeClaimTemplate"), "")
	} else {
		at := at.Child("volumeClaimTemplate")
		c.add(common.Annotations(t.Annotations, at.Child("metadata", "annotations")))
		c.add(common.Labels(t.Labels, at.Child("metadata", "labels")))
		c.onlyFields(t.ObjectMeta, sets.New("Annotations", "Labels"), "cannot be set", at.Child("metadata"))
		c.add(ValidateClaimSpec(&t.Spec, at.Child("spec")))
	}
	if c.meta != nil && c.meta.Name != "" && v.Name != "" {
		claim := c.meta.Name + "-" + v.Name
		for _, m := range validation.IsDNS1123Subdomain(claim) {
			c.invalid(volume.Child("name"), v.Name, "PVC name \""+claim+"\": "+m)
		}
	}
}

func (f *faults) descending(p string, at *field.Path) {
	if path.IsAbs(p) {
		f.invalid(at, p, "must be a relative path")
	}
	f.noBacksteps(p, at)
}

func (f *faults) noBacksteps(p string, at *field.Path) {
	for _, part := range strings.Split(p, "/") {
		if part == ".." {
			f.invalid(at, p, "must not contain '..'")
			return
		}
	}
}

// localPath: names that start with two dots are the atomic writer's own.
func (f *faults) localPath(p string, at *field.Path) {
	f.descending(p, at)
	if strings.HasPrefix(p, "..") && !strings.HasPrefix(p, "../") {
		f.invalid(at, p, "must not start with '..'")
	}
}

func (c *podCheck) checkMounts(ctr *corev1.Container, at *field.Path) {
	paths := sets.New[string]()
	for i := range ctr.VolumeMounts {
		m, each := &ctr.VolumeMounts[i], at.Index(i)
		c.named(m.Name, each.Child("name"))
		if _, known := c.volumes[m.Name]; !known {
			c.missing(each.Child("name"), m.Name)
		}
		c.named(m.MountPath, each.Child("mountPath"))
		if paths.Has(m.MountPath) {
			c.invalid(each.Child("mountPath"), m.MountPath, "must be unique")
		}
		paths.Insert(m.MountPath)
		for _, d := range ctr.VolumeDevices {
			if d.Name == m.Name {
				c.invalid(each.Child("name"), m.Name, "must not already exist in volumeDevices")
				break
			}
		}
		for _, d := range ctr.VolumeDevices {
			if d.DevicePath == m.MountPath {
				c.invalid(each.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices")
				break
			}
		}
		if m.SubPath != "" {
			c.descending(m.SubPath, at.Child("subPath"))
		}
		if m.SubPathExpr != "" {
			if m.SubPath != "" {
				c.invalid(each.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
			}
			c.descending(m.SubPathExpr, at.Child("subPathExpr"))
		}
		c.propagation(ctr, m, at.Child("mountPropagation"))
		c.recursiveReadOnly(m, at.Child("recursiveReadOnly"))
	}
}

func (c *podCheck) propagation(ctr *corev1.Container, m *corev1.VolumeMount, at *field.Path) {
	if m.MountPropagation == nil {
		return
	}
	oneOf(&c.faults, at, *m.MountPropagation, corev1.MountPropagationBidirectional, corev1.MountPropagationHostToContainer, corev1.MountPropagationNone)
	sc := ctr.SecurityContext
	privileged := sc != nil && sc.Privileged != nil && *sc.Privileged
	if *m.MountPropagation == corev1.MountPropagationBidirectional && !privileged {
		c.forbidden(at, "Bidirectional mount propagation is available only to privileged containers")
	}
}

func (c *podCheck) recursiveReadOnly(m *corev1.VolumeMount, at *field.Path) {
	if m.RecursiveReadOnly == nil {
		return
	}
	mode := *m.RecursiveReadOnly
	if !oneOf(&c.faults, at, mode, corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyEnabled, corev1.RecursiveReadOnlyIfPossible) || mode == corev1.RecursiveReadOnlyDisabled {
		return
	}
	if !m.ReadOnly {
		c.forbidden(at, onlyMounted+"readOnly is true")
	}
	if m.MountPropagation != nil && *m.MountPropagation != corev1.MountPropagationNone {
		c.forbidden(at, onlyMounted+"mountPropagation is None or not specified")
	}
}

func (c *podCheck) checkDevices(ctr *corev1.Container, at *field.Path) {
	names, paths := sets.New[string](), sets.New[string]()
	for i, d := range ctr.VolumeDevices {
		at := at.Index(i)
		name, dev := at.Child("name"), at.Child("devicePath")
		c.named(d.Name, name)
		if names.Has(d.Name) {
			c.invalid(name, d.Name, "must be unique")
		}
		source, known := c.volumes[d.Name]
		if known && source.PersistentVolumeClaim == nil && source.Ephemeral == nil {
			c.invalid(name, d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		if !known {
			c.missing(name, d.Name)
		}
		c.named(d.DevicePath, dev)
		if paths.Has(d.DevicePath) {
			c.invalid(dev, d.DevicePath, "must be unique")
		}
		if strings.Contains("/"+d.DevicePath+"/", "/../") {
			c.invalid(dev, d.DevicePath, "can not contain backsteps ('..')")
		} else {
			paths.Insert(d.DevicePath)
		}
		for _, m := range ctr.VolumeMounts {
			if m.Name == d.Name {
				c.invalid(name, d.Name, "must not already exist in volumeMounts")
				break
			}
		}
		for _, m := range ctr.VolumeMounts {
			if m.MountPath == d.DevicePath {
				c.invalid(dev, d.DevicePath, "must not already exist as a path in volumeMounts")
				break
			}
		}
		if d.Name != "" {
			names.Insert(d.Name)
		}
	}
}
