package controllers

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The condition Available of an APIService says whether its group and version
// can be asked. Key: an APIService. Woken by it, its Service and the endpoints
// behind that. A group that this server serves itself is always available.

// APIServiceAvailability sets the condition Available.
func APIServiceAvailability() Controller {
	return Controller{
		Name: "apiservice-availability-controller", User: serverUser,
		Keys: keyMap{
			APIServices: itself,
			Services: func(v View, c Object) []Key {
				m := accessor(c.Current())
				return apiServicesOf(v, m.GetNamespace(), m.GetName())
			},
			EndpointSlices: func(v View, c Object) []Key {
				m := accessor(c.Current())
				return apiServicesOf(v, m.GetNamespace(), m.GetLabels()[discoveryv1.LabelServiceName])
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if s := get[*apiregistrationv1.APIService](v, APIServices, "", k.Name); s != nil {
					judgeAPIService(v, k, s, &out)
				}
			}
			return out
		},
	}
}

// apiServicesOf gives those that a Service stands behind.
func apiServicesOf(v View, namespace, name string) []Key {
	var keys []Key
	for _, s := range typed[*apiregistrationv1.APIService](v.List(APIServices, "", nil)) {
		if ref := s.Spec.Service; ref != nil && ref.Namespace == namespace && ref.Name == name {
			keys = append(keys, NameKey(s))
		}
	}
	return keys
}

// judgeAPIService writes the condition when it is not what it should be.
func judgeAPIService(v View, k Key, s *apiregistrationv1.APIService, out *Outcome) {
	want := availability(v, s)
	for _, have := range s.Status.Conditions {
		if have.Type == want.Type && have.Status == want.Status && have.Reason == want.Reason && have.Message == want.Message {
			return
		}
	}
	want.LastTransitionTime = metav1.NewTime(v.Now())
	w := mutation(k, APIServices, "status", s, func(now *apiregistrationv1.APIService) error {
		i := slices.IndexFunc(now.Status.Conditions, func(c apiregistrationv1.APIServiceCondition) bool { return c.Type == want.Type })
		if i < 0 {
			now.Status.Conditions = append(now.Status.Conditions, want)
			return nil
		}
		if now.Status.Conditions[i].Status == want.Status {
			want.LastTransitionTime = now.Status.Conditions[i].LastTransitionTime
		}
		now.Status.Conditions[i] = want
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	out.Writes = append(out.Writes, w)
}

// availability finds out what stands in the way. Real Kubernetes asks the
// other server for its discovery at the end; requests are not passed on to other servers here.
func availability(v View, s *apiregistrationv1.APIService) apiregistrationv1.APIServiceCondition {
	c := apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse}
	ref := s.Spec.Service
	if ref == nil {
		c.Status, c.Reason, c.Message = apiregistrationv1.ConditionTrue, "Local", "Local APIServices are always available"
		return c
	}
	service := get[*corev1.Service](v, Services, ref.Namespace, ref.Name)
	if service == nil {
		c.Reason, c.Message = "ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", ref.Name, ref.Namespace)
		return c
	}
	if service.Spec.Type == corev1.ServiceTypeClusterIP && ref.Port != nil {
		i := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == *ref.Port })
		if i < 0 {
			c.Reason, c.Message = "ServicePortError", fmt.Sprintf("service/%s in %q is not listening on port %d", ref.Name, ref.Namespace, *ref.Port)
			return c
		}
		if c.Reason, c.Message = endpointsFor(v, ref, service.Spec.Ports[i].Name); c.Reason != "" {
			return c
		}
	}
	c.Reason = "FailedDiscoveryCheck"
	c.Message = fmt.Sprintf("kuberow does not pass requests on to service/%s in %q", ref.Name, ref.Namespace)
	return c
}

// endpointsFor looks for an endpoint behind the port; the reason is "" when there is one.
func endpointsFor(v View, ref *apiregistrationv1.ServiceReference, port string) (reason, message string) {
	found := typed[*discoveryv1.EndpointSlice](v.List(EndpointSlices, ref.Namespace,
		labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: ref.Name})))
	if len(found) == 0 {
		return "EndpointsNotFound", fmt.Sprintf("cannot find endpointslices for service/%s in %q", ref.Name, ref.Namespace)
	}
	for _, s := range found {
		ready := slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready })
		named := slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return p.Name != nil && *p.Name == port && p.Port != nil })
		if ready && named {
			return "", ""
		}
	}
	return "MissingEndpoints", fmt.Sprintf("endpointslices for service/%s in %q have no addresses with port name %q", ref.Name, ref.Namespace, port)
}
