package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Warnings about containers, their ports, and files of volumes that hide each other.

func (w *warnings) containers(t *corev1.PodTemplateSpec, path *field.Path) {
	annotations := path.Child("metadata", "annotations")
	const seccomp = `%s: non-functional in v1.27+; use the "seccompProfile" field instead`
	sc := t.Spec.SecurityContext
	if _, has := t.Annotations[corev1.SeccompPodAnnotationKey]; has && (sc == nil || sc.SeccompProfile == nil) {
		w.add(seccomp, annotations.Key(corev1.SeccompPodAnnotationKey))
	}
	eachContainer(&t.Spec, path.Child("spec"), func(c *corev1.Container, at *field.Path) {
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, has := t.Annotations[key]; has && (c.SecurityContext == nil || c.SecurityContext.SeccompProfile == nil) {
			w.add(seccomp, annotations.Key(key))
		}
		key = appArmorPrefix + c.Name
		if _, has := t.Annotations[key]; has && (c.SecurityContext == nil || c.SecurityContext.AppArmorProfile == nil) && (sc == nil || sc.AppArmorProfile == nil) {
			w.add(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`, annotations.Key(key))
		}
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			w.fraction(c.Resources.Limits, name, at.Child("resources", "limits"))
			w.fraction(c.Resources.Requests, name, at.Child("resources", "requests"))
		}
		w.hiddenEnv(c.Env, at.Child("env"))
	})
}

func (w *warnings) fraction(list corev1.ResourceList, name corev1.ResourceName, path *field.Path) {
	if q, has := list[name]; has {
		w.fractions(corev1.ResourceList{name: q}, path)
	}
}

// hiddenEnv: a second definition is fine when it builds on the first one.
func (w *warnings) hiddenEnv(env []corev1.EnvVar, path *field.Path) {
	seen := sets.New[string]()
	for i, e := range env {
		ref := "$(" + e.Name + ")"
		if seen.Has(e.Name) && (e.ValueFrom != nil || e.Value == ref || !strings.Contains(e.Value, ref)) {
			w.add("%s: hides previous definition of %q, which may be dropped when using apply", path.Index(i), e.Name)
		}
		seen.Insert(e.Name)
	}
}

func (w *warnings) ports(s *corev1.PodSpec, path *field.Path) {
	type place struct {
		at   *field.Path
		port corev1.ContainerPort
	}
	all := map[string][]place{}
	eachContainer(s, path, func(c *corev1.Container, at *field.Path) {
		for i, p := range c.Ports {
			at := at.Child("ports").Index(i)
			if p.HostIP != "" && p.HostPort == 0 {
				w.add("%s: hostIP set without hostPort: %+v", at, p)
			}
			key := fmt.Sprintf("%d/%s", p.ContainerPort, p.Protocol)
			for _, other := range all[key] {
				o := other.port
				switch {
				case p.HostIP == o.HostIP && p.HostPort == o.HostPort:
					w.add("%s: duplicate port definition with %s", at, other.at)
				case p.HostPort == 0 || o.HostPort == 0:
					w.add("%s: overlapping port definition with %s", at, other.at)
				case p.HostPort == o.HostPort && (p.HostIP == "") != (o.HostIP == ""):
					w.add("%s: dangerously ambiguous port definition with %s", at, other.at)
				}
			}
			all[key] = append(all[key], place{at, p})
		}
	})
	names := map[string]*field.Path{}
	eachContainer(s, path, func(c *corev1.Container, at *field.Path) {
		for i, p := range c.Ports {
			if p.Name == "" {
				continue
			}
			at := at.Child("ports").Index(i)
			if other, twice := names[p.Name]; twice {
				w.add("%s: duplicate port name %q with %s, services and probes that select ports by name will use %s", at, p.Name, other, other)
			} else {
				names[p.Name] = at
			}
		}
	})
}

// file is a path inside a volume and where it comes from.
type file struct{ path, source string }

func (f file) String() string {
	if f.source == "" {
		return fmt.Sprintf("%q", f.path)
	}
	return fmt.Sprintf("%q (%s)", f.path, f.source)
}

func (w *warnings) overlaps(volumes []corev1.Volume) {
	for _, v := range volumes {
		switch {
		case v.ConfigMap != nil:
			w.overlap(v.Name, fmt.Sprintf("ConfigMap %q", v.ConfigMap.Name), keyFiles(v.ConfigMap.Items, ""))
		case v.Secret != nil:
			w.overlap(v.Name, fmt.Sprintf("Secret %q", v.Secret.SecretName), keyFiles(v.Secret.Items, ""))
		case v.DownwardAPI != nil:
			w.overlap(v.Name, "DownwardAPI", downwardFiles(v.DownwardAPI.Items, ""))
		case v.Projected != nil:
			var all []file
			for i := range v.Projected.Sources {
				if v.Projected.Sources[i] == (corev1.VolumeProjection{}) {
					w.add("volume %q (Projected) has no sources provided", v.Name)
				}
				all = append(all, projectedFiles(&v.Projected.Sources[i])...)
			}
			w.overlap(v.Name, "Projected", all)
		}
	}
}

func keyFiles(items []corev1.KeyToPath, source string) []file {
	var out []file
	for _, i := range items {
		out = append(out, file{i.Path, source})
	}
	return out
}

func downwardFiles(items []corev1.DownwardAPIVolumeFile, source string) []file {
	var out []file
	for _, i := range items {
		out = append(out, file{i.Path, source})
	}
	return out
}

func projectedFiles(s *corev1.VolumeProjection) []file {
	switch {
	case s.ConfigMap != nil && s.ConfigMap.Items != nil:
		return keyFiles(s.ConfigMap.Items, fmt.Sprintf("ConfigMap %q", s.ConfigMap.Name))
	case s.Secret != nil && s.Secret.Items != nil:
		return keyFiles(s.Secret.Items, fmt.Sprintf("Secret %q", s.Secret.Name))
	case s.DownwardAPI != nil && s.DownwardAPI.Items != nil:
		return downwardFiles(s.DownwardAPI.Items, "DownwardAPI")
	case s.ServiceAccountToken != nil:
		return []file{{s.ServiceAccountToken.Path, "ServiceAccountToken"}}
	case s.ClusterTrustBundle != nil:
		name := s.ClusterTrustBundle.Name
		if name == nil {
			name = s.ClusterTrustBundle.SignerName
		}
		if name == nil {
			return nil
		}
		return []file{{s.ClusterTrustBundle.Path, fmt.Sprintf("ClusterTrustBundle %q", *name)}}
	case s.PodCertificate != nil:
		var out []file
		for _, f := range []file{{s.PodCertificate.CertificateChainPath, "PodCertificate chain"}, {s.PodCertificate.KeyPath, "PodCertificate key"},
			{s.PodCertificate.CredentialBundlePath, "PodCertificate credential bundle"}} {
			if f.path != "" {
				out = append(out, f)
			}
		}
		return out
	}
	return nil
}

func (w *warnings) overlap(volume, what string, files []file) {
	var before []file
	for _, f := range files {
		f.path = strings.TrimRight(f.path, "/")
		if f.path != "" {
			for _, b := range before {
				if b.path != "" && (strings.HasPrefix(b.path+"/", f.path+"/") || strings.HasPrefix(f.path+"/", b.path+"/")) {
					w.add("volume %q (%s): overlapping paths: %s with %s", volume, what, f, b)
				}
			}
		}
		before = append(before, f)
	}
}
