package core

import (
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of Endpoints, and of addresses that traffic is sent to.

func validateEndpoints(_ *kinds.Context, e *corev1.Endpoints) field.ErrorList {
	return endpointSubsets(e)
}

func endpointSubsets(e *corev1.Endpoints) field.ErrorList {
	var f faults
	f.add(common.Annotations(e.Annotations, field.NewPath("annotations")))
	for i := range e.Subsets {
		s, at := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			f.required(at, "must specify `addresses` or `notReadyAddresses`")
		}
		for j := range s.Addresses {
			f.endpointAddress(&s.Addresses[j], at.Child("addresses").Index(j))
		}
		for j := range s.NotReadyAddresses {
			f.endpointAddress(&s.NotReadyAddresses[j], at.Child("notReadyAddresses").Index(j))
		}
		for j := range s.Ports {
			f.endpointPort(&s.Ports[j], len(s.Ports) > 1, at.Child("ports").Index(j))
		}
	}
	return f.all
}

// validateEndpointsUpdate leaves unchanged subsets alone: they may be of a time when less was asked.
func validateEndpointsUpdate(_ *kinds.Context, e, old *corev1.Endpoints) field.ErrorList {
	if common.Equal(e.Subsets, old.Subsets) {
		return nil
	}
	return endpointSubsets(e)
}

func (f *faults) endpointAddress(a *corev1.EndpointAddress, at *field.Path) {
	f.add(validation.IsValidIPForLegacyField(at.Child("ip"), a.IP, true, nil))
	if a.Hostname != "" {
		f.add(common.DNSLabel(a.Hostname, at.Child("hostname")))
	}
	if a.NodeName != nil {
		f.invalids(at.Child("nodeName"), *a.NodeName, validation.IsDNS1123Subdomain(*a.NodeName))
	}
	f.add(endpointIP(a.IP, at.Child("ip")))
}

// endpointIP refuses addresses that lead nowhere from another machine.
func endpointIP(text string, at *field.Path) field.ErrorList {
	var f faults
	ip := net.ParseIP(text)
	if ip == nil {
		f.invalid(at, text, "must be a valid IP address")
		return f.all
	}
	if ip.IsUnspecified() {
		f.invalid(at, text, fmt.Sprintf("may not be unspecified (%v)", text))
	}
	if ip.IsLoopback() {
		f.invalid(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	}
	if ip.IsLinkLocalUnicast() {
		f.invalid(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	}
	if ip.IsLinkLocalMulticast() {
		f.invalid(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
	return f.all
}

// ValidateEndpointIP is endpointIP for the kinds of other groups.
func ValidateEndpointIP(text string, at *field.Path) field.ErrorList { return endpointIP(text, at) }

func (f *faults) endpointPort(p *corev1.EndpointPort, several bool, at *field.Path) {
	if p.Name != "" {
		f.add(common.DNSLabel(p.Name, at.Child("name")))
	} else if several {
		f.required(at.Child("name"), "")
	}
	f.invalids(at.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))
	needed(f, at.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	if p.AppProtocol != nil {
		f.add(common.QualifiedName(*p.AppProtocol, at.Child("appProtocol")))
	}
}

func endpointsWarnings(_ *kinds.Context, e, _ *corev1.Endpoints) []string {
	if e.Labels["endpoints.kubernetes.io/managed-by"] == endpointsController {
		return nil // it writes addresses in their canonical form
	}
	var out []string
	for i, s := range e.Subsets {
		at := field.NewPath("subsets").Index(i)
		for j, a := range s.Addresses {
			out = append(out, validation.GetWarningsForIP(at.Child("addresses").Index(j).Child("ip"), a.IP)...)
		}
		for j, a := range s.NotReadyAddresses {
			out = append(out, validation.GetWarningsForIP(at.Child("notReadyAddresses").Index(j).Child("ip"), a.IP)...)
		}
	}
	return out
}
