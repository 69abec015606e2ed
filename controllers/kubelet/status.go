package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The status of a pod: a pure function of the pod, what its worker reports, and
// the time. Upstream's generateAPIPodStatus is the reference; what of the old status
// it keeps, this keeps.

// statusInput is what a status is made from.
type statusInput struct {
	pod     *corev1.Pod
	sandbox *Sandbox
	reasons map[string]reason
	probes  func(id string, kind probeKind) (verdict, *corev1.Probe)
	evict   *reason
	stopped bool
	hostIPs []string
	now     time.Time
}

// statusInput takes a worker's report; mu is held, and has to be until the status is made.
func (k *Kubelet) statusInput(w *worker, pod *corev1.Pod, now time.Time) statusInput {
	return statusInput{
		pod: pod, sandbox: w.sandbox, reasons: w.reasons, probes: w.verdict,
		evict: w.evict, stopped: w.stopped, hostIPs: k.hostIPs(pod), now: now,
	}
}

// makeStatus gives the status that the pod should have.
func makeStatus(in statusInput) corev1.PodStatus {
	pod, old := in.pod, &in.pod.Status
	s := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		QOSClass:           old.QOSClass,
		NominatedNodeName:  old.NominatedNodeName,
		StartTime:          old.StartTime,
		Resize:             old.Resize,
		VolumeHealth:       old.VolumeHealth,

		ResourceClaimStatuses:                old.ResourceClaimStatuses,
		ExtendedResourceClaimStatus:          old.ExtendedResourceClaimStatus,
		NodeAllocatableResourceClaimStatuses: old.NodeAllocatableResourceClaimStatuses,
	}
	if s.StartTime == nil {
		t := stamp(in.now)
		s.StartTime = &t
	}
	statusIPs(in, &s)
	s.ContainerStatuses = containerStatuses(in, mainContainer, old.ContainerStatuses)
	s.InitContainerStatuses = containerStatuses(in, initContainer, old.InitContainerStatuses)
	s.EphemeralContainerStatuses = containerStatuses(in, ephemeralContainer, old.EphemeralContainerStatuses)
	s.AllocatedResources = resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	s.Resources = podResources(pod)

	statusPhase(in, &s)
	conditions(in, &s)
	return s
}

// stamp is a time as the wire keeps it.
func stamp(t time.Time) metav1.Time { return metav1.NewTime(t.UTC().Truncate(time.Second)) }

// statusIPs sets the host's and the pod's addresses; a pod that ended keeps its own.
func statusIPs(in statusInput, s *corev1.PodStatus) {
	if len(in.hostIPs) > 0 {
		s.HostIP = in.hostIPs[0]
		for _, ip := range in.hostIPs {
			s.HostIPs = append(s.HostIPs, corev1.HostIP{IP: ip})
		}
	}
	ips := podIPs(in.sandbox, in.hostIPs)
	if in.pod.Spec.HostNetwork && in.sandbox != nil {
		ips = in.hostIPs
	}
	if len(ips) == 0 {
		s.PodIP, s.PodIPs = in.pod.Status.PodIP, in.pod.Status.PodIPs
		return
	}
	s.PodIP = ips[0]
	for _, ip := range ips {
		s.PodIPs = append(s.PodIPs, corev1.PodIP{IP: ip})
	}
}

// podIPs are the sandbox's; one in the host's network has none of its own.
func podIPs(s *Sandbox, hostIPs []string) []string {
	if s == nil {
		return nil
	}
	if len(s.IPs) > 0 {
		return s.IPs
	}
	return nil
}

// hostIPs are the node's internal addresses.
func (k *Kubelet) hostIPs(pod *corev1.Pod) []string {
	var out []string
	for _, a := range k.NodeAddresses(pod.Spec.NodeName) {
		if a.Type == corev1.NodeInternalIP && len(out) < 2 {
			out = append(out, a.Address)
		}
	}
	return out
}

// podResources is what the pod as a whole was given.
func podResources(pod *corev1.Pod) *corev1.ResourceRequirements {
	r := pod.Spec.Resources.DeepCopy()
	if r == nil {
		r = &corev1.ResourceRequirements{}
	}
	r.Requests = resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	r.Limits = resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	return r
}

func findStatus(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// oldContainerStatus finds what the API has of a container.
func oldContainerStatus(pod *corev1.Pod, name string) *corev1.ContainerStatus {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		if st := findStatus(list, name); st != nil {
			return st
		}
	}
	return nil
}
