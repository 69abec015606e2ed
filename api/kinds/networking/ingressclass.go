// IngressClass names the controller that serves the Ingresses of a class. The
// controller is fixed for the life of the object.
package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const maxControllerLength = 250

func ingressClasses() *kinds.Resource {
	gvk := networkingv1.SchemeGroupVersion.WithKind("IngressClass")
	v1 := common.Version[networkingv1.IngressClass, networkingv1.IngressClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "ingressclasses", Singular: "ingressclass", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1,
		Prefix: "/registry/ingressclasses",
		Strategy: common.Typed[networkingv1.IngressClass, *networkingv1.IngressClass]{
			Default:          defaultIngressClass,
			PrepareForCreate: func(_ *kinds.Context, obj *networkingv1.IngressClass) { obj.Generation = 1 },
			PrepareForUpdate: func(_ *kinds.Context, obj, old *networkingv1.IngressClass) {
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate: func(_ *kinds.Context, obj *networkingv1.IngressClass) field.ErrorList {
				return validateIngressClass(obj)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *networkingv1.IngressClass) field.ErrorList {
				all := common.Immutable(obj.Spec.Controller, old.Spec.Controller, field.NewPath("spec", "controller"))
				return append(all, validateIngressClass(obj)...)
			},
		}.Strategy(),
	}
}

func defaultIngressClass(obj *networkingv1.IngressClass) {
	if p := obj.Spec.Parameters; p != nil && p.Scope == nil {
		scope := networkingv1.IngressClassParametersReferenceScopeCluster
		p.Scope = &scope
	}
}

func validateIngressClass(obj *networkingv1.IngressClass) field.ErrorList {
	path := field.NewPath("spec")
	all := common.MaxBytes(obj.Spec.Controller, maxControllerLength, path.Child("controller"))
	all = append(all, validation.IsDomainPrefixedPath(path.Child("controller"), obj.Spec.Controller)...)
	if obj.Spec.Parameters == nil {
		return all
	}
	return append(all, validateParameters(obj.Spec.Parameters, path.Child("parameters"))...)
}

func validateParameters(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	var all, missing field.ErrorList
	if p.APIGroup != nil {
		all = append(all, common.DNSSubdomain(*p.APIGroup, path.Child("apiGroup"))...)
	}
	for _, f := range []struct{ name, value string }{{"kind", p.Kind}, {"name", p.Name}} {
		if f.value == "" {
			missing = append(missing, field.Required(path.Child(f.name), ""))
			continue
		}
		all = append(all, pathSegment(f.value, path.Child(f.name))...)
	}
	all = append(all, validateParametersScope(p, path)...)
	// Upstream finds missing fields in a later pass.
	return append(all, missing...)
}

func validateParametersScope(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	if p.Scope == nil {
		return field.ErrorList{field.Required(path.Child("scope"), "")}
	}
	namespace := path.Child("namespace")
	switch *p.Scope {
	case networkingv1.IngressClassParametersReferenceScopeNamespace:
		if p.Namespace == nil {
			return field.ErrorList{field.Required(namespace, "`parameters.scope` is set to 'Namespace'")}
		}
		return common.Invalid(apivalidation.ValidateNamespaceName(*p.Namespace, false), *p.Namespace, namespace)
	case networkingv1.IngressClassParametersReferenceScopeCluster:
		if p.Namespace != nil {
			return field.ErrorList{field.Forbidden(namespace, "`parameters.scope` is set to 'Cluster'")}
		}
		return nil
	}
	return field.ErrorList{field.NotSupported(path.Child("scope"), *p.Scope, []string{
		networkingv1.IngressClassParametersReferenceScopeCluster,
		networkingv1.IngressClassParametersReferenceScopeNamespace,
	})}
}

// pathSegment checks what becomes one segment of a URL path.
func pathSegment(value string, path *field.Path) field.ErrorList {
	return common.Invalid(content.IsPathSegmentName(value), value, path)
}
