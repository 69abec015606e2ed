package core

import (
	"encoding/json"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Annotations of pods that mean something, most of them from before there were fields for it.

const (
	tolerationsAnnotation = "scheduler.alpha.kubernetes.io/tolerations"
	appArmorPrefix        = corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix
)

func podAnnotations(a map[string]string, s *corev1.PodSpec, path *field.Path) field.ErrorList {
	if len(a) == 0 {
		return nil
	}
	var f faults
	if value, mirror := a[corev1.MirrorPodAnnotationKey]; mirror && s.NodeName == "" {
		f.invalid(path.Key(corev1.MirrorPodAnnotationKey), value, "must set spec.nodeName if mirror pod annotation is set")
	}
	if text := a[tolerationsAnnotation]; text != "" {
		var list []corev1.Toleration
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			f.invalid(path, tolerationsAnnotation, err.Error())
		}
		f.tolerations(list, path.Child(tolerationsAnnotation))
	}
	if cost, set := a[corev1.PodDeletionCost]; set && !isDeletionCost(cost) {
		f.invalid(path.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")
	}
	if p, set := a[corev1.SeccompPodAnnotationKey]; set {
		f.seccompText(p, path.Child(corev1.SeccompPodAnnotationKey))
	}
	keys := common.Keys(a)
	for _, key := range keys {
		if strings.HasPrefix(key, corev1.SeccompContainerAnnotationKeyPrefix) {
			f.seccompText(a[key], path.Child(key))
		}
	}
	for _, key := range keys {
		if name, ours := strings.CutPrefix(key, appArmorPrefix); ours {
			f.appArmorText(name, a[key], s, path.Key(key))
		}
	}
	return f.all
}

// isDeletionCost: a plain number, without plus sign or leading zeros, so that two servers read the same.
func isDeletionCost(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && strconv.FormatInt(n, 10) == text
}

func (f *faults) seccompText(p string, path *field.Path) {
	switch {
	case p == corev1.SeccompProfileRuntimeDefault, p == corev1.DeprecatedSeccompProfileDockerDefault, p == corev1.SeccompProfileNameUnconfined:
	case strings.HasPrefix(p, corev1.SeccompLocalhostProfileNamePrefix):
		f.descending(strings.TrimPrefix(p, corev1.SeccompLocalhostProfileNamePrefix), path)
	default:
		f.invalid(path, p, "must be a valid seccomp profile")
	}
}

func (f *faults) appArmorText(container, profile string, s *corev1.PodSpec, path *field.Path) {
	found := false
	eachContainer(s, nil, func(c *corev1.Container, _ *field.Path) { found = found || c.Name == container })
	if !found {
		f.invalid(path, container, "container not found")
	}
	switch {
	case profile == "", profile == corev1.DeprecatedAppArmorBetaProfileRuntimeDefault, profile == corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
	case !strings.HasPrefix(profile, corev1.DeprecatedAppArmorBetaProfileNamePrefix):
		f.invalid(path, profile, "invalid AppArmor profile name: "+strconv.Quote(profile))
	}
}

// appArmorAgrees: where annotation and field both speak, they say the same. The same holds for seccomp.
func appArmorAgrees(a map[string]string, s *corev1.PodSpec, path *field.Path) field.ErrorList {
	if len(a) == 0 {
		return nil
	}
	var f faults
	f.seccompAgrees(a, s, path)
	if s.OS != nil && s.OS.Name == corev1.Windows {
		return f.all
	}
	eachContainer(s, path, func(c *corev1.Container, path *field.Path) {
		var p *corev1.AppArmorProfile
		if s.SecurityContext != nil {
			p = s.SecurityContext.AppArmorProfile
		}
		if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			p = c.SecurityContext.AppArmorProfile
		}
		text, set := a[appArmorPrefix+c.Name]
		if p == nil || !set {
			return
		}
		path = path.Child("securityContext", "appArmorProfile")
		const other = "apparmor type in annotation and field must match"
		prefix := corev1.DeprecatedAppArmorBetaProfileNamePrefix
		switch {
		case p.Type == corev1.AppArmorProfileTypeUnconfined && text != corev1.DeprecatedAppArmorBetaProfileNameUnconfined,
			p.Type == corev1.AppArmorProfileTypeRuntimeDefault && text != corev1.DeprecatedAppArmorBetaProfileRuntimeDefault,
			p.Type == corev1.AppArmorProfileTypeLocalhost && !strings.HasPrefix(text, prefix):
			f.forbidden(path.Child("type"), other)
		case p.Type == corev1.AppArmorProfileTypeLocalhost && (p.LocalhostProfile == nil || strings.TrimPrefix(text, prefix) != *p.LocalhostProfile):
			f.forbidden(path.Child("localhostProfile"), "apparmor profile in annotation and field must match")
		}
	})
	return f.all
}

func (f *faults) seccompAgrees(a map[string]string, s *corev1.PodSpec, path *field.Path) {
	compare := func(key string, p *corev1.SeccompProfile, path *field.Path) {
		text, set := a[key]
		if p == nil || !set {
			return
		}
		path = path.Child("securityContext", "seccompProfile")
		prefix := corev1.SeccompLocalhostProfileNamePrefix
		runtime := text == corev1.SeccompProfileRuntimeDefault || text == corev1.DeprecatedSeccompProfileDockerDefault
		switch {
		case p.Type == corev1.SeccompProfileTypeUnconfined && text != corev1.SeccompProfileNameUnconfined,
			p.Type == corev1.SeccompProfileTypeRuntimeDefault && !runtime,
			p.Type == corev1.SeccompProfileTypeLocalhost && !strings.HasPrefix(text, prefix):
			f.forbidden(path.Child("type"), "seccomp type in annotation and field must match")
		case p.Type == corev1.SeccompProfileTypeLocalhost && (p.LocalhostProfile == nil || strings.TrimPrefix(text, prefix) != *p.LocalhostProfile):
			f.forbidden(path.Child("localhostProfile"), "seccomp profile in annotation and field must match")
		}
	}
	if s.SecurityContext != nil {
		compare(corev1.SeccompPodAnnotationKey, s.SecurityContext.SeccompProfile, path)
	}
	eachContainer(s, path, func(c *corev1.Container, path *field.Path) {
		if c.SecurityContext != nil {
			compare(corev1.SeccompContainerAnnotationKeyPrefix+c.Name, c.SecurityContext.SeccompProfile, path)
		}
	})
}

// changedAnnotations: what describes how a pod was started cannot be changed later.
func changedAnnotations(p, old *corev1.Pod, path *field.Path) field.ErrorList {
	var f faults
	for _, key := range common.Keys(old.Annotations) {
		if value, has := p.Annotations[key]; has && value == old.Annotations[key] {
			continue
		}
		if strings.HasPrefix(key, appArmorPrefix) {
			f.forbidden(path.Key(key), "may not remove or update AppArmor annotations")
		}
		if key == corev1.MirrorPodAnnotationKey {
			f.forbidden(path.Key(key), "may not remove or update mirror pod annotation")
		}
	}
	for _, key := range common.Keys(p.Annotations) {
		if _, had := old.Annotations[key]; had {
			continue
		}
		if strings.HasPrefix(key, appArmorPrefix) {
			f.forbidden(path.Key(key), "may not add AppArmor annotations")
		}
		if key == corev1.MirrorPodAnnotationKey {
			f.forbidden(path.Key(key), "may not add mirror pod annotation")
		}
	}
	f.add(podAnnotations(p.Annotations, &p.Spec, path))
	return f.all
}
