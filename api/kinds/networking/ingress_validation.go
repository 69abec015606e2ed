// What an Ingress must look like. Three mistakes that older servers accepted
// stay acceptable in an update of an object that already has them.
package networking

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
	"kuberow/api/kinds/common"
)

const notAnIP = "must be a DNS name, not an IP address"

// ingressOptions is what the old object excuses.
type ingressOptions struct{ looseSecrets, looseWildcards bool }

func ingressOptionsFor(old *networkingv1.Ingress) ingressOptions {
	var o ingressOptions
	for _, t := range old.Spec.TLS {
		o.looseSecrets = o.looseSecrets || len(secretName(t.SecretName)) > 0
	}
	for _, r := range old.Spec.Rules {
		if strings.Contains(r.Host, "*") && len(validateHTTP(r.HTTP, nil)) > 0 {
			o.looseWildcards = true
		}
	}
	return o
}

func validateIngressCreate(obj *networkingv1.Ingress) field.ErrorList {
	all := validateIngress(&obj.Spec, ingressOptions{})
	class, set := obj.Annotations[classAnnotation]
	if set && obj.Spec.IngressClassName != nil && class != *obj.Spec.IngressClassName {
		all = append(all, field.Invalid(field.NewPath("annotations").Child(classAnnotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return all
}

func validateIngress(spec *networkingv1.IngressSpec, o ingressOptions) field.ErrorList {
	var all field.ErrorList
	path := field.NewPath("spec")
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		all = append(all, field.Invalid(path, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		all = append(all, validateBackend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for i := range spec.Rules {
		all = append(all, validateIngressRule(&spec.Rules[i], path.Child("rules").Index(i), o)...)
	}
	for i := range spec.TLS {
		all = append(all, validateTLS(&spec.TLS[i], path.Child("tls").Index(i), o)...)
	}
	if spec.IngressClassName != nil {
		all = append(all, common.DNSSubdomain(*spec.IngressClassName, path.Child("ingressClassName"))...)
	}
	return all
}

func validateTLS(t *networkingv1.IngressTLS, path *field.Path, o ingressOptions) field.ErrorList {
	var all field.ErrorList
	for i, host := range t.Hosts {
		all = append(all, validateHost(host, path.Child("hosts").Index(i))...)
	}
	if o.looseSecrets {
		return all
	}
	all = append(all, common.Invalid(secretName(t.SecretName), t.SecretName, path.Child("secretName"))...)
	return all
}

func secretName(name string) []string {
	if name == "" {
		return nil
	}
	return apivalidation.NameIsDNSSubdomain(name, false)
}

func validateHost(host string, path *field.Path) field.ErrorList {
	messages := validation.IsDNS1123Subdomain(host)
	if strings.Contains(host, "*") {
		messages = validation.IsWildcardDNS1123Subdomain(host)
	}
	return common.Invalid(messages, host, path)
}

func validateIngressRule(r *networkingv1.IngressRule, path *field.Path, o ingressOptions) field.ErrorList {
	var all field.ErrorList
	if r.Host != "" {
		if netutils.ParseIPSloppy(r.Host) != nil {
			all = append(all, field.Invalid(path.Child("host"), r.Host, notAnIP))
		}
		all = append(all, validateHost(r.Host, path.Child("host"))...)
	}
	if strings.Contains(r.Host, "*") && o.looseWildcards {
		return all
	}
	return append(all, validateHTTP(r.HTTP, path.Child("http"))...)
}

func validateHTTP(h *networkingv1.HTTPIngressRuleValue, path *field.Path) field.ErrorList {
	if h == nil {
		return nil
	}
	paths := path.Child("paths")
	if len(h.Paths) == 0 {
		return field.ErrorList{field.Required(paths, "")}
	}
	var all field.ErrorList
	for i := range h.Paths {
		all = append(all, validateHTTPPath(&h.Paths[i], paths.Index(i))...)
	}
	return all
}

func validateHTTPPath(p *networkingv1.HTTPIngressPath, path *field.Path) field.ErrorList {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	var all field.ErrorList
	at := path.Child("path")
	relative := !strings.HasPrefix(p.Path, "/")
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if relative {
			all = append(all, field.Invalid(at, p.Path, "must be an absolute path"))
		}
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(p.Path, part) {
				all = append(all, field.Invalid(at, p.Path, fmt.Sprintf("must not contain '%s'", part)))
			}
		}
		for _, end := range []string{"/..", "/."} {
			if strings.HasSuffix(p.Path, end) {
				all = append(all, field.Invalid(at, p.Path, fmt.Sprintf("cannot end with '%s'", end)))
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && relative {
			all = append(all, field.Invalid(at, p.Path, "must be an absolute path"))
		}
	default:
		all = append(all, field.NotSupported(path.Child("pathType"), *p.PathType, []networkingv1.PathType{
			networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix}))
	}
	return append(all, validateBackend(&p.Backend, path.Child("backend"))...)
}

func validateBackend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return validateObjectReference(b.Resource, path.Child("resource"))
	case b.Service != nil:
		return validateServiceBackend(b.Service, path)
	}
	return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
}

func validateServiceBackend(s *networkingv1.IngressServiceBackend, path *field.Path) field.ErrorList {
	var all field.ErrorList
	service := path.Child("service")
	if s.Name == "" {
		all = append(all, field.Required(service.Child("name"), ""))
	} else {
		all = append(all, common.Invalid(apivalidation.NameIsDNSLabel(s.Name, false), s.Name, service.Child("name"))...)
	}
	byName, byNumber := s.Port.Name != "", s.Port.Number != 0
	switch {
	case byName && byNumber:
		all = append(all, field.Invalid(path, "", "cannot set both port name & port number"))
	case byName:
		all = append(all, common.Invalid(validation.IsValidPortName(s.Port.Name), s.Port.Name, service.Child("port", "name"))...)
	case byNumber:
		all = append(all, common.Invalid(validation.IsValidPortNum(int(s.Port.Number)), s.Port.Number, service.Child("port", "number"))...)
	default:
		all = append(all, field.Required(path, "port name or number is required"))
	}
	return all
}

func validateObjectReference(r *corev1.TypedLocalObjectReference, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if r.APIGroup != nil {
		all = append(all, common.DNSSubdomain(*r.APIGroup, path.Child("apiGroup"))...)
	}
	for _, f := range []struct{ name, value string }{{"kind", r.Kind}, {"name", r.Name}} {
		if f.value == "" {
			all = append(all, field.Required(path.Child(f.name), ""))
			continue
		}
		all = append(all, common.Invalid(content.IsPathSegmentName(f.value), f.value, path.Child(f.name))...)
	}
	return all
}
