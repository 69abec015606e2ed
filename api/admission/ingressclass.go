package admission

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// defaultIngressClass: an Ingress that names no class, neither in its spec nor
// by the old annotation, gets the default one.
func defaultIngressClass() Plugin {
	return Plugin{Name: "DefaultIngressClass", Mutate: func(a *Attributes) error {
		ingress, ok := a.Object.(*networkingv1.Ingress)
		if !ok || a.Operation != create || a.Subresource != "" || ingress.Spec.IngressClassName != nil {
			return nil
		}
		if _, old := ingress.Annotations["kubernetes.io/ingress.class"]; old {
			return nil
		}
		classes, err := list[*networkingv1.IngressClass](a, schema.GroupResource{Group: networkingv1.GroupName, Resource: "ingressclasses"})
		if err != nil {
			return err
		}
		if c := newestDefault(classes, networkingv1.AnnotationIsDefaultIngressClass); c != nil {
			ingress.Spec.IngressClassName = &c.Name
		}
		return nil
	}}
}
