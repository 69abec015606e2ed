package controllers_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

// TestAvailabilityOfAPIServices follows one as what it needs comes to be.
func TestAvailabilityOfAPIServices(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.APIServiceAvailability())
	reason := func(name string) string {
		quiet(t, r)
		s := controllertest.Get[*apiregistrationv1.APIService](e, controllers.APIServices, "", name)
		if len(s.Status.Conditions) != 1 {
			t.Fatalf("%s: conditions %v", name, s.Status.Conditions)
		}
		return string(s.Status.Conditions[0].Status) + " " + s.Status.Conditions[0].Reason
	}
	make := func(group string, ref *apiregistrationv1.ServiceReference) {
		e.Create(controllers.APIServices, &apiregistrationv1.APIService{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{Name: "v1." + group},
			Spec: apiregistrationv1.APIServiceSpec{Group: group, Version: "v1", GroupPriorityMinimum: 1, VersionPriority: 1,
				Service: ref, InsecureSkipTLSVerify: ref != nil},
		})
	}
	port := int32(443)
	make("here.example.com", nil)
	make("there.example.com", &apiregistrationv1.ServiceReference{Namespace: "default", Name: "agg", Port: &port})
	if got := reason("v1.here.example.com"); got != "True Local" {
		t.Error(got)
	}
	if got := reason("v1.there.example.com"); got != "False ServiceNotFound" {
		t.Error(got)
	}
	e.Create(controllers.Services, &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "agg", Namespace: "default"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}},
	})
	if got := reason("v1.there.example.com"); got != "False EndpointsNotFound" {
		t.Error(got)
	}
	e.Delete(controllers.Services, "default", "agg", "")
	if got := reason("v1.there.example.com"); got != "False ServiceNotFound" {
		t.Error(got)
	}
}
