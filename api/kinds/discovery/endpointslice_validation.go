// What an EndpointSlice must look like.
package discovery

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds/common"
)

const (
	maxTopologyLabels = 16
	maxAddresses      = 100
	maxPorts          = 20000
	maxEndpoints      = 1000
	maxHints          = 8
)

// validateSlice judges a slice; old is nil for a new one. Endpoints that did not change are not judged again,
// since older servers accepted more.
func validateSlice(obj, old *discoveryv1.EndpointSlice) field.ErrorList {
	kind, ports, endpoints := field.NewPath("addressType"), field.NewPath("ports"), field.NewPath("endpoints")
	all := addressType(obj, kind)
	all = append(all, validatePorts(obj.Ports, ports)...)
	if old != nil && common.Equal(old.Endpoints, obj.Endpoints) {
		return common.Declared(all, declaredType(obj, old, kind))
	}
	all = append(all, validateEndpoints(obj.Endpoints, obj.AddressType, endpoints)...)
	declared := declaredType(obj, old, kind)
	for i, e := range obj.Endpoints {
		declared = append(declared, declaredAddresses(e.Addresses, endpoints.Index(i).Child("addresses"))...)
	}
	return common.Declared(all, declared)
}

func addressType(obj *discoveryv1.EndpointSlice, path *field.Path) field.ErrorList {
	return common.OneOf(obj.AddressType, path, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
}

// declaredType: the type may not change, and then nothing more is said of it but that it is missing.
func declaredType(obj, old *discoveryv1.EndpointSlice, path *field.Path) field.ErrorList {
	if old == nil {
		return addressType(obj, path)
	}
	fixed := common.Frozen(obj.AddressType, old.AddressType, path)
	if len(fixed) > 0 && obj.AddressType == "" {
		return append(addressType(obj, path), fixed...)
	}
	return fixed
}

func declaredAddresses(addresses []string, path *field.Path) field.ErrorList {
	if len(addresses) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	return common.AtMost(addresses, maxAddresses, path)
}

func validateEndpoints(endpoints []discoveryv1.Endpoint, t discoveryv1.AddressType, path *field.Path) field.ErrorList {
	if len(endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(endpoints), maxEndpoints)}
	}
	var all field.ErrorList
	for i := range endpoints {
		e, at := &endpoints[i], path.Index(i)
		for j, a := range e.Addresses {
			all = append(all, validateAddress(a, t, at.Child("addresses"), j)...)
		}
		all = append(all, validateEndpoint(e, at)...)
	}
	return all
}

func validateAddress(a string, t discoveryv1.AddressType, addresses *field.Path, i int) field.ErrorList {
	at := addresses.Index(i)
	var all field.ErrorList
	var family string
	switch t {
	case discoveryv1.AddressTypeIPv4:
		if all = validation.IsValidIPForLegacyField(at, a, true, nil); len(all) > 0 {
			return all
		}
		if !netutils.IsIPv4String(a) {
			family = "must be an IPv4 address"
		}
	case discoveryv1.AddressTypeIPv6:
		if all = validation.IsValidIP(at, a); len(all) > 0 {
			return all
		}
		if !netutils.IsIPv6String(a) {
			family = "must be an IPv6 address"
		}
	case discoveryv1.AddressTypeFQDN:
		return validation.IsFullyQualifiedDomainName(at, a)
	default:
		return nil
	}
	if family != "" {
		all = append(all, field.Invalid(addresses, a, family))
	}
	return append(all, validateReachable(a, at)...)
}

// validateReachable refuses addresses that mean another host on every host.
func validateReachable(a string, path *field.Path) field.ErrorList {
	ip := netutils.ParseIPSloppy(a)
	var all field.ErrorList
	refuse := func(wrong bool, message string) {
		if wrong {
			all = append(all, field.Invalid(path, a, message))
		}
	}
	refuse(ip.IsUnspecified(), fmt.Sprintf("may not be unspecified (%v)", a))
	refuse(ip.IsLoopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	refuse(ip.IsLinkLocalUnicast(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	refuse(ip.IsLinkLocalMulticast(), "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	return all
}

func validateEndpoint(e *discoveryv1.Endpoint, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if e.NodeName != nil {
		all = append(all, nodeName(*e.NodeName, path.Child("nodeName"))...)
	}
	topology := path.Child("deprecatedTopology")
	if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
		all = append(all, field.TooMany(topology, n, maxTopologyLabels))
	}
	all = append(all, common.Labels(e.DeprecatedTopology, topology)...)
	if e.Hostname != nil {
		all = append(all, common.DNSLabel(*e.Hostname, path.Child("hostname"))...)
	}
	if e.Hints != nil {
		all = append(all, validateHints(e.Hints, path.Child("hints"))...)
	}
	return all
}

func nodeName(name string, path *field.Path) field.ErrorList {
	return common.Invalid(apivalidation.NameIsDNSSubdomain(name, false), name, path)
}

func validateHints(h *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	zones, nodes := path.Child("forZones"), path.Child("forNodes")
	if n := len(h.ForZones); n > maxHints {
		return field.ErrorList{field.TooMany(zones, n, maxHints)}
	}
	var all field.ErrorList
	seen := map[string]bool{}
	for i, z := range h.ForZones {
		at := zones.Index(i).Child("name")
		if seen[z.Name] {
			all = append(all, field.Duplicate(at, z.Name))
		}
		seen[z.Name] = true
		all = append(all, common.Invalid(validation.IsValidLabelValue(z.Name), z.Name, at)...)
	}
	if n := len(h.ForNodes); n > maxHints {
		return append(all, field.TooMany(nodes, n, maxHints))
	}
	seen = map[string]bool{}
	for i, n := range h.ForNodes {
		at := nodes.Index(i).Child("name")
		if seen[n.Name] {
			all = append(all, field.Duplicate(at, n.Name))
		}
		seen[n.Name] = true
		all = append(all, nodeName(n.Name, at)...)
	}
	return all
}

func validatePorts(ports []discoveryv1.EndpointPort, path *field.Path) field.ErrorList {
	if n := len(ports); n > maxPorts {
		return field.ErrorList{field.TooMany(path, n, maxPorts)}
	}
	var all field.ErrorList
	seen := map[string]bool{}
	for i := range ports {
		p, at := &ports[i], path.Index(i)
		if *p.Name != "" {
			all = append(all, common.DNSLabel(*p.Name, at.Child("name"))...)
		}
		if seen[*p.Name] {
			all = append(all, field.Duplicate(at.Child("name"), p.Name))
		}
		seen[*p.Name] = true
		switch *p.Protocol {
		case corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP:
		default:
			all = append(all, field.NotSupported(at.Child("protocol"), *p.Protocol, []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}))
		}
		if p.AppProtocol != nil {
			all = append(all, common.QualifiedName(*p.AppProtocol, at.Child("appProtocol"))...)
		}
	}
	return all
}
