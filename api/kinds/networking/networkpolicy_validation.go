// What a NetworkPolicy must look like. An address that was stored under looser
// rules may stay in an update.
package networking

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds/common"
)

// strictIPs: addresses with leading zeros or IPv4 mapped into IPv6 are refused in new objects.
const strictIPs = true

// policyOptions is what the old object excuses.
type policyOptions struct {
	looseSelectors bool
	oldCIDRs       []string
}

func policyOptionsFor(old *networkingv1.NetworkPolicy) policyOptions {
	o := policyOptions{looseSelectors: len(common.LabelSelector(&old.Spec.PodSelector, nil)) > 0}
	eachIPBlock(&old.Spec, func(b *networkingv1.IPBlock, _ *field.Path) {
		o.oldCIDRs = append(append(o.oldCIDRs, b.CIDR), b.Except...)
	})
	return o
}

// eachIPBlock visits the address blocks of all rules, ingress first.
func eachIPBlock(spec *networkingv1.NetworkPolicySpec, visit func(*networkingv1.IPBlock, *field.Path)) {
	peers := func(peers []networkingv1.NetworkPolicyPeer, path *field.Path) {
		for i := range peers {
			if b := peers[i].IPBlock; b != nil {
				visit(b, path.Index(i).Child("ipBlock"))
			}
		}
	}
	path := field.NewPath("spec")
	for i := range spec.Ingress {
		peers(spec.Ingress[i].From, path.Child("ingress").Index(i).Child("from"))
	}
	for i := range spec.Egress {
		peers(spec.Egress[i].To, path.Child("egress").Index(i).Child("to"))
	}
}

func policyWarnings(obj *networkingv1.NetworkPolicy) []string {
	var out []string
	eachIPBlock(&obj.Spec, func(b *networkingv1.IPBlock, path *field.Path) {
		out = append(out, validation.GetWarningsForCIDR(path.Child("cidr"), b.CIDR)...)
		for i, e := range b.Except {
			out = append(out, validation.GetWarningsForCIDR(path.Child("except").Index(i), e)...)
		}
	})
	return out
}

func validatePolicy(spec *networkingv1.NetworkPolicySpec, o policyOptions) field.ErrorList {
	path := field.NewPath("spec")
	all := o.selector(&spec.PodSelector, path.Child("podSelector"))
	rule := func(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, path *field.Path, side string) {
		for i := range ports {
			all = append(all, validatePolicyPort(&ports[i], path.Child("ports").Index(i))...)
		}
		for i := range peers {
			all = append(all, o.validatePeer(&peers[i], path.Child(side).Index(i))...)
		}
	}
	for i, r := range spec.Ingress {
		rule(r.Ports, r.From, path.Child("ingress").Index(i), "from")
	}
	for i, r := range spec.Egress {
		rule(r.Ports, r.To, path.Child("egress").Index(i), "to")
	}
	types := path.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		return append(all, field.Invalid(types, &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, t := range spec.PolicyTypes {
		if t != networkingv1.PolicyTypeIngress && t != networkingv1.PolicyTypeEgress {
			all = append(all, field.NotSupported(types.Index(i), t,
				[]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}))
		}
	}
	return all
}

// declaredBlocks: an address block has an address, which upstream declares and so tells last.
func declaredBlocks(spec *networkingv1.NetworkPolicySpec) (all field.ErrorList) {
	eachIPBlock(spec, func(b *networkingv1.IPBlock, path *field.Path) {
		if b.CIDR == "" {
			all = append(all, field.Required(path.Child("cidr"), ""))
		}
	})
	return all
}

func (o policyOptions) selector(s *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: o.looseSelectors}, path)
}

func validatePolicyPort(p *networkingv1.NetworkPolicyPort, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if p.Protocol != nil && *p.Protocol != corev1.ProtocolTCP && *p.Protocol != corev1.ProtocolUDP && *p.Protocol != corev1.ProtocolSCTP {
		all = append(all, field.NotSupported(path.Child("protocol"), *p.Protocol,
			[]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}))
	}
	end := path.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			all = append(all, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type == intstr.Int:
		all = append(all, common.Invalid(validation.IsValidPortNum(int(p.Port.IntVal)), p.Port.IntVal, path.Child("port"))...)
		if p.EndPort == nil {
			break
		}
		if *p.EndPort < p.Port.IntVal {
			all = append(all, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
		}
		all = append(all, common.Invalid(validation.IsValidPortNum(int(*p.EndPort)), *p.EndPort, end)...)
	default:
		if p.EndPort != nil {
			all = append(all, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		all = append(all, common.Invalid(validation.IsValidPortName(p.Port.StrVal), p.Port.StrVal, path.Child("port"))...)
	}
	return all
}

func (o policyOptions) validatePeer(p *networkingv1.NetworkPolicyPeer, path *field.Path) field.ErrorList {
	var all field.ErrorList
	n := 0
	if p.PodSelector != nil {
		n++
		all = append(all, o.selector(p.PodSelector, path.Child("podSelector"))...)
	}
	if p.NamespaceSelector != nil {
		n++
		all = append(all, o.selector(p.NamespaceSelector, path.Child("namespaceSelector"))...)
	}
	if p.IPBlock != nil {
		n++
		all = append(all, o.validateIPBlock(p.IPBlock, path.Child("ipBlock"))...)
	}
	if n == 0 {
		all = append(all, field.Required(path, "must specify a peer"))
	} else if n > 1 && p.IPBlock != nil {
		all = append(all, field.Forbidden(path, "may not specify both ipBlock and another peer"))
	}
	return all
}

func (o policyOptions) validateIPBlock(b *networkingv1.IPBlock, path *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "")}
	}
	all := validation.IsValidCIDRForLegacyField(path.Child("cidr"), b.CIDR, strictIPs, o.oldCIDRs)
	_, outer, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return all
	}
	for i, text := range b.Except {
		at := path.Child("except").Index(i)
		all = append(all, validation.IsValidCIDRForLegacyField(at, text, strictIPs, o.oldCIDRs)...)
		_, inner, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		outerLen, _ := outer.Mask.Size()
		innerLen, _ := inner.Mask.Size()
		if !outer.Contains(inner.IP) || outerLen >= innerLen {
			all = append(all, field.Invalid(at, text, "must be a strict subset of `cidr`"))
		}
	}
	return all
}
