package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a pod's other paths: status, ephemeralcontainers, resize.

func validatePodStatusUpdate(_ *kinds.Context, p, old *corev1.Pod) field.ErrorList {
	var f faults
	path := field.NewPath("status")
	s, was := &p.Status, &old.Status
	f.add(changedAnnotations(p, old, field.NewPath("metadata", "annotations")))
	f.podConditions(s.Conditions, path.Child("conditions"))
	nominated := path.Child("nominatedNodeName")
	if s.NominatedNodeName != "" && s.NominatedNodeName != was.NominatedNodeName {
		f.invalids(nominated, s.NominatedNodeName, validation.IsDNS1123Subdomain(s.NominatedNodeName))
		if old.Spec.NodeName != "" {
			f.forbidden(nominated, "may not be set on pods that are already bound to a node")
		}
	}
	if s.ObservedGeneration < 0 {
		f.invalid(path.Child("observedGeneration"), s.ObservedGeneration, "must be a non-negative integer")
	}
	f.add(common.Immutable(s.QOSClass, was.QOSClass, path.Child("qosClass")))
	f.stayTerminated(s.ContainerStatuses, was.ContainerStatuses, &old.Spec, old.Spec.Containers, path.Child("containerStatuses"))
	f.stayTerminated(s.InitContainerStatuses, was.InitContainerStatuses, &old.Spec, old.Spec.InitContainers, path.Child("initContainerStatuses"))
	f.stayTerminated(s.EphemeralContainerStatuses, was.EphemeralContainerStatuses, nil, nil, path.Child("ephemeralContainerStatuses"))
	f.claimStatuses(p, path.Child("resourceClaimStatuses"))
	f.extendedClaim(s.ExtendedResourceClaimStatus, &p.Spec, path.Child("extendedResourceClaimStatus"))
	f.podIPs(s, was, path)
	f.hostIPs(s, was, path.Child("hostIPs"))
	f.statusUsers(s.ContainerStatuses, p.Spec.OS, path.Child("containerStatuses"))
	f.statusUsers(s.InitContainerStatuses, p.Spec.OS, path.Child("initContainerStatuses"))
	f.statusUsers(s.EphemeralContainerStatuses, p.Spec.OS, path.Child("ephemeralContainerStatuses"))
	f.allocatedResources(s.ContainerStatuses, p.Spec.Containers, s, path.Child("containerStatuses"))
	f.allocatedResources(s.InitContainerStatuses, p.Spec.InitContainers, s, path.Child("initContainerStatuses"))
	f.noAllocatedResources(s.EphemeralContainerStatuses, path.Child("ephemeralContainerStatuses"))
	return f.all
}

func podStatusWarnings(_ *kinds.Context, p, _ *corev1.Pod) []string {
	var out []string
	for i, ip := range p.Status.PodIPs {
		out = append(out, validation.GetWarningsForIP(field.NewPath("status", "podIPs").Index(i).Child("ip"), ip.IP)...)
	}
	for i, ip := range p.Status.HostIPs {
		out = append(out, validation.GetWarningsForIP(field.NewPath("status", "hostIPs").Index(i).Child("ip"), ip.IP)...)
	}
	return out
}

func (f *faults) podConditions(list []corev1.PodCondition, path *field.Path) {
	for i, c := range list {
		if c.ObservedGeneration < 0 {
			f.invalid(path.Index(i).Child("observedGeneration"), c.ObservedGeneration, "must be a non-negative integer")
		}
		if c.Type != corev1.PodScheduled && c.Type != corev1.PodReady && c.Type != corev1.PodInitialized {
			f.add(common.QualifiedName(string(c.Type), path.Index(i).Child("Type")))
		}
	}
}

// stayTerminated: a container that ended does not run again, unless its pod's or its own rules restart it.
func (f *faults) stayTerminated(now, old []corev1.ContainerStatus, spec *corev1.PodSpec, containers []corev1.Container, path *field.Path) {
	if spec != nil && restartsAll(spec) {
		return
	}
	for i := range old {
		was := old[i].State.Terminated
		if was == nil {
			continue
		}
		for j := range now {
			if now[j].Name != old[i].Name || now[j].State.Terminated != nil {
				continue
			}
			if !mayRestart(containers, spec, now[j].Name, was.ExitCode) {
				f.forbidden(path.Index(i).Child("state"), "may not be transitioned to non-terminated state")
			}
			break
		}
	}
}

// restartsAll tells whether the end of one container may restart all of them.
func restartsAll(spec *corev1.PodSpec) bool {
	found := false
	eachContainer(spec, nil, func(c *corev1.Container, _ *field.Path) {
		for _, r := range c.RestartPolicyRules {
			found = found || r.Action == corev1.ContainerRestartRuleActionRestartAllContainers
		}
	})
	return found
}

func mayRestart(containers []corev1.Container, spec *corev1.PodSpec, name string, code int32) bool {
	for i := range containers {
		if containers[i].Name == name {
			return restarts(&containers[i], spec.RestartPolicy, code)
		}
	}
	return false
}

func restarts(c *corev1.Container, pod corev1.RestartPolicy, code int32) bool {
	policy := string(pod)
	if c.RestartPolicy != nil {
		for _, r := range c.RestartPolicyRules {
			if r.ExitCodes != nil && r.Action == corev1.ContainerRestartRuleActionRestart && matchesCode(r.ExitCodes, code) {
				return true
			}
		}
		policy = string(*c.RestartPolicy)
	}
	switch policy {
	case string(corev1.RestartPolicyAlways):
		return true
	case string(corev1.RestartPolicyOnFailure):
		return code != 0
	}
	return false
}

func matchesCode(r *corev1.ContainerRestartRuleOnExitCodes, code int32) bool {
	in := sets.New(r.Values...).Has(code)
	return in == (r.Operator == corev1.ContainerRestartRuleOnExitCodesOpIn)
}

func (f *faults) claimStatuses(p *corev1.Pod, path *field.Path) {
	seen := sets.New[string]()
	for i, s := range p.Status.ResourceClaimStatuses {
		name := path.Index(i).Child("name")
		known := false
		for _, c := range p.Spec.ResourceClaims {
			known = known || c.Name == s.Name
		}
		if !known {
			f.invalid(name, s.Name, "must match the name of an entry in `spec.resourceClaims`")
		}
		if seen.Has(s.Name) {
			f.duplicate(name, s.Name)
		}
		seen.Insert(s.Name)
		if s.ResourceClaimName != nil {
			f.invalids(path.Index(i).Child("resourceClaimName"), s.ResourceClaimName, validation.IsDNS1123Subdomain(*s.ResourceClaimName))
		}
	}
}

func (f *faults) podIPs(s, old *corev1.PodStatus, path *field.Path) {
	path = path.Child("podIPs")
	var had, ips []string
	for _, ip := range old.PodIPs {
		had = append(had, ip.IP)
	}
	for i, ip := range s.PodIPs {
		ips = append(ips, ip.IP)
		f.add(validation.IsValidIPForLegacyField(path.Index(i), ip.IP, true, had))
	}
	f.dualStack(ips, s.PodIPs, path)
	switch {
	case (s.PodIP == "") != (len(ips) == 0):
		f.invalid(path, s.PodIPs, "podIP and podIPs must either both be set or both be unset")
	case len(ips) > 0 && s.PodIP != ips[0]:
		f.invalid(path.Index(0).Child("ip"), ips[0], "must be equal to `podIP`")
	}
}

func (f *faults) hostIPs(s, old *corev1.PodStatus, path *field.Path) {
	if len(s.HostIPs) == 0 {
		return
	}
	if s.HostIP != s.HostIPs[0].IP {
		f.invalid(path.Index(0).Child("ip"), s.HostIPs[0].IP, "must be equal to `hostIP`")
	}
	var had, ips []string
	for _, ip := range old.HostIPs {
		had = append(had, ip.IP)
	}
	for i, ip := range s.HostIPs {
		ips = append(ips, ip.IP)
		f.add(validation.IsValidIPForLegacyField(path.Index(i), ip.IP, true, had))
	}
	f.dualStack(ips, s.HostIPs, path)
}

// dualStack: one address of each family, in any order.
func (f *faults) dualStack(ips []string, value any, path *field.Path) {
	if len(ips) < 2 {
		return
	}
	both, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		f.all = append(f.all, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	if !both || len(ips) > 2 {
		f.invalid(path, value, "may specify no more than one IP for each IP family")
	}
}

func validateEphemeralUpdate(_ *kinds.Context, p, old *corev1.Pod) field.ErrorList {
	if _, mirror := old.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
	}
	var f faults
	f.add(podSpecAndMeta(p))
	f.add(changedAnnotations(p, old, field.NewPath("metadata", "annotations")))
	now := map[string]*corev1.EphemeralContainer{}
	for i := range p.Spec.EphemeralContainers {
		now[p.Spec.EphemeralContainers[i].Name] = &p.Spec.EphemeralContainers[i]
	}
	path := field.NewPath("spec", "ephemeralContainers")
	for _, was := range old.Spec.EphemeralContainers {
		if n, kept := now[was.Name]; !kept {
			f.forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", was.Name))
		} else if !common.Equal(was, *n) {
			f.forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v", was.Name, diff.Diff(common.Internal(was), common.Internal(*n))))
		}
	}
	return f.all
}
