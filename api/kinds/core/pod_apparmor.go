package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// AppArmor profiles were annotations before they had a field. A new pod that
// still uses one gets the field as well, so that nodes read one place only.

// syncAppArmor copies valid annotations to the containers' fields, and warns of each. What is
// the pod's own profile already is not copied.
func syncAppArmor(r *kinds.Context, p *corev1.Pod) {
	if len(p.Annotations) == 0 || p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows {
		return
	}
	var whole *corev1.AppArmorProfile
	if p.Spec.SecurityContext != nil {
		whole = p.Spec.SecurityContext.AppArmorProfile
	}
	eachContainer(&p.Spec, nil, func(c *corev1.Container, _ *field.Path) {
		key := appArmorPrefix + c.Name
		text, has := p.Annotations[key]
		if !has || c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
			return
		}
		profile := appArmorOf(text)
		if profile != nil && common.Equal(profile, whole) {
			return
		}
		if profile != nil {
			if c.SecurityContext == nil {
				c.SecurityContext = &corev1.SecurityContext{}
			}
			c.SecurityContext.AppArmorProfile = profile
		}
		r.Warn(fmt.Sprintf(`%s: deprecated since v1.30; use the "appArmorProfile" field instead`, field.NewPath("metadata", "annotations").Key(key)))
	})
}

// appArmorOf is the profile that an annotation names, nil when it names none.
func appArmorOf(text string) *corev1.AppArmorProfile {
	switch text {
	case corev1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	case corev1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	name, local := strings.CutPrefix(text, corev1.DeprecatedAppArmorBetaProfileNamePrefix)
	profile := &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	if !local || name == "" || len(appArmorProfile(profile, nil)) > 0 {
		return nil
	}
	return profile
}
