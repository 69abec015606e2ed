package core

import (
	"hash/fnv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
)

// What a Service takes from pools.
//
//	create: clusterIPs <- clusterIP, families and policy, addresses, node ports
//	update: what the client left out is what is stored, then the same
//
// An address is taken for good by the IPAddress object that serviceAddresses
// writes in the Service's transaction: it must be new, so of two Services that
// chose the same address one is refused when its proposal is applied. Node
// ports have no such object. Two requests that run at once in this process are
// kept apart by reservations, which also spare a dynamic address that conflict.
//
// Real Kubernetes writes the allocation first and repairs what a crash between
// the two writes leaks; here it is one transaction and nothing leaks.

// reservations are the values that requests have chosen and not yet stored.
type reservations struct {
	mu   sync.Mutex
	held map[string]bool // guarded by mu
}

// take reserves a value, false when another request has it.
func (p *reservations) take(value string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[value] {
		return false
	}
	if p.held == nil {
		p.held = map[string]bool{}
	}
	p.held[value] = true
	return true
}

func (p *reservations) release(value string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, value)
}

// serviceAllocator is one request's view of the pools.
type serviceAllocator struct {
	*kinds.Context
	pool  *reservations
	tried map[int32]bool // node ports that this dry run would have taken
}

// hold reserves a value for as long as the write takes: then it is in the store or was not used.
func (a *serviceAllocator) hold(value string) bool {
	if !a.pool.take(value) {
		return false
	}
	a.Finally(func() { a.pool.release(value) })
	return true
}

func (a *serviceAllocator) create(s *corev1.Service) error {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	if err := a.families(s, nil); err != nil {
		return err
	}
	if err := a.addresses(s); err != nil {
		return err
	}
	if hasNodePorts(s.Spec.Type) {
		if err := a.nodePorts(s); err != nil {
			return err
		}
	}
	if needsHealthPort(s) {
		return a.healthPort(s)
	}
	return nil
}

func (a *serviceAllocator) update(s, old *corev1.Service) error {
	keepAllocated(s, old)
	syncClusterIPs(s, old)
	if err := a.families(s, old); err != nil {
		return err
	}
	if err := a.updateAddresses(s, old); err != nil {
		return err
	}
	if hasNodePorts(s.Spec.Type) {
		if err := a.updateNodePorts(s, old); err != nil {
			return err
		}
	}
	if needsHealthPort(s) && !needsHealthPort(old) {
		return a.healthPort(s)
	}
	return nil
}

// keepAllocated lets a client send again the manifest that it created the Service from.
func keepAllocated(s, old *corev1.Service) {
	if s.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		if s.Spec.ClusterIP == "" {
			s.Spec.ClusterIP = old.Spec.ClusterIP
		}
		if len(s.Spec.ClusterIPs) == 0 && len(old.Spec.ClusterIPs) > 0 {
			s.Spec.ClusterIPs = old.Spec.ClusterIPs
		}
	}
	if takesNodePorts(s) && takesNodePorts(old) {
		keepNodePorts(s, old)
	}
	if needsHealthPort(s) && needsHealthPort(old) && s.Spec.HealthCheckNodePort == 0 {
		s.Spec.HealthCheckNodePort = old.Spec.HealthCheckNodePort
	}
}

func takesNodePorts(s *corev1.Service) bool {
	if s.Spec.Type == corev1.ServiceTypeNodePort {
		return true
	}
	allocate := s.Spec.AllocateLoadBalancerNodePorts
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && (allocate == nil || *allocate)
}

// keepNodePorts gives a port without a node port the one that a port of its name had, unless
// that one moved to another port.
func keepNodePorts(s, old *corev1.Service) {
	had, used := nodePortsOf(old), map[int32]bool{}
	for port := range nodePortsOf(s) {
		used[port] = had[port]
	}
	byName := map[string]int32{}
	for i := range old.Spec.Ports {
		byName[old.Spec.Ports[i].Name] = old.Spec.Ports[i].NodePort
	}
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.NodePort == 0 && !used[byName[p.Name]] {
			p.NodePort = byName[p.Name]
		}
	}
}

// syncClusterIPs guesses what a client meant that changed only one of clusterIP and clusterIPs.
func syncClusterIPs(s, old *corev1.Service) {
	now, was := &s.Spec, &old.Spec
	if len(was.ClusterIPs) > 0 && len(now.ClusterIPs) == 0 && was.ClusterIP == now.ClusterIP {
		now.ClusterIPs = was.ClusterIPs
	}
	if was.ClusterIP == now.ClusterIP || !sameAddresses(was.ClusterIPs, now.ClusterIPs) {
		return
	}
	if was.ClusterIP != "" && now.ClusterIP == "" {
		now.ClusterIPs = nil
	} else {
		now.ClusterIPs = []string{now.ClusterIP}
	}
}

// number draws a number below n from the request's own source, so that deterministic mode repeats it.
func (a *serviceAllocator) number(n uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(a.Random(10)))
	return h.Sum64() % n
}

// invalidService is a refusal with fields, as validation would send it.
func invalidService(s *corev1.Service, all field.ErrorList) error {
	return errors.NewInvalid(schema.GroupKind{Kind: "Service"}, s.Name, all)
}

// serviceAddresses gives the IPAddress objects to write and to delete with a Service.
func serviceAddresses(_ *kinds.Context, s, old *corev1.Service) ([]kinds.Related, error) {
	now, was := addressesOf(s), addressesOf(old)
	var out []kinds.Related
	write := func(ip string, obj *networkingv1.IPAddress) {
		w := kinds.Related{Resource: addressesGR(), Name: ip}
		if obj != nil {
			w.Object, w.New = obj, true
		}
		out = append(out, w)
	}
	for _, ip := range was {
		if !contains(now, ip) {
			write(ip, nil)
		}
	}
	for _, ip := range now {
		if !contains(was, ip) {
			write(ip, addressObject(s, ip))
		}
	}
	return out, nil
}

func addressesGR() schema.GroupResource {
	return schema.GroupResource{Group: "networking.k8s.io", Resource: "ipaddresses"}
}

func addressObject(s *corev1.Service, ip string) *networkingv1.IPAddress {
	obj := &networkingv1.IPAddress{}
	obj.Name = ip
	obj.Labels = map[string]string{
		networkingv1.LabelIPAddressFamily: string(familyOf(ip)),
		networkingv1.LabelManagedBy:       "ipallocator.k8s.io",
	}
	obj.Spec.ParentRef = &networkingv1.ParentReference{Resource: "services", Namespace: s.Namespace, Name: s.Name}
	return obj
}

func addressesOf(s *corev1.Service) []string {
	if s == nil || s.Spec.Type == corev1.ServiceTypeExternalName || headless(s) {
		return nil
	}
	return s.Spec.ClusterIPs
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
