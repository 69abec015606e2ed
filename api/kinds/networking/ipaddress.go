// IPAddress says that one address of a ServiceCIDR is taken, and by what. Its
// name is the address. The API server writes one in the transaction that gives
// a Service its ClusterIP; users rarely write any.
package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func ipAddresses() *kinds.Resource {
	gvk := networkingv1.SchemeGroupVersion.WithKind("IPAddress")
	v1 := common.Version[networkingv1.IPAddress, networkingv1.IPAddressList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "ipaddresses", Singular: "ipaddress", Kind: gvk.Kind, ShortNames: []string{"ip"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix: "/registry/ipaddresses",
		Strategy: common.Typed[networkingv1.IPAddress, *networkingv1.IPAddress]{
			ValidateName: ipAddressName,
			Validate: func(_ *kinds.Context, obj *networkingv1.IPAddress) field.ErrorList {
				return common.Declared(validateIPAddress(obj), requiredParent(obj.Spec.ParentRef))
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *networkingv1.IPAddress) field.ErrorList {
				all := validateIPAddress(obj)
				return common.Declared(all, common.Frozen(obj.Spec.ParentRef, old.Spec.ParentRef, field.NewPath("spec", "parentRef")))
			},
		}.Strategy(),
	}
}

// ipAddressName wants the canonical text of an address; a generated suffix could not give one.
func ipAddressName(name string, _ bool) []string {
	var out []string
	for _, e := range validation.IsValidIP(nil, name) {
		out = append(out, e.Detail)
	}
	return out
}

func validateIPAddress(obj *networkingv1.IPAddress) field.ErrorList {
	ref, path := obj.Spec.ParentRef, field.NewPath("spec", "parentRef")
	if ref == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var all field.ErrorList
	if ref.Group != "" {
		all = append(all, common.DNSSubdomain(ref.Group, path.Child("group"))...)
	}
	for _, f := range []struct{ name, value string }{{"resource", ref.Resource}, {"name", ref.Name}} {
		if f.value == "" {
			all = append(all, field.Required(path.Child(f.name), ""))
			continue
		}
		all = append(all, pathSegment(f.value, path.Child(f.name))...)
	}
	if ref.Namespace != "" {
		all = append(all, pathSegment(ref.Namespace, path.Child("namespace"))...)
	}
	return all
}

// requiredParent is what upstream declares of a new address, and so tells last.
func requiredParent(ref *networkingv1.ParentReference) field.ErrorList {
	path := field.NewPath("spec", "parentRef")
	if ref == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var all field.ErrorList
	for _, f := range []struct{ name, value string }{{"resource", ref.Resource}, {"name", ref.Name}} {
		if f.value == "" {
			all = append(all, field.Required(path.Child(f.name), ""))
		}
	}
	return all
}
