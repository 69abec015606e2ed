package core

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a Service. They run after allocation, so addresses and node ports are set where they have to be.

const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"

func validateServiceCreate(_ *kinds.Context, s *corev1.Service) field.ErrorList {
	return validateService(s, nil)
}

func validateService(s, old *corev1.Service) field.ErrorList {
	var f faults
	at, p := field.NewPath("spec"), &s.Spec
	if old == nil {
		old = &corev1.Service{}
	}
	hints, hasHints := s.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, hasMode := s.Annotations[corev1.AnnotationTopologyMode]
	if hasHints && hasMode && hints != mode {
		f.invalid(field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode), mode,
			fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))
	}
	if len(p.Ports) == 0 && !headless(s) && p.Type != corev1.ServiceTypeExternalName {
		f.required(at.Child("ports"), "")
	}
	f.serviceType(s, at)
	names := sets.New[string]()
	for i := range p.Ports {
		f.servicePort(&p.Ports[i], len(p.Ports) > 1, names, at.Child("ports").Index(i))
	}
	f.add(common.Labels(p.Selector, at.Child("selector")))
	f.affinity(p, at)
	f.add(validateClusterIPs(s, old))
	for i, ip := range p.ExternalIPs {
		at := at.Child("externalIPs").Index(i)
		if bad := validation.IsValidIPForLegacyField(at, ip, true, old.Spec.ExternalIPs); len(bad) > 0 {
			f.add(bad)
		} else {
			f.add(endpointIP(ip, at))
		}
	}
	needed(&f, at.Child("type"), p.Type, corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)
	f.nodePorts(p, at.Child("ports"))
	f.sourceRanges(s, old, at.Child("LoadBalancerSourceRanges"))
	if p.AllocateLoadBalancerNodePorts != nil && p.Type != corev1.ServiceTypeLoadBalancer {
		f.forbidden(at.Child("allocateLoadBalancerNodePorts"), onlyLoadBalancer)
	}
	f.loadBalancerClass(p, at.Child("loadBalancerClass"))
	f.traffic(s, at)
	return f.all
}

func (f *faults) serviceType(s *corev1.Service, at *field.Path) {
	p := &s.Spec
	switch p.Type {
	case corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort:
		if headless(s) {
			f.invalid(at.Child("clusterIPs").Index(0), p.ClusterIPs[0], fmt.Sprintf("may not be set to 'None' for %s services", p.Type))
		}
	case corev1.ServiceTypeExternalName:
		const detail = "may not be set for ExternalName services"
		if len(p.ClusterIPs) > 0 {
			f.forbidden(at.Child("clusterIPs"), detail)
		}
		if len(p.IPFamilies) > 0 {
			f.forbidden(at.Child("ipFamilies"), detail)
		}
		if p.IPFamilyPolicy != nil {
			f.forbidden(at.Child("ipFamilyPolicy"), detail)
		}
		if name := strings.TrimSuffix(p.ExternalName, "."); name != "" {
			f.add(common.DNSSubdomain(name, at.Child("externalName")))
		} else {
			f.required(at.Child("externalName"), "")
		}
	}
}

func (f *faults) servicePort(p *corev1.ServicePort, several bool, names sets.Set[string], at *field.Path) {
	if p.Name != "" {
		f.add(common.DNSLabel(p.Name, at.Child("name")))
		if names.Has(p.Name) {
			f.duplicate(at.Child("name"), p.Name)
		}
		names.Insert(p.Name)
	} else if several {
		f.required(at.Child("name"), "")
	}
	f.invalids(at.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))
	needed(f, at.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	f.portOrName(p.TargetPort, at.Child("targetPort"))
	if p.AppProtocol != nil {
		f.add(common.QualifiedName(*p.AppProtocol, at.Child("appProtocol")))
	}
}

// maxAffinitySeconds is a day.
const maxAffinitySeconds = 86400

func (f *faults) affinity(p *corev1.ServiceSpec, at *field.Path) {
	needed(f, at.Child("sessionAffinity"), p.SessionAffinity, corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)
	at = at.Child("sessionAffinityConfig")
	switch c := p.SessionAffinityConfig; p.SessionAffinity {
	case corev1.ServiceAffinityNone:
		if c != nil {
			f.forbidden(at, "must not be set when session affinity is None")
		}
	case corev1.ServiceAffinityClientIP:
		if c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			if n := *c.ClientIP.TimeoutSeconds; n <= 0 || n > maxAffinitySeconds {
				f.invalid(at.Child("clientIP", "timeoutSeconds"), n, fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))
			}
		}
	}
}

func (f *faults) nodePorts(p *corev1.ServiceSpec, at *field.Path) {
	if p.Type == corev1.ServiceTypeClusterIP {
		for i := range p.Ports {
			if p.Ports[i].NodePort != 0 {
				f.forbidden(at.Index(i).Child("nodePort"), "may not be used when `type` is 'ClusterIP'")
			}
		}
	}
	type use struct {
		protocol corev1.Protocol
		number   int32
	}
	nodes, ports := sets.New[use](), sets.New[use]()
	for i, port := range p.Ports {
		if port.NodePort == 0 {
			continue
		}
		if u := (use{port.Protocol, port.NodePort}); nodes.Has(u) {
			f.duplicate(at.Index(i).Child("nodePort"), port.NodePort)
		} else {
			nodes.Insert(u)
		}
	}
	for i, port := range p.Ports {
		if u := (use{port.Protocol, port.Port}); ports.Has(u) {
			f.duplicate(at.Index(i), common.Internal(corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		} else {
			ports.Insert(u)
		}
	}
}

func (f *faults) sourceRanges(s, old *corev1.Service, at *field.Path) {
	const key = corev1.AnnotationLoadBalancerSourceRangesKey
	balanced := s.Spec.Type == corev1.ServiceTypeLoadBalancer
	if len(s.Spec.LoadBalancerSourceRanges) > 0 {
		if !balanced {
			f.forbidden(at, onlyLoadBalancer)
		}
		var had []string
		for _, cidr := range old.Spec.LoadBalancerSourceRanges {
			had = append(had, strings.TrimSpace(cidr))
		}
		for i, cidr := range s.Spec.LoadBalancerSourceRanges {
			f.add(validation.IsValidCIDRForLegacyField(at.Index(i), strings.TrimSpace(cidr), true, had))
		}
		return
	}
	text, set := s.Annotations[key]
	if !set {
		return
	}
	at = field.NewPath("metadata", "annotations").Key(key)
	if !balanced {
		f.forbidden(at, onlyLoadBalancer)
	}
	if text = strings.TrimSpace(text); text == "" || old.Annotations[key] == s.Annotations[key] {
		return
	}
	for _, cidr := range strings.Split(text, ",") {
		f.add(validation.IsValidCIDRForLegacyField(at, strings.TrimSpace(cidr), true, nil))
	}
}

func (f *faults) loadBalancerClass(p *corev1.ServiceSpec, at *field.Path) {
	switch {
	case p.LoadBalancerClass == nil:
	case p.Type != corev1.ServiceTypeLoadBalancer:
		f.forbidden(at, onlyLoadBalancer)
	default:
		f.add(common.QualifiedName(*p.LoadBalancerClass, at))
	}
}

func (f *faults) traffic(s *corev1.Service, at *field.Path) {
	p := &s.Spec
	external := at.Child("externalTrafficPolicy")
	if externallyAccessible(s) {
		needed(f, external, p.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)
	} else if p.ExternalTrafficPolicy != "" {
		f.invalid(external, p.ExternalTrafficPolicy, "may only be set for externally-accessible services")
	}
	health := at.Child("healthCheckNodePort")
	switch {
	case !needsHealthPort(s):
		if p.HealthCheckNodePort != 0 {
			f.invalid(health, p.HealthCheckNodePort, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")
		}
	case p.HealthCheckNodePort == 0:
		f.required(health, "")
	default:
		f.invalids(health, p.HealthCheckNodePort, validation.IsValidPortNum(int(p.HealthCheckNodePort)))
	}
	if i := p.InternalTrafficPolicy; i != nil {
		oneOf(f, at.Child("internalTrafficPolicy"), *i, corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)
	}
	if d := p.TrafficDistribution; d != nil {
		oneOf(f, at.Child("trafficDistribution"), *d, corev1.ServiceTrafficDistributionPreferClose,
			corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode)
	}
}

// validateClusterIPs checks the fields about addresses among each other; allocation asks it first.
func validateClusterIPs(s, old *corev1.Service) field.ErrorList {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	var f faults
	p, at := &s.Spec, field.NewPath("spec")
	ips, families := at.Child("clusterIPs"), at.Child("ipFamilies")
	switch {
	case p.ClusterIP == "" && len(p.ClusterIPs) > 0:
		f.invalid(ips, p.ClusterIPs, "must be empty when `clusterIP` is not specified")
	case p.ClusterIP != "" && len(p.ClusterIPs) == 0:
		f.required(ips, "")
	case p.ClusterIP != "" && p.ClusterIPs[0] != p.ClusterIP:
		f.invalid(ips, p.ClusterIPs, "first value must match `clusterIP`")
	}
	for i, family := range p.IPFamilies {
		oneOf(&f, families.Index(i), family, corev1.IPv4Protocol, corev1.IPv6Protocol)
		if slices.Contains(p.IPFamilies[:i], family) {
			f.duplicate(families.Index(i), family)
		}
	}
	if p.IPFamilyPolicy != nil {
		oneOf(&f, at.Child("ipFamilyPolicy"), *p.IPFamilyPolicy, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack, corev1.IPFamilyPolicySingleStack)
	}
	var had []string
	if old != nil {
		had = old.Spec.ClusterIPs
	}
	malformed := false
	for i, ip := range p.ClusterIPs {
		if i == 0 && ip == corev1.ClusterIPNone {
			if len(p.ClusterIPs) > 1 {
				malformed = true
				f.invalid(ips, p.ClusterIPs, "'None' must be the first and only value")
			}
			continue
		}
		bad := validation.IsValidIPForLegacyField(ips.Index(i), ip, true, had)
		malformed = malformed || len(bad) > 0
		f.add(bad)
	}
	if len(p.ClusterIPs) > 2 {
		f.invalid(ips, p.ClusterIPs, "may only hold up to 2 values")
	}
	if malformed {
		return f.all
	}
	if len(p.ClusterIPs) > 1 && !oneEach(p.ClusterIPs) {
		f.invalid(ips, p.ClusterIPs, "may specify no more than one IP for each IP family")
	}
	if !headless(s) {
		f.expectedFamilies(p, ips)
	}
	return f.all
}

func oneEach(ips []string) bool {
	seen := sets.New[corev1.IPFamily]()
	for _, ip := range ips {
		if _, err := netip.ParseAddr(ip); err != nil {
			return false
		}
		seen.Insert(familyOf(ip))
	}
	return seen.Len() == 2
}

func (f *faults) expectedFamilies(p *corev1.ServiceSpec, at *field.Path) {
	for i, ip := range p.ClusterIPs {
		if i < len(p.IPFamilies) && familyOf(ip) != p.IPFamilies[i] && (p.IPFamilies[i] == corev1.IPv4Protocol || p.IPFamilies[i] == corev1.IPv6Protocol) {
			f.invalid(at.Index(i), ip, fmt.Sprintf("expected an %s value as indicated by `ipFamilies[%v]`", p.IPFamilies[i], i))
		}
	}
}
