// ServiceCIDR is a range from which Services get their ClusterIPs. Its ranges
// never change, but a second one, of the other IP family, may be added.
package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func serviceCIDRs() *kinds.Resource {
	gvk := networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR")
	v1 := common.Version[networkingv1.ServiceCIDR, networkingv1.ServiceCIDRList](gvk)
	main := common.Typed[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]{
		ResetFields: []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *networkingv1.ServiceCIDR) {
			obj.Status = networkingv1.ServiceCIDRStatus{}
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *networkingv1.ServiceCIDR) { obj.Status = old.Status },
		Validate: func(_ *kinds.Context, obj *networkingv1.ServiceCIDR) field.ErrorList {
			return validateCIDRs(&obj.Spec)
		},
		FreeUpdate: true,
		ValidateUpdate: func(_ *kinds.Context, obj, old *networkingv1.ServiceCIDR) field.ErrorList {
			return validateCIDRsUpdate(&obj.Spec, &old.Spec)
		},
	}
	status := common.Typed[networkingv1.ServiceCIDR, *networkingv1.ServiceCIDR]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *networkingv1.ServiceCIDR) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
		},
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "servicecidrs", Singular: "servicecidr", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix:       "/registry/servicecidrs",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

func validateCIDRs(spec *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	if len(spec.CIDRs) == 0 {
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	}
	if len(spec.CIDRs) > 2 {
		return field.ErrorList{field.Invalid(path, common.Internal(spec), "may only hold up to 2 values")}
	}
	var all field.ErrorList
	for i, c := range spec.CIDRs {
		all = append(all, validation.IsValidCIDR(path.Index(i), c)...)
	}
	if len(spec.CIDRs) == 2 {
		family := netutils.IPFamilyOfCIDRString(spec.CIDRs[0])
		if family == netutils.IPFamilyOfCIDRString(spec.CIDRs[1]) && family != netutils.IPFamilyUnknown {
			all = append(all, field.Invalid(path, spec.CIDRs, "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
		}
	}
	return all
}

func validateCIDRsUpdate(spec, old *networkingv1.ServiceCIDRSpec) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	fixed := apivalidation.FieldImmutableErrorMsg
	var all field.ErrorList
	switch {
	case len(old.CIDRs) == len(spec.CIDRs):
		for i := range old.CIDRs {
			if old.CIDRs[i] != spec.CIDRs[i] {
				all = append(all, field.Invalid(path.Index(i), spec.CIDRs[i], fixed))
			}
		}
	case len(old.CIDRs) == 1 && len(spec.CIDRs) == 2: // becoming dual-stack
		if spec.CIDRs[0] != old.CIDRs[0] {
			all = append(all, field.Invalid(path.Index(0), spec.CIDRs[0], fixed))
		}
		all = append(all, validateCIDRs(spec)...)
	default:
		all = append(all, field.Invalid(path, spec.CIDRs, fixed))
	}
	return all
}
