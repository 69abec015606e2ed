package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A Service's type decides which of its fields mean something. What is taken
// from a pool (cluster IPs, node ports) is taken in BeginCreate and BeginUpdate;
// the IPAddress objects that record it are written in the Service's own transaction.

func services() *kinds.Resource {
	pool := &reservations{}
	strategy := common.Typed[corev1.Service, *corev1.Service]{
		Default:          defaultService,
		PrepareForCreate: func(_ *kinds.Context, s *corev1.Service) { s.Status = corev1.ServiceStatus{} },
		PrepareForUpdate: func(_ *kinds.Context, s, old *corev1.Service) {
			s.Status = old.Status
			dropForType(s, old)
		},
		BeginCreate: func(r *kinds.Context, s *corev1.Service) error {
			return (&serviceAllocator{Context: r, pool: pool}).create(s)
		},
		BeginUpdate: func(r *kinds.Context, s, old *corev1.Service) error {
			return (&serviceAllocator{Context: r, pool: pool}).update(s, old)
		},
		Validate:       validateServiceCreate,
		ValidateUpdate: validateServiceUpdate,
		Warnings:       serviceWarnings,
		Canonicalize:   dropOutside,
		FreeUpdate:     true,
		Related:        serviceAddresses,
		ValidateName:   common.NameLabel,
		FieldNames:     []string{"spec.clusterIP", "spec.type"},
		Fields: func(s *corev1.Service) []sqlstore.Pair {
			return common.Pairs("spec.clusterIP", s.Spec.ClusterIP, "spec.type", string(s.Spec.Type))
		},
		ResetFields:         []string{"status"},
		AllowCreateOnUpdate: true,
	}
	status := common.Typed[corev1.Service, *corev1.Service]{
		Default:          defaultService,
		PrepareForUpdate: func(_ *kinds.Context, s, old *corev1.Service) { s.Spec = old.Spec },
		ValidateUpdate:   validateServiceStatus,
		Warnings:         serviceStatusWarnings,
		Fields:           strategy.Fields, FieldNames: strategy.FieldNames,
		ResetFields: []string{"spec"},
	}
	v := common.Version[corev1.Service, corev1.ServiceList](gvk("Service"))
	return single(kinds.Resource{
		Name: "services", Singular: "service", ReturnsDeleted: true, ShortNames: []string{"svc"}, Categories: []string{"all"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/services/specs", StorageVersionHash: "0/CO1lhkEBI=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			{Name: "proxy", GVK: gvk("ServiceProxyOptions"), Verbs: common.ProxyVerbs(), Connect: true},
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultService(s *corev1.Service) {
	p := &s.Spec
	if p.SessionAffinity == "" {
		p.SessionAffinity = corev1.ServiceAffinityNone
	}
	defaultAffinity(p)
	if p.Type == "" {
		p.Type = corev1.ServiceTypeClusterIP
	}
	for i := range p.Ports {
		port := &p.Ports[i]
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}
	if externallyAccessible(s) && p.ExternalTrafficPolicy == "" {
		p.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if p.InternalTrafficPolicy == nil && p.Type != corev1.ServiceTypeExternalName {
		p.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if p.Type != corev1.ServiceTypeLoadBalancer {
		return
	}
	if p.AllocateLoadBalancerNodePorts == nil {
		p.AllocateLoadBalancerNodePorts = new(true)
	}
	for i := range s.Status.LoadBalancer.Ingress {
		if in := &s.Status.LoadBalancer.Ingress[i]; in.IP != "" && in.IPMode == nil {
			in.IPMode = new(corev1.LoadBalancerIPModeVIP)
		}
	}
}

// dropOutside: a Service that is a name outside the cluster routes no traffic within it. What it says about that is
// judged all the same.
func dropOutside(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		s.Spec.InternalTrafficPolicy = nil
	}
}

func defaultAffinity(p *corev1.ServiceSpec) {
	switch p.SessionAffinity {
	case corev1.ServiceAffinityNone:
		p.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		if c := p.SessionAffinityConfig; c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			p.SessionAffinityConfig = &corev1.SessionAffinityConfig{
				ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(corev1.DefaultClientIPServiceAffinitySeconds)},
			}
		}
	}
}

func externallyAccessible(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer || s.Spec.Type == corev1.ServiceTypeNodePort ||
		(s.Spec.Type == corev1.ServiceTypeClusterIP && len(s.Spec.ExternalIPs) > 0)
}

// dropForType clears what a former type needed and the new one does not, when the client only
// sent back what it had read: a value that it changed is its wish, and validation's matter.
func dropForType(s, old *corev1.Service) {
	now, was := &s.Spec, &old.Spec
	if was.Type != corev1.ServiceTypeExternalName && now.Type == corev1.ServiceTypeExternalName {
		if was.ClusterIP == now.ClusterIP && sameAddresses(was.ClusterIPs, now.ClusterIPs) {
			now.ClusterIP, now.ClusterIPs = "", nil
		}
		if common.Equal(was.IPFamilies, now.IPFamilies) {
			now.IPFamilies = nil
		}
		if same(was.IPFamilyPolicy, now.IPFamilyPolicy) {
			now.IPFamilyPolicy = nil
		}
	}
	if hasNodePorts(was.Type) && !hasNodePorts(now.Type) && noNewNodePorts(s, old) {
		for i := range now.Ports {
			now.Ports[i].NodePort = 0
		}
	}
	if needsHealthPort(old) && !needsHealthPort(s) && was.HealthCheckNodePort == now.HealthCheckNodePort {
		now.HealthCheckNodePort = 0
	}
	if was.Type == corev1.ServiceTypeLoadBalancer && now.Type != corev1.ServiceTypeLoadBalancer {
		if same(was.AllocateLoadBalancerNodePorts, now.AllocateLoadBalancerNodePorts) {
			now.AllocateLoadBalancerNodePorts = nil
		}
		if same(was.LoadBalancerClass, now.LoadBalancerClass) {
			now.LoadBalancerClass = nil
		}
	}
	if externallyAccessible(old) && !externallyAccessible(s) && was.ExternalTrafficPolicy == now.ExternalTrafficPolicy {
		now.ExternalTrafficPolicy = ""
	}
	if now.Type != corev1.ServiceTypeLoadBalancer {
		s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
}

// same compares optional values.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func sameAddresses(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func hasNodePorts(t corev1.ServiceType) bool {
	return t == corev1.ServiceTypeNodePort || t == corev1.ServiceTypeLoadBalancer
}

// needsHealthPort: a load balancer asks each node whether it has endpoints of its own.
func needsHealthPort(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func noNewNodePorts(s, old *corev1.Service) bool {
	had := nodePortsOf(old)
	for port := range nodePortsOf(s) {
		if !had[port] {
			return false
		}
	}
	return true
}

func nodePortsOf(s *corev1.Service) map[int32]bool {
	out := map[int32]bool{}
	for i := range s.Spec.Ports {
		if p := s.Spec.Ports[i].NodePort; p != 0 {
			out[p] = true
		}
	}
	return out
}

func headless(s *corev1.Service) bool {
	return len(s.Spec.ClusterIPs) == 1 && s.Spec.ClusterIPs[0] == corev1.ClusterIPNone
}
