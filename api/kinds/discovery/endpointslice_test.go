package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"kuberow/api/kinds/common/kindtest"
)

func TestSlicesThatAreRefused(t *testing.T) {
	empty := corev1.Protocol("")
	for _, c := range []struct {
		name string
		obj  discoveryv1.EndpointSlice
		want []string
	}{
		{"no address, no protocol, no type", discoveryv1.EndpointSlice{
			Endpoints: []discoveryv1.Endpoint{{}}, Ports: []discoveryv1.EndpointPort{{Protocol: &empty}}}, []string{
			`ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"`,
			"addressType: Required value", "endpoints[0].addresses: Required value"}},
		{"an address of the other family", discoveryv1.EndpointSlice{
			AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}}},
			[]string{`endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address`}},
	} {
		got := kindtest.Create(new(kindtest.Cluster).Context(), endpointSlices().Strategy, &c.obj)
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

func TestAddressTypeIsFixed(t *testing.T) {
	old := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	for kind, want := range map[discoveryv1.AddressType][]string{
		discoveryv1.AddressTypeIPv6: {"addressType: Invalid value: null: field is immutable"},
		"":                          {"addressType: Required value", "addressType: Invalid value: null: field is immutable"},
	} {
		got := kindtest.Update(new(kindtest.Cluster).Context(), endpointSlices().Strategy, &discoveryv1.EndpointSlice{AddressType: kind}, &old)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got)\n%s", kind, d)
		}
	}
}
