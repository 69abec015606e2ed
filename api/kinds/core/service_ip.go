package core

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Addresses and their families. The families that a Service may have are those
// of the cluster's service ranges; the first range's family is the default one.
// A dynamic address comes from the upper part of its range, the first
// 16 to 256 addresses are used last: they are left to those who ask for one.

func familyOf(ip string) corev1.IPFamily {
	if addr, err := netip.ParseAddr(ip); err == nil && addr.Is6() && !addr.Is4In6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// ranges are the service ranges by family: the flag's, then those of ready ServiceCIDR objects.
func (a *serviceAllocator) ranges() (map[corev1.IPFamily][]netip.Prefix, corev1.IPFamily, error) {
	out := map[corev1.IPFamily][]netip.Prefix{}
	var first corev1.IPFamily
	add := func(cidr string) {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return
		}
		family := familyOf(p.Addr().String())
		if first == "" {
			first = family
		}
		if !slices.Contains(out[family], p.Masked()) {
			out[family] = append(out[family], p.Masked())
		}
	}
	for _, cidr := range a.Cluster.ServiceCIDRs {
		add(cidr)
	}
	list, err := a.Reader.List(a.Ctx, schema.GroupResource{Group: "networking.k8s.io", Resource: "servicecidrs"}, "", nil)
	if err != nil && !errors.IsNotFound(err) {
		return nil, "", fmt.Errorf("list servicecidrs: %w", err)
	}
	for _, obj := range list {
		c := obj.(*networkingv1.ServiceCIDR)
		if !c.DeletionTimestamp.IsZero() || !cidrReady(c) {
			continue
		}
		for _, cidr := range c.Spec.CIDRs {
			if p, err := netip.ParsePrefix(cidr); err == nil && len(out[familyOf(p.Addr().String())]) > 0 {
				add(cidr)
			}
		}
	}
	return out, first, nil
}

func cidrReady(c *networkingv1.ServiceCIDR) bool {
	for _, cond := range c.Status.Conditions {
		if cond.Type == networkingv1.ServiceCIDRConditionReady {
			return cond.Status == metav1.ConditionTrue
		}
	}
	return false
}

func policyOf(s *corev1.Service) corev1.IPFamilyPolicy {
	if s.Spec.IPFamilyPolicy == nil {
		return ""
	}
	return *s.Spec.IPFamilyPolicy
}

// keepsDualStack: an unchanged PreferDualStack Service is left as it is, whatever ranges the cluster has now.
func keepsDualStack(s, old *corev1.Service) bool {
	return old != nil && s.Spec.IPFamilyPolicy != nil && s.Spec.Type == old.Spec.Type && s.Spec.Type != corev1.ServiceTypeExternalName &&
		policyOf(s) == corev1.IPFamilyPolicyPreferDualStack &&
		(old.Spec.IPFamilyPolicy == nil || policyOf(old) == corev1.IPFamilyPolicyPreferDualStack) &&
		sameAddresses(s.Spec.ClusterIPs, old.Spec.ClusterIPs) && slices.Equal(s.Spec.IPFamilies, old.Spec.IPFamilies)
}

// families settles ipFamilyPolicy and ipFamilies.
func (a *serviceAllocator) families(s, old *corev1.Service) error {
	p := &s.Spec
	if p.Type == corev1.ServiceTypeExternalName || keepsDualStack(s, old) {
		return nil
	}
	ranges, first, err := a.ranges()
	if err != nil {
		return err
	}
	selectorless := p.ClusterIP == corev1.ClusterIPNone && len(p.Selector) == 0
	if p.IPFamilyPolicy == nil {
		switch {
		case old != nil && old.Spec.IPFamilyPolicy != nil:
			p.IPFamilyPolicy = old.Spec.IPFamilyPolicy
		case selectorless:
			p.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack)
		default:
			p.IPFamilyPolicy = new(corev1.IPFamilyPolicySingleStack)
		}
	}
	if all := validateClusterIPs(s, old); len(all) > 0 {
		return invalidService(s, all)
	}
	all := shrinkFamilies(s, old)
	all = append(all, singleStackErrors(s)...)
	all = append(all, inferFamilies(s, ranges)...)
	if len(all) > 0 {
		return invalidService(s, all)
	}
	if selectorless {
		// Its endpoints are anyone's, so it may have families that the cluster has not.
		if len(p.IPFamilies) == 0 {
			p.IPFamilies = []corev1.IPFamily{first}
		}
		if len(p.IPFamilies) < 2 && policyOf(s) != corev1.IPFamilyPolicySingleStack {
			p.IPFamilies = append(p.IPFamilies, otherFamily(p.IPFamilies[0]))
		}
		return nil
	}
	if all := unservedFamilies(s, ranges); len(all) > 0 {
		return invalidService(s, all)
	}
	if len(p.IPFamilies) == 0 {
		p.IPFamilies = []corev1.IPFamily{first}
	}
	if policyOf(s) != corev1.IPFamilyPolicySingleStack && len(p.IPFamilies) == 1 && len(ranges) == 2 {
		p.IPFamilies = append(p.IPFamilies, otherFamily(p.IPFamilies[0]))
	}
	return nil
}

func otherFamily(f corev1.IPFamily) corev1.IPFamily {
	if f == corev1.IPv4Protocol {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// shrinkFamilies: SingleStack releases the secondary address; taking it away without saying so is refused.
func shrinkFamilies(s, old *corev1.Service) field.ErrorList {
	if old == nil {
		return nil
	}
	p, was := &s.Spec, &old.Spec
	if policyOf(s) == corev1.IPFamilyPolicySingleStack {
		if sameAddresses(p.ClusterIPs, was.ClusterIPs) && len(p.ClusterIPs) > 1 {
			p.ClusterIPs = p.ClusterIPs[:1]
		}
		if slices.Equal(p.IPFamilies, was.IPFamilies) && len(p.IPFamilies) > 1 {
			p.IPFamilies = p.IPFamilies[:1]
		}
		return nil
	}
	var all field.ErrorList
	path := field.NewPath("spec", "ipFamilyPolicy")
	if len(p.ClusterIPs) != 0 && len(p.ClusterIPs) < len(was.ClusterIPs) {
		all = append(all, field.Invalid(path, p.IPFamilyPolicy, "must be 'SingleStack' to release the secondary cluster IP"))
	}
	if len(p.IPFamilies) != 0 && len(p.IPFamilies) < len(was.IPFamilies) {
		all = append(all, field.Invalid(path, p.IPFamilyPolicy, "must be 'SingleStack' to release the secondary IP family"))
	}
	return all
}

func singleStackErrors(s *corev1.Service) field.ErrorList {
	if policyOf(s) != corev1.IPFamilyPolicySingleStack {
		return nil
	}
	var all field.ErrorList
	path, policy := field.NewPath("spec", "ipFamilyPolicy"), s.Spec.IPFamilyPolicy
	if len(s.Spec.ClusterIPs) == 2 {
		all = append(all, field.Invalid(path, policy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified"))
	}
	if len(s.Spec.IPFamilies) == 2 {
		all = append(all, field.Invalid(path, policy, "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified"))
	}
	return all
}

// inferFamilies adds the family of each address that has none named.
func inferFamilies(s *corev1.Service, ranges map[corev1.IPFamily][]netip.Prefix) field.ErrorList {
	var all field.ErrorList
	for i, ip := range s.Spec.ClusterIPs {
		if ip == corev1.ClusterIPNone {
			break
		}
		if i < len(s.Spec.IPFamilies) {
			continue
		}
		family := familyOf(ip)
		if len(ranges[family]) == 0 {
			all = append(all, field.Invalid(field.NewPath("spec", "clusterIPs").Index(i), s.Spec.ClusterIPs,
				fmt.Sprintf("%s is not configured on this cluster", family)))
			continue
		}
		s.Spec.IPFamilies = append(s.Spec.IPFamilies, family)
	}
	return all
}

func unservedFamilies(s *corev1.Service, ranges map[corev1.IPFamily][]netip.Prefix) field.ErrorList {
	var all field.ErrorList
	if policyOf(s) == corev1.IPFamilyPolicyRequireDualStack && len(ranges) < 2 {
		all = append(all, field.Invalid(field.NewPath("spec", "ipFamilyPolicy"), s.Spec.IPFamilyPolicy, "this cluster is not configured for dual-stack services"))
	}
	for i, family := range s.Spec.IPFamilies {
		if len(ranges[family]) == 0 {
			all = append(all, field.Invalid(field.NewPath("spec", "ipFamilies").Index(i), family, "not configured on this cluster"))
		}
	}
	return all
}

// addresses gives each family of a Service its address.
func (a *serviceAllocator) addresses(s *corev1.Service) error {
	if s.Spec.Type == corev1.ServiceTypeExternalName || (len(s.Spec.ClusterIPs) > 0 && s.Spec.ClusterIPs[0] == corev1.ClusterIPNone) {
		return nil
	}
	for i := range s.Spec.IPFamilies {
		if i >= len(s.Spec.ClusterIPs) {
			s.Spec.ClusterIPs = append(s.Spec.ClusterIPs, "")
		}
	}
	for i, family := range s.Spec.IPFamilies {
		if err := a.address(s, family, i); err != nil {
			return err
		}
	}
	if len(s.Spec.ClusterIPs) > 0 {
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	}
	return nil
}

func (a *serviceAllocator) updateAddresses(s, old *corev1.Service) error {
	switch now, was := s.Spec, old.Spec; {
	case keepsDualStack(s, old):
		return nil
	case was.Type == corev1.ServiceTypeExternalName && now.Type != corev1.ServiceTypeExternalName:
		return a.addresses(s)
	case headless(old), now.Type == corev1.ServiceTypeExternalName:
		return nil
	case len(was.IPFamilies) == 1 && len(now.IPFamilies) == 2:
		if len(now.ClusterIPs) < 2 {
			// Clipped, so that the stored object's array is not written to.
			s.Spec.ClusterIPs = append(slices.Clip(now.ClusterIPs), "")
		}
		return a.address(s, now.IPFamilies[1], 1)
	}
	return nil
}

// address settles clusterIPs[i]: takes the one asked for, or finds a free one.
func (a *serviceAllocator) address(s *corev1.Service, family corev1.IPFamily, i int) error {
	ranges, _, err := a.ranges()
	if err != nil {
		return err
	}
	path := field.NewPath("spec", "clusterIPs")
	if asked := s.Spec.ClusterIPs[i]; asked != "" {
		if reason := a.addressRefused(asked, ranges[family]); reason != "" {
			return invalidService(s, field.ErrorList{field.Invalid(path, s.Spec.ClusterIPs, fmt.Sprintf("failed to allocate IP %v: %v", asked, reason))})
		}
		return nil
	}
	for _, prefix := range ranges[family] {
		if a.DryRun {
			// Nothing is kept, so nothing is looked for: upstream answers the network's own address too.
			s.Spec.ClusterIPs[i] = prefix.Addr().String()
			return nil
		}
		if ip, found := a.freeAddress(prefix); found {
			s.Spec.ClusterIPs[i] = ip
			return nil
		}
	}
	return errors.NewInternalError(fmt.Errorf("failed to allocate a serviceIP for Service %q: %v", s.Name, rangeIsFull))
}

// addressRefused says why a Service cannot have the address that it asks for.
func (a *serviceAllocator) addressRefused(ip string, ranges []netip.Prefix) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil {
		return err.Error()
	}
	for _, prefix := range ranges {
		first, last := usable(prefix)
		outside := addr.Less(first) || last.Less(addr)
		if outside && !a.DryRun {
			continue
		}
		if outside {
			return fmt.Sprintf("the provided IP (%v) is not in the valid range. The range of valid IPs is %s", addr, prefix)
		}
		if !a.DryRun && !a.takeAddress(addr) {
			return "provided IP is already allocated"
		}
		return ""
	}
	return "the provided network does not match the current range"
}

// takeAddress reserves an address that no IPAddress object holds.
func (a *serviceAllocator) takeAddress(addr netip.Addr) bool {
	if _, err := a.Reader.Get(a.Ctx, addressesGR(), "", addr.String()); err == nil {
		return false
	}
	return a.hold("ip/" + addr.String())
}

// usable bounds the addresses that are given out: not the network's own, nor the broadcast address.
func usable(p netip.Prefix) (first, last netip.Addr) {
	first = p.Addr().Next()
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ = netip.AddrFromSlice(bytes)
	if p.Addr().Is4() {
		last = last.Prev()
	}
	return first, last
}

func (a *serviceAllocator) freeAddress(p netip.Prefix) (string, bool) {
	bits := min(p.Addr().BitLen()-p.Bits(), 62)
	size := uint64(1)<<bits - 1
	if p.Addr().Is4() {
		size-- // the broadcast address
	}
	static := staticAddresses(size)
	for _, part := range [][2]uint64{{static, size}, {0, static}} {
		n := part[1] - part[0]
		if n == 0 || part[1] < part[0] {
			continue
		}
		start := a.number(n)
		for i := range n {
			addr := addOffset(p.Addr(), 1+part[0]+(start+i)%n)
			if a.takeAddress(addr) {
				return addr.String(), true
			}
		}
	}
	return "", false
}

func staticAddresses(size uint64) uint64 {
	if size <= 16 {
		return 0
	}
	return max(16, min(size/16, 256))
}

func addOffset(base netip.Addr, offset uint64) netip.Addr {
	bytes := base.AsSlice()
	for i := len(bytes) - 1; i >= 0 && offset > 0; i-- {
		sum := uint64(bytes[i]) + offset&0xff
		bytes[i] = byte(sum)
		offset = offset>>8 + sum>>8
	}
	out, _ := netip.AddrFromSlice(bytes)
	return out
}
