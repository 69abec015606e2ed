// Ingress maps hosts and paths of HTTP requests to Services. An ingress
// controller, which is not a part of the control plane, acts on it and fills
// in the status.
package networking

import (
	"fmt"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// classAnnotation named the class before spec.ingressClassName did.
const classAnnotation = "kubernetes.io/ingress.class"

func ingresses() *kinds.Resource {
	gvk := networkingv1.SchemeGroupVersion.WithKind("Ingress")
	v1 := common.Version[networkingv1.Ingress, networkingv1.IngressList](gvk)
	parts := common.NewParts[networkingv1.Ingress, networkingv1.IngressSpec, networkingv1.IngressStatus, *networkingv1.Ingress](
		func(obj *networkingv1.Ingress) *networkingv1.IngressSpec { return &obj.Spec },
		func(obj *networkingv1.Ingress) *networkingv1.IngressStatus { return &obj.Status })
	main := common.Typed[networkingv1.Ingress, *networkingv1.Ingress]{
		ResetFields:      []string{"status"},
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate: func(_ *kinds.Context, obj *networkingv1.Ingress) field.ErrorList {
			return validateIngressCreate(obj)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, old *networkingv1.Ingress) field.ErrorList {
			return validateIngress(&obj.Spec, ingressOptionsFor(old))
		},
		Warnings: ingressWarnings,
	}
	status := common.Typed[networkingv1.Ingress, *networkingv1.Ingress]{
		ResetFields:      []string{"spec"},
		PrepareForUpdate: parts.PrepareStatus,
		ValidateUpdate:   validateIngressStatus,
		Warnings:         ingressStatusWarnings,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "ingresses", Singular: "ingress", Kind: gvk.Kind,
		ShortNames: []string{"ing"}, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix:       "/registry/ingress",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

func ingressWarnings(_ *kinds.Context, obj, old *networkingv1.Ingress) []string {
	if _, set := obj.Annotations[classAnnotation]; old == nil && set && obj.Spec.IngressClassName == nil {
		return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", classAnnotation)}
	}
	return nil
}

func ingressStatusWarnings(_ *kinds.Context, obj, _ *networkingv1.Ingress) []string {
	var out []string
	path := field.NewPath("status", "loadBalancer", "ingress")
	for i, in := range obj.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			out = append(out, validation.GetWarningsForIP(path.Index(i), in.IP)...)
		}
	}
	return out
}

func validateIngressStatus(_ *kinds.Context, obj, old *networkingv1.Ingress) field.ErrorList {
	var known []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			known = append(known, in.IP)
		}
	}
	var all field.ErrorList
	for i, in := range obj.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(i)
		if in.IP != "" {
			all = append(all, validation.IsValidIPForLegacyField(path.Child("ip"), in.IP, strictIPs, known)...)
		}
		if in.Hostname == "" {
			continue
		}
		all = append(all, common.DNSSubdomain(in.Hostname, path.Child("hostname"))...)
		if netutils.ParseIPSloppy(in.Hostname) != nil {
			all = append(all, field.Invalid(path.Child("hostname"), in.Hostname, notAnIP))
		}
	}
	return all
}
