package core

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Windows: the options of its own, and the Linux settings that its pods cannot have.

const (
	maxCredentialSpecKiB = 64
	maxUserDomain        = 256
	maxUserName          = 104
)

var (
	controlChars     = regexp.MustCompile(`[[:cntrl:]]+`)
	netBIOSName      = regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	windowsDomain    = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	badUserChars     = regexp.MustCompile(`["/\\:;|=,\+\*\?<>@\[\]]`)
	onlyDotsOrSpaces = regexp.MustCompile(`^[\. ]+$`)
)

func (c *podCheck) checkWindowsOptions(w *corev1.WindowsSecurityContextOptions, path *field.Path) {
	if w == nil {
		return
	}
	if w.GMSACredentialSpecName != nil {
		c.invalids(path.Child("gmsaCredentialSpecName"), w.GMSACredentialSpecName, validation.IsDNS1123Subdomain(*w.GMSACredentialSpecName))
	}
	if spec := w.GMSACredentialSpec; spec != nil {
		if *spec == "" {
			c.invalid(path.Child("gmsaCredentialSpec"), spec, "gmsaCredentialSpec cannot be an empty string")
		} else if len(*spec) > maxCredentialSpecKiB*1024 {
			c.invalid(path.Child("gmsaCredentialSpec"), spec, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxCredentialSpecKiB))
		}
	}
	if w.RunAsUserName != nil {
		c.checkUserName(w.RunAsUserName, path.Child("runAsUserName"))
	}
}

func (c *podCheck) checkUserName(name *string, path *field.Path) {
	parts := strings.Split(*name, "\\")
	switch {
	case *name == "":
		c.invalid(path, name, "runAsUserName cannot be an empty string")
		return
	case controlChars.MatchString(*name):
		c.invalid(path, name, "runAsUserName cannot contain control characters")
		return
	case len(parts) > 2:
		c.invalid(path, name, "runAsUserName cannot contain more than one backslash")
		return
	}
	user := parts[len(parts)-1]
	if len(parts) == 2 {
		domain := parts[0]
		if len(domain) >= maxUserDomain {
			c.invalid(path, name, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxUserDomain))
		}
		if !netBIOSName.MatchString(domain) && !windowsDomain.MatchString(domain) {
			c.invalid(path, name, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
		}
	}
	if user == "" {
		c.invalid(path, name, "runAsUserName's User cannot be empty")
	} else if len(user) > maxUserName {
		c.invalid(path, name, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxUserName))
	}
	if onlyDotsOrSpaces.MatchString(user) {
		c.invalid(path, name, "runAsUserName's User cannot contain only periods or spaces")
	}
	if badUserChars.MatchString(user) {
		c.invalid(path, name, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
}

// checkHostProcess: all containers of a pod run on the host, or none.
func (c *podCheck) checkHostProcess() {
	var pod *bool
	if sc := c.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		pod = sc.WindowsOptions.HostProcess
	}
	all, host := 0, 0
	eachContainer(c.spec, c.path, func(ctr *corev1.Container, path *field.Path) {
		all++
		own := pod
		if sc := ctr.SecurityContext; sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = sc.WindowsOptions.HostProcess
			if pod != nil && *pod != *own {
				c.invalid(path.Child("securityContext", "windowsOptions", "hostProcess"), *own,
					fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod))
			}
		}
		if own != nil && *own {
			host++
		}
	})
	if host == 0 {
		return
	}
	if host != all {
		c.invalid(c.path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if !c.spec.HostNetwork {
		c.invalid(c.path.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

func (c *podCheck) checkWindows() {
	const detail = "cannot be set for a windows pod"
	refuse := func(path *field.Path, name string, set bool) {
		if set {
			c.forbidden(path.Child(name), detail)
		}
	}
	if sc := c.spec.SecurityContext; sc != nil {
		path := c.path.Child("securityContext")
		refuse(path, "appArmorProfile", sc.AppArmorProfile != nil)
		refuse(path, "seLinuxOptions", sc.SELinuxOptions != nil)
		refuse(path, "seccompProfile", sc.SeccompProfile != nil)
		refuse(path, "fsGroup", sc.FSGroup != nil)
		refuse(path, "fsGroupChangePolicy", sc.FSGroupChangePolicy != nil)
		refuse(path, "sysctls", len(sc.Sysctls) > 0)
		refuse(path, "runAsUser", sc.RunAsUser != nil)
		refuse(path, "runAsGroup", sc.RunAsGroup != nil)
		refuse(path, "supplementalGroups", sc.SupplementalGroups != nil)
		refuse(path, "supplementalGroupsPolicy", sc.SupplementalGroupsPolicy != nil)
		refuse(path, "seLinuxChangePolicy", sc.SELinuxChangePolicy != nil)
	}
	refuse(c.path, "hostUsers", c.spec.HostUsers != nil)
	refuse(c.path, "hostPID", c.spec.HostPID)
	refuse(c.path, "hostIPC", c.spec.HostIPC)
	refuse(c.path, "shareProcessNamespace", c.spec.ShareProcessNamespace != nil)
	eachContainer(c.spec, c.path, func(ctr *corev1.Container, path *field.Path) {
		sc := ctr.SecurityContext
		if sc == nil {
			return
		}
		path = path.Child("securityContext")
		refuse(path, "appArmorProfile", sc.AppArmorProfile != nil)
		refuse(path, "seLinuxOptions", sc.SELinuxOptions != nil)
		refuse(path, "seccompProfile", sc.SeccompProfile != nil)
		refuse(path, "capabilities", sc.Capabilities != nil)
		refuse(path, "readOnlyRootFilesystem", sc.ReadOnlyRootFilesystem != nil)
		refuse(path, "privileged", sc.Privileged != nil)
		refuse(path, "allowPrivilegeEscalation", sc.AllowPrivilegeEscalation != nil)
		refuse(path, "procMount", sc.ProcMount != nil)
		refuse(path, "runAsUser", sc.RunAsUser != nil)
		refuse(path, "runAsGroup", sc.RunAsGroup != nil)
	})
}
