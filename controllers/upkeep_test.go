package controllers_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

// TestDefinitionsHaveAPIServices: one comes and goes with a served version; a person's own stays as it is.
func TestDefinitionsHaveAPIServices(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.DefinitionNames(), controllers.DefinitionFinalizer(), controllers.APIServiceRegistration())
	e.Create(controllers.APIServices, &apiregistrationv1.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: "v2.example.com"},
		Spec:       apiregistrationv1.APIServiceSpec{Group: "example.com", Version: "v2", GroupPriorityMinimum: 7, VersionPriority: 7},
	})
	d := definitionOf("aaas", "aaa", "x")
	second := *d.Spec.Versions[0].DeepCopy()
	second.Name, second.Storage = "v2", false
	d.Spec.Versions = append(d.Spec.Versions, second)
	priorities := func(name string) [2]int32 {
		quiet(t, r)
		s := controllertest.Get[*apiregistrationv1.APIService](e, controllers.APIServices, "", name)
		if s == nil {
			return [2]int32{}
		}
		return [2]int32{s.Spec.GroupPriorityMinimum, s.Spec.VersionPriority}
	}
	e.Create(controllers.CustomResourceDefinitions, d)
	if got := priorities("v1.example.com"); got != [2]int32{1000, 100} {
		t.Errorf("with its definition: %v", got)
	}
	e.Delete(controllers.APIServices, "", "v1.example.com", "")
	if got := priorities("v1.example.com"); got != [2]int32{1000, 100} {
		t.Errorf("after it was deleted: %v", got)
	}
	e.Delete(controllers.CustomResourceDefinitions, "", "aaas.example.com", "")
	if got := priorities("v1.example.com"); got != [2]int32{} {
		t.Errorf("without its definition: %v", got)
	}
	if got := priorities("v2.example.com"); got != [2]int32{7, 7} {
		t.Errorf("a person's own: %v", got)
	}
	if d := controllertest.Get[*v1.CustomResourceDefinition](e, controllers.CustomResourceDefinitions, "", "aaas.example.com"); d != nil {
		t.Errorf("the definition is still there: %v", d.Status)
	}
}

// TestServiceCIDRStaysWhileInUse: ready at once; while something has an address of it alone it stays, and a moment longer.
func TestServiceCIDRStaysWhileInUse(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.ServiceCIDR())
	e.Create(controllers.ServiceCIDRs, &networkingv1.ServiceCIDR{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "ServiceCIDR"},
		ObjectMeta: metav1.ObjectMeta{Name: "c"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.97.0.0/24"}},
	})
	state := func() string {
		quiet(t, r)
		c := controllertest.Get[*networkingv1.ServiceCIDR](e, controllers.ServiceCIDRs, "", "c")
		if c == nil {
			return "gone"
		}
		if len(c.Status.Conditions) != 1 || len(c.Finalizers) != 1 {
			t.Fatalf("conditions %v, finalizers %v", c.Status.Conditions, c.Finalizers)
		}
		return string(c.Status.Conditions[0].Status) + " " + c.Status.Conditions[0].Reason
	}
	if got := state(); got != "True " {
		t.Errorf("new: %q", got)
	}
	e.Create(controllers.IPAddresses, &networkingv1.IPAddress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "IPAddress"},
		ObjectMeta: metav1.ObjectMeta{Name: "10.97.0.9", Labels: map[string]string{networkingv1.LabelManagedBy: "ipallocator.k8s.io"}},
		Spec:       networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "s"}},
	})
	e.Delete(controllers.ServiceCIDRs, "", "c", "")
	if got := state(); got != "False Terminating" {
		t.Errorf("deleted and in use: %q", got)
	}
	e.Delete(controllers.IPAddresses, "", "10.97.0.9", "")
	if got := state(); got == "gone" {
		t.Error("gone at once")
	}
}

func TestNodesHaveATTL(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.NodeTTL())
	e.Create(controllers.Nodes, &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	quiet(t, r)
	n := controllertest.Get[*corev1.Node](e, controllers.Nodes, "", "n")
	if got := n.Annotations[corev1.ObjectTTLAnnotationKey]; got != "0" {
		t.Errorf("annotation %q", got)
	}
}
