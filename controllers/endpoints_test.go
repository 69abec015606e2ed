package controllers_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func service(change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "web-uid"},
		Spec: corev1.ServiceSpec{ClusterIP: "10.96.0.5", IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": "rs"},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}}},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

func podAt(name, ip string, ready bool) *corev1.Pod {
	p := pod(name, nil, controllertest.Now)
	if !ready {
		p.Status.Conditions = nil
	}
	p.Status.PodIP, p.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
	return p
}

func TestSlicesHoldAHundredEach(t *testing.T) {
	objs := []runtime.Object{service()}
	for i := range 150 {
		objs = append(objs, podAt(fmt.Sprintf("p%03d", i), fmt.Sprintf("10.112.1.%d", i), true))
	}
	v := controllertest.NewView(t, objs...)
	out := controllers.EndpointSlice().Step(v, []controllers.Key{webKey})
	var sizes []int
	for _, w := range out.Writes {
		slice := w.Object.(*discoveryv1.EndpointSlice)
		sizes = append(sizes, len(slice.Endpoints))
		if *slice.Ports[0].Port != 8080 || slice.Labels[discoveryv1.LabelServiceName] != "web" {
			t.Errorf("slice: ports %v, labels %v", slice.Ports, slice.Labels)
		}
	}
	if !slices.Equal(sizes, []int{100, 50}) {
		t.Errorf("sizes: got %v, want 100 and 50", sizes)
	}
}

func TestASliceOfNoPodsStays(t *testing.T) {
	v := controllertest.NewView(t, service())
	out := controllers.EndpointSlice().Step(v, []controllers.Key{webKey})
	if told := v.Told(out); !slices.Equal(told, []string{"create endpointslices web-*"}) {
		t.Fatalf("without pods: got %q", told)
	}
	made := out.Writes[0].Object.(*discoveryv1.EndpointSlice)
	made.Name = "web-abc"
	v = controllertest.NewView(t, service(), made)
	if told := v.Told(controllers.EndpointSlice().Step(v, []controllers.Key{webKey})); len(told) != 0 {
		t.Errorf("when it is there: got %q", told)
	}
	v = controllertest.NewView(t, service(), made, podAt("p", "10.112.1.1", true))
	out = controllers.EndpointSlice().Step(v, []controllers.Key{webKey})
	if told := v.Told(out); !slices.Equal(told, []string{"mutate endpointslices web-abc"}) {
		t.Errorf("when the first pod comes: got %q, want the slice used again", told)
	}
}

func TestEndpointsTellReadyFromNot(t *testing.T) {
	v := controllertest.NewView(t, service(), podAt("b", "10.112.1.2", true), podAt("a", "10.112.1.1", true), podAt("c", "10.112.1.3", false))
	out := controllers.EndpointsController().Step(v, []controllers.Key{webKey})
	e := out.Writes[0].Object.(*corev1.Endpoints)
	if len(e.Subsets) != 1 {
		t.Fatalf("subsets: %+v", e.Subsets)
	}
	s := e.Subsets[0]
	if len(s.Addresses) != 2 || s.Addresses[0].IP != "10.112.1.1" || len(s.NotReadyAddresses) != 1 || s.NotReadyAddresses[0].IP != "10.112.1.3" {
		t.Errorf("addresses: %+v, not ready: %+v", s.Addresses, s.NotReadyAddresses)
	}
}

func TestEndpointsOfAPersonMayPrecedeTheirService(t *testing.T) {
	e := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "old"}}
	own := e.DeepCopy()
	own.Labels = map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
	keysOf := controllers.EndpointsController().Keys[controllers.Endpoints]
	for name, test := range map[string]struct {
		change controllers.Object
		want   int
	}{
		"a person's": {controllers.Object{Now: e}, 0},
		"own":        {controllers.Object{Now: own}, 1},
		"gone":       {controllers.Object{Prev: e}, 1},
	} {
		if got := len(keysOf(nil, test.change)); got != test.want {
			t.Errorf("%s: %d keys, want %d", name, got, test.want)
		}
	}
}
