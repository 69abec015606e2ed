package docker

import (
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/strslice"
	corev1 "k8s.io/api/core/v1"

	"kuberow/controllers/kubelet"
)

// The kernel's CPU accounting, in the kubelet's figures.
const (
	cpuPeriod    = 100_000 // microseconds
	minQuota     = 1_000
	minShares    = 2
	sharesPerCPU = 1024
	milliPerCPU  = 1000
)

// resources maps requests and limits on cgroup settings.
func resources(r corev1.ResourceRequirements) container.Resources {
	out := container.Resources{CPUShares: minShares}
	request, asked := r.Requests[corev1.ResourceCPU]
	if !asked {
		request, asked = r.Limits[corev1.ResourceCPU]
	}
	if asked {
		out.CPUShares = max(minShares, request.MilliValue()*sharesPerCPU/milliPerCPU)
	}
	if limit, there := r.Limits[corev1.ResourceCPU]; there && !limit.IsZero() {
		out.CPUPeriod = cpuPeriod
		out.CPUQuota = max(minQuota, limit.MilliValue()*cpuPeriod/milliPerCPU)
	}
	if limit, there := r.Limits[corev1.ResourceMemory]; there && !limit.IsZero() {
		out.Memory = limit.Value()
		out.MemorySwap = limit.Value() // no swap beyond the limit
	}
	return out
}

// oomScore is who dies first when memory is short: best effort, then burstable.
// Real Kubernetes protects guaranteed pods more than the host's own processes
// (-997); on somebody's workstation, and where the engine itself may not, they
// are like any other process.
func oomScore(c kubelet.ContainerConfig) int {
	switch c.Pod.Status.QOSClass {
	case corev1.PodQOSGuaranteed:
		return 0
	case corev1.PodQOSBurstable:
		return 500
	default:
		return 1000
	}
}

// rights maps the security contexts.
func rights(host *container.HostConfig, c kubelet.ContainerConfig) {
	if sc := c.Pod.Spec.SecurityContext; sc != nil {
		for _, g := range sc.SupplementalGroups {
			host.GroupAdd = append(host.GroupAdd, strconv.FormatInt(g, 10))
		}
		if sc.FSGroup != nil {
			host.GroupAdd = append(host.GroupAdd, strconv.FormatInt(*sc.FSGroup, 10))
		}
		host.SecurityOpt = append(host.SecurityOpt, seccomp(sc.SeccompProfile)...)
	}
	sc := c.Container.SecurityContext
	if sc == nil {
		return
	}
	host.Privileged = sc.Privileged != nil && *sc.Privileged
	host.ReadonlyRootfs = sc.ReadOnlyRootFilesystem != nil && *sc.ReadOnlyRootFilesystem
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		host.SecurityOpt = append(host.SecurityOpt, "no-new-privileges")
	}
	if sc.Capabilities != nil {
		host.CapAdd, host.CapDrop = capabilities(sc.Capabilities.Add), capabilities(sc.Capabilities.Drop)
	}
	if sc.SeccompProfile != nil {
		host.SecurityOpt = append(host.SecurityOpt, seccomp(sc.SeccompProfile)...)
	}
}

func seccomp(p *corev1.SeccompProfile) []string {
	if p != nil && p.Type == corev1.SeccompProfileTypeUnconfined {
		return []string{"seccomp=unconfined"}
	}
	return nil // RuntimeDefault is what the engine does unasked
}

func capabilities(in []corev1.Capability) strslice.StrSlice {
	var out strslice.StrSlice
	for _, c := range in {
		out = append(out, strings.TrimPrefix(string(c), "CAP_"))
	}
	return out
}
