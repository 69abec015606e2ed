package core

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Security contexts of pods and containers.

const maxProfilePath = 4095

// sysctlName is what the message quotes too.
var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func (c *podCheck) checkPodSecurity(path *field.Path) {
	sc := c.spec.SecurityContext
	if sc == nil {
		return
	}
	if id := sc.FSGroup; id != nil {
		c.invalids(path.Child("fsGroup"), *id, validation.IsValidGroupID(*id))
	}
	if id := sc.RunAsUser; id != nil {
		c.invalids(path.Child("runAsUser"), *id, validation.IsValidUserID(*id))
	}
	if id := sc.RunAsGroup; id != nil {
		c.invalids(path.Child("runAsGroup"), *id, validation.IsValidGroupID(*id))
	}
	for i, id := range sc.SupplementalGroups {
		c.invalids(path.Child("supplementalGroups").Index(i), id, validation.IsValidGroupID(id))
	}
	c.checkSysctls(sc.Sysctls, path.Child("sysctls"))
	if p := sc.FSGroupChangePolicy; p != nil {
		oneOf(&c.faults, path.Child("fsGroupChangePolicy"), *p, corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)
	}
	c.checkSeccomp(sc.SeccompProfile, path.Child("seccompProfile"))
	c.checkWindowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
	c.add(appArmorProfile(sc.AppArmorProfile, path.Child("appArmorProfile")))
	if p := sc.SupplementalGroupsPolicy; p != nil {
		oneOf(&c.faults, path.Child("supplementalGroupsPolicy"), *p, corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)
	}
	if p := sc.SELinuxChangePolicy; p != nil {
		oneOf(&c.faults, path.Child("seLinuxChangePolicy"), *p, corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)
	}
}

func (c *podCheck) checkSysctls(list []corev1.Sysctl, path *field.Path) {
	seen := sets.New[string]()
	for i, s := range list {
		path := path.Index(i).Child("name")
		switch {
		case s.Name == "":
			c.required(path, "")
		case len(s.Name) > 253 || !sysctlName.MatchString(s.Name):
			c.invalid(path, s.Name, fmt.Sprintf("must have at most 253 characters and match regex %s", sysctlName))
		case seen.Has(s.Name):
			c.duplicate(path, s.Name)
		}
		seen.Insert(s.Name)
		name := strings.ReplaceAll(s.Name, "/", ".")
		if c.spec.HostNetwork && strings.HasPrefix(name, "net.") {
			c.invalid(path, s.Name, "may not be specified when 'hostNetwork' is true")
		}
		if c.spec.HostIPC && isIPCSysctl(name) {
			c.invalid(path, s.Name, "may not be specified when 'hostIPC' is true")
		}
	}
}

func isIPCSysctl(name string) bool {
	return name == "kernel.sem" || strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") || strings.HasPrefix(name, "fs.mqueue.")
}

func (c *podCheck) checkSecurity(sc *corev1.SecurityContext, path *field.Path) {
	if sc == nil {
		return
	}
	if id := sc.RunAsUser; id != nil {
		c.invalids(path.Child("runAsUser"), *id, validation.IsValidUserID(*id))
	}
	if id := sc.RunAsGroup; id != nil {
		c.invalids(path.Child("runAsGroup"), *id, validation.IsValidGroupID(*id))
	}
	if m := sc.ProcMount; m != nil {
		path := path.Child("procMount")
		oneOf(&c.faults, path, *m, corev1.DefaultProcMount, corev1.UnmaskedProcMount)
		if *m == corev1.UnmaskedProcMount && (c.spec.HostUsers == nil || *c.spec.HostUsers) {
			c.invalid(path, m, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	c.checkSeccomp(sc.SeccompProfile, path.Child("seccompProfile"))
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if sc.Privileged != nil && *sc.Privileged {
			c.invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if sc.Capabilities != nil {
			for _, add := range sc.Capabilities.Add {
				if add == "CAP_SYS_ADMIN" {
					c.invalid(path, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
				}
			}
		}
	}
	c.checkWindowsOptions(sc.WindowsOptions, path.Child("windowsOptions"))
	c.add(appArmorProfile(sc.AppArmorProfile, path.Child("appArmorProfile")))
}

func (c *podCheck) checkSeccomp(p *corev1.SeccompProfile, path *field.Path) {
	if p == nil {
		return
	}
	if p.Type == "" {
		c.required(path.Child("type"), "type is required when seccompProfile is set")
	} else {
		oneOf(&c.faults, path.Child("type"), p.Type, corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	path = path.Child("localhostProfile")
	switch {
	case p.Type != corev1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile != nil {
			c.invalid(path, p, "can only be set when seccomp type is Localhost")
		}
	case p.LocalhostProfile == nil:
		c.required(path, "must be set when seccomp type is Localhost")
	default:
		c.descending(*p.LocalhostProfile, path)
	}
}

func appArmorProfile(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var f faults
	local := path.Child("localhostProfile")
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		const missing = "must be set when AppArmor type is Localhost"
		if p.LocalhostProfile == nil {
			f.required(local, missing)
			break
		}
		if name := strings.TrimSpace(*p.LocalhostProfile); name != *p.LocalhostProfile {
			f.invalid(local, *p.LocalhostProfile, "must not be padded with whitespace")
		} else if name == "" {
			f.required(local, missing)
		}
		if len(*p.LocalhostProfile) > maxProfilePath {
			f.all = append(f.all, field.TooLong(local, "", maxProfilePath))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			f.invalid(local, p.LocalhostProfile, "can only be set when AppArmor type is Localhost")
		}
	case "":
		f.required(path.Child("type"), "type is required when appArmorProfile is set")
	default:
		oneOf(&f, path.Child("type"), p.Type, corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	}
	return f.all
}

func (c *podCheck) checkHostUsers() {
	if c.spec.HostUsers == nil || *c.spec.HostUsers {
		return
	}
	const detail = "when `hostUsers` is false"
	if c.spec.HostNetwork {
		c.forbidden(c.path.Child("hostNetwork"), detail)
	}
	if c.spec.HostPID {
		c.forbidden(c.path.Child("HostPID"), detail) // upstream's spelling of both
	}
	if c.spec.HostIPC {
		c.forbidden(c.path.Child("HostIPC"), detail)
	}
	eachContainer(c.spec, c.path, func(ctr *corev1.Container, path *field.Path) {
		if len(ctr.VolumeDevices) > 0 {
			c.forbidden(path.Child("volumeDevices"), detail)
		}
	})
}

// checkOS: a pod that names its system has no settings of the other one.
func (c *podCheck) checkOS() {
	if c.spec.OS == nil {
		return
	}
	path := c.path.Child("os")
	if c.spec.OS.Name == "" {
		c.required(path.Child("name"), "")
		return
	}
	if !oneOf(&c.faults, path, c.spec.OS.Name, corev1.Linux, corev1.Windows) {
		return
	}
	if c.spec.OS.Name == corev1.Windows {
		c.checkWindows()
		return
	}
	const detail = "windows options cannot be set for a linux pod"
	if sc := c.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		c.forbidden(c.path.Child("securityContext", "windowsOptions"), detail)
	}
	eachContainer(c.spec, c.path, func(ctr *corev1.Container, path *field.Path) {
		if ctr.SecurityContext != nil && ctr.SecurityContext.WindowsOptions != nil {
			c.forbidden(path.Child("securityContext", "windowsOptions"), detail)
		}
	})
}
