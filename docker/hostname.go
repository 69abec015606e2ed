package docker

import corev1 "k8s.io/api/core/v1"

// maxHostname is the kernel's limit of a host name in bytes.
const maxHostname = 63

// hostname is what the pod's processes see: hostnameOverride or hostname where
// the spec has one, else the pod's name, cut to what the kernel takes.
func hostname(pod *corev1.Pod) string {
	name := pod.Spec.Hostname
	if name == "" {
		name = pod.Name
	}
	if pod.Spec.HostnameOverride != nil {
		name = *pod.Spec.HostnameOverride
	}
	if len(name) <= maxHostname {
		return name
	}
	name = name[:maxHostname]
	for name[len(name)-1] == '-' || name[len(name)-1] == '.' {
		name = name[:len(name)-1]
	}
	return name
}
