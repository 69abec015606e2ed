// EndpointSlice lists up to 1000 endpoints of one address type and the ports
// they share. The endpointslice controller writes most of them; anyone may
// write more for a Service without a selector.
package discovery

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func endpointSlices() *kinds.Resource {
	gvk := discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice")
	v1 := common.Version[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "endpointslices", Singular: "endpointslice", Kind: gvk.Kind, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix: "/registry/endpointslices",
		Strategy: common.Typed[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]{
			Default: defaultSlice,
			PrepareForCreate: func(_ *kinds.Context, obj *discoveryv1.EndpointSlice) {
				obj.Generation = 1
				dropTopology(obj, nil)
			},
			PrepareForUpdate: prepareSliceUpdate,
			Validate: func(_ *kinds.Context, obj *discoveryv1.EndpointSlice) field.ErrorList {
				return validateSlice(obj, nil)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *discoveryv1.EndpointSlice) field.ErrorList {
				return validateSlice(obj, old)
			},
			Warnings: sliceWarnings,
		}.Strategy(),
	}
}

func defaultSlice(obj *discoveryv1.EndpointSlice) {
	for i := range obj.Ports {
		p := &obj.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
}

// prepareSliceUpdate: there is no status, so everything but metadata counts, and so do the
// labels, which say what Service the slice belongs to.
func prepareSliceUpdate(_ *kinds.Context, obj, old *discoveryv1.EndpointSlice) {
	a, b := *obj, *old
	a.ObjectMeta, b.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
	a.TypeMeta, b.TypeMeta = metav1.TypeMeta{}, metav1.TypeMeta{}
	common.BumpGeneration(obj, old, !common.Equal(&a, &b) || !common.Equal(obj.Labels, old.Labels))
	dropTopology(obj, old)
}

// dropTopology removes deprecatedTopology, which v1 documents as not writable. A host name that the old
// object kept there moves to nodeName.
func dropTopology(obj, old *discoveryv1.EndpointSlice) {
	known := map[string]bool{}
	if old != nil {
		if common.Equal(old.Endpoints, obj.Endpoints) {
			return
		}
		for _, e := range old.Endpoints {
			known[e.DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range obj.Endpoints {
		e := &obj.Endpoints[i]
		host, set := e.DeprecatedTopology[corev1.LabelHostname]
		if e.NodeName == nil && set && known[host] && len(validation.IsDNS1123Subdomain(host)) == 0 {
			e.NodeName = &host
		}
		e.DeprecatedTopology = nil
	}
}

func sliceWarnings(_ *kinds.Context, obj, old *discoveryv1.EndpointSlice) []string {
	var out []string
	if old == nil && obj.AddressType == discoveryv1.AddressTypeFQDN {
		out = append(out, fmt.Sprintf("%s: FQDN endpoints are deprecated", field.NewPath("spec", "addressType")))
	}
	switch obj.Labels[discoveryv1.LabelManagedBy] {
	case "endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io":
		return out // these controllers write canonical addresses
	}
	for i, e := range obj.Endpoints {
		for j, a := range e.Addresses {
			out = append(out, validation.GetWarningsForIP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), a)...)
		}
	}
	return out
}
