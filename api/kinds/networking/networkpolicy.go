// NetworkPolicy says which traffic pods accept and send. The API server only
// keeps it; a network plugin enforces it.
package networking

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func networkPolicies() *kinds.Resource {
	gvk := networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy")
	v1 := common.Version[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "networkpolicies", Singular: "networkpolicy", Kind: gvk.Kind,
		ShortNames: []string{"netpol"}, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix: "/registry/networkpolicies",
		Strategy: common.Typed[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]{
			Default:          defaultNetworkPolicy,
			PrepareForCreate: func(_ *kinds.Context, obj *networkingv1.NetworkPolicy) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *networkingv1.NetworkPolicy) {
				common.BumpGeneration(obj, old, !reflect.DeepEqual(obj.Spec, old.Spec)) // [] for none is a change, unlike in other kinds
			},
			Validate: func(_ *kinds.Context, obj *networkingv1.NetworkPolicy) field.ErrorList {
				return common.Declared(validatePolicy(&obj.Spec, policyOptions{}), declaredBlocks(&obj.Spec))
			},
			FreeUpdate: true,
			ValidateUpdate: func(_ *kinds.Context, obj, old *networkingv1.NetworkPolicy) field.ErrorList {
				return common.Declared(validatePolicy(&obj.Spec, policyOptionsFor(old)), declaredBlocks(&obj.Spec))
			},
			Warnings: func(_ *kinds.Context, obj, _ *networkingv1.NetworkPolicy) []string { return policyWarnings(obj) },
		}.Strategy(),
	}
}

func defaultNetworkPolicy(obj *networkingv1.NetworkPolicy) {
	for i := range obj.Spec.Ingress {
		defaultPolicyPorts(obj.Spec.Ingress[i].Ports)
	}
	for i := range obj.Spec.Egress {
		defaultPolicyPorts(obj.Spec.Egress[i].Ports)
	}
	if len(obj.Spec.PolicyTypes) > 0 {
		return
	}
	obj.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(obj.Spec.Egress) > 0 {
		obj.Spec.PolicyTypes = append(obj.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func defaultPolicyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			tcp := corev1.ProtocolTCP
			ports[i].Protocol = &tcp
		}
	}
}
