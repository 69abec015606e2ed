package core

import (
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
)

// What may change of a Service: a second address and family may come and go, the first ones stay.

func validateServiceUpdate(_ *kinds.Context, s, old *corev1.Service) field.ErrorList {
	var f faults
	at := field.NewPath("spec")
	if s.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		f.changedIPs(s, old, at)
		f.changedFamilies(s, old, at)
	}
	class := at.Child("loadBalancerClass")
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer && !same(s.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		f.invalid(class, s.Spec.LoadBalancerClass, "may not change once set")
	}
	f.loadBalancerClass(&s.Spec, class)
	if needsHealthPort(s) && needsHealthPort(old) && s.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		f.forbidden(at.Child("healthCheckNodePort"), "field is immutable")
	}
	f.add(validateService(s, old))
	return f.all
}

func (f *faults) changedIPs(s, old *corev1.Service, at *field.Path) {
	if headless(s) && headless(old) {
		return
	}
	now, was, ips := s.Spec.ClusterIPs, old.Spec.ClusterIPs, at.Child("clusterIPs")
	const fixed = "may not change once set"
	switch {
	case len(now) == len(was):
		for i := range was {
			if was[i] != now[i] {
				f.invalid(ips.Index(i), now, fixed)
			}
		}
	case len(now) == 0:
		f.invalid(ips.Index(0), now, "primary clusterIP can not be unset")
	default:
		if len(was) > 0 && now[0] != was[0] {
			f.invalid(ips.Index(0), now, fixed)
		}
		if len(was) > len(now) && len(now) == 1 && policyOf(s) != corev1.IPFamilyPolicySingleStack {
			f.invalid(at.Child("ipFamilyPolicy"), s.Spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary clusterIP")
		}
	}
}

func (f *faults) changedFamilies(s, old *corev1.Service, at *field.Path) {
	if headless(s) || headless(old) {
		return
	}
	now, was, first := s.Spec.IPFamilies, old.Spec.IPFamilies, at.Child("ipFamilies").Index(0)
	const fixed = "may not change once set"
	if len(now) == len(was) {
		for i := range was {
			if was[i] != now[i] {
				f.invalid(first, now, fixed)
			}
		}
		return
	}
	if len(was) > len(now) && len(s.Spec.ClusterIPs) == 0 {
		f.invalid(first, now, "primary ipFamily can not be unset")
	}
	if len(now) > 0 && len(was) > 0 && now[0] != was[0] {
		f.invalid(first, s.Spec.ClusterIPs, fixed)
	}
	if len(was) > len(now) && len(now) == 1 && policyOf(s) != corev1.IPFamilyPolicySingleStack {
		f.invalid(at.Child("ipFamilyPolicy"), s.Spec.IPFamilyPolicy, "must be set to 'SingleStack' when releasing the secondary ipFamily")
	}
}

func validateServiceStatus(_ *kinds.Context, s, old *corev1.Service) field.ErrorList {
	return LoadBalancerStatus(s, old, field.NewPath("status", "loadBalancer", "ingress"))
}

// LoadBalancerStatus checks the addresses that a load balancer reports for a Service.
func LoadBalancerStatus(s, old *corev1.Service, at *field.Path) field.ErrorList {
	var f faults
	list := s.Status.LoadBalancer.Ingress
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer && len(list) != 0 {
		f.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
		return f.all
	}
	var had []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			had = append(had, in.IP)
		}
	}
	for i, in := range list {
		at := at.Index(i)
		if in.IP != "" {
			f.add(validation.IsValidIPForLegacyField(at.Child("ip"), in.IP, true, had))
		}
		switch {
		case in.IPMode == nil && in.IP != "":
			f.required(at.Child("ipMode"), "must be specified when `ip` is set")
		case in.IPMode != nil && in.IP == "":
			f.forbidden(at.Child("ipMode"), "may not be specified when `ip` is not set")
		case in.IPMode != nil:
			oneOf(&f, at.Child("ipMode"), *in.IPMode, corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP)
		}
		if in.Hostname != "" {
			f.invalids(at.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain(in.Hostname))
			if net.ParseIP(in.Hostname) != nil {
				f.invalid(at.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address")
			}
		}
	}
	return f.all
}

func serviceWarnings(_ *kinds.Context, s, _ *corev1.Service) []string {
	w := &warnings{}
	p, at := &s.Spec, field.NewPath("spec")
	if _, has := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]; has {
		w.add("annotation %s is deprecated, please use %s instead", corev1.DeprecatedAnnotationTopologyAwareHints, corev1.AnnotationTopologyMode)
	}
	none := p.Type == corev1.ServiceTypeClusterIP && p.ClusterIP == corev1.ClusterIPNone
	if p.ClusterIP != "" && p.ClusterIP != corev1.ClusterIPNone && p.Type != corev1.ServiceTypeExternalName {
		for i, ip := range p.ClusterIPs {
			w.out = append(w.out, validation.GetWarningsForIP(at.Child("clusterIPs").Index(i), ip)...)
		}
	}
	if none {
		if p.LoadBalancerIP != "" {
			w.add("spec.loadBalancerIP is ignored for headless services")
		}
		if len(p.ExternalIPs) > 0 {
			w.add("spec.externalIPs is ignored for headless services")
		}
		if p.SessionAffinity != corev1.ServiceAffinityNone {
			w.add("spec.SessionAffinity is ignored for headless services")
		}
	}
	for i, ip := range p.ExternalIPs {
		w.out = append(w.out, validation.GetWarningsForIP(at.Child("externalIPs").Index(i), ip)...)
	}
	if len(p.ExternalIPs) > 0 && !none && p.Type != corev1.ServiceTypeExternalName {
		w.add("spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if p.LoadBalancerIP != "" {
		w.out = append(w.out, validation.GetWarningsForIP(at.Child("loadBalancerIP"), p.LoadBalancerIP)...)
	}
	for i, cidr := range p.LoadBalancerSourceRanges {
		w.out = append(w.out, validation.GetWarningsForCIDR(at.Child("loadBalancerSourceRanges").Index(i), cidr)...)
	}
	if p.Type == corev1.ServiceTypeExternalName && len(p.ExternalIPs) > 0 {
		w.add("spec.externalIPs is ignored when spec.type is %q", corev1.ServiceTypeExternalName)
	}
	if p.Type != corev1.ServiceTypeExternalName && p.ExternalName != "" {
		w.add("spec.externalName is ignored when spec.type is not %q", corev1.ServiceTypeExternalName)
	}
	if d := p.TrafficDistribution; d != nil && *d == corev1.ServiceTrafficDistributionPreferClose {
		w.add("spec.trafficDistribution: %q is deprecated; use %q", corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone)
	}
	return w.out
}

func serviceStatusWarnings(_ *kinds.Context, s, _ *corev1.Service) []string {
	var out []string
	for i, in := range s.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			out = append(out, validation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(i), in.IP)...)
		}
	}
	return out
}
