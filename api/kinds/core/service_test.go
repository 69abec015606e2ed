package core

import (
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds/common/kindtest"
)

func exampleService(kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"},
		Spec:       corev1.ServiceSpec{Type: kind, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
}

// clusterWithRange has the ServiceCIDR that the server makes of its flag.
func clusterWithRange() *kindtest.Cluster {
	cidr := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}}
	cidr.Spec.CIDRs = []string{"10.96.0.0/16"}
	cidr.Status.Conditions = []metav1.Condition{{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue}}
	return &kindtest.Cluster{Objects: map[string][]runtime.Object{"servicecidrs": {cidr}}}
}

func TestServiceGetsAddressAndNodePort(t *testing.T) {
	strategy, c := services().Strategy, clusterWithRange()
	s := exampleService(corev1.ServiceTypeNodePort)
	if faults := kindtest.Create(c.Context(), strategy, s); faults != nil {
		t.Fatal(faults)
	}
	addr, err := netip.ParseAddr(s.Spec.ClusterIP)
	if err != nil || !netip.MustParsePrefix("10.96.0.0/16").Contains(addr) {
		t.Errorf("clusterIP %q", s.Spec.ClusterIP)
	}
	if p := s.Spec.Ports[0]; p.NodePort < 30000 || p.NodePort > 32767 || p.Protocol != corev1.ProtocolTCP || p.TargetPort.IntValue() != 80 {
		t.Errorf("port %+v", p)
	}
	related, err := strategy.Related(c.Context(), s, nil)
	if err != nil || len(related) != 1 || related[0].Name != s.Spec.ClusterIP || !related[0].New {
		t.Errorf("written with it: %+v, %v", related, err)
	}
	released, err := strategy.Related(c.Context(), nil, s)
	if err != nil || len(released) != 1 || released[0].Object != nil {
		t.Errorf("written when it is deleted: %+v, %v", released, err)
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ ip, want string }{
		{"10.96.0.7", "failed to allocate IP 10.96.0.7: provided IP is already allocated"},
		{"10.97.0.1", "failed to allocate IP 10.97.0.1: the provided network does not match the current range"},
		{"10.96.0.0", "failed to allocate IP 10.96.0.0: the provided network does not match the current range"},
	} {
		t.Run(c.ip, func(t *testing.T) {
			cluster := clusterWithRange()
			cluster.Objects["ipaddresses"] = []runtime.Object{&networkingv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Name: "10.96.0.7"}}}
			s := exampleService(corev1.ServiceTypeClusterIP)
			s.Spec.ClusterIP = c.ip
			faults := kindtest.Create(cluster.Context(), services().Strategy, s)
			if len(faults) != 1 || !strings.HasSuffix(faults[0], c.want) {
				t.Errorf("got %q, want %q", faults, c.want)
			}
		})
	}
}

func TestTwoRequestsAtOnceGetDifferentNodePorts(t *testing.T) {
	strategy, c := services().Strategy, clusterWithRange()
	first, second := exampleService(corev1.ServiceTypeNodePort), exampleService(corev1.ServiceTypeNodePort)
	first.Spec.Ports[0].NodePort, second.Spec.Ports[0].NodePort = 30080, 30080
	if faults := kindtest.Create(c.Context(), strategy, first); faults != nil {
		t.Fatal(faults)
	}
	faults := kindtest.Create(c.Context(), strategy, second) // the first is not stored yet
	if len(faults) != 1 || !strings.HasSuffix(faults[0], "provided port is already allocated") {
		t.Errorf("got %q", faults)
	}
}

func TestServiceKeepsWhatItWasGiven(t *testing.T) {
	strategy, c := services().Strategy, clusterWithRange()
	old := exampleService(corev1.ServiceTypeNodePort)
	kindtest.Create(c.Context(), strategy, old)
	again := exampleService(corev1.ServiceTypeNodePort) // the manifest, sent once more
	if faults := kindtest.Update(c.Context(), strategy, again, old); faults != nil {
		t.Fatal(faults)
	}
	if again.Spec.ClusterIP != old.Spec.ClusterIP || again.Spec.Ports[0].NodePort != old.Spec.Ports[0].NodePort {
		t.Errorf("got %+v, had %+v", again.Spec, old.Spec)
	}
}

func TestExternalNameReleasesTheAddress(t *testing.T) {
	strategy, c := services().Strategy, clusterWithRange()
	old := exampleService(corev1.ServiceTypeClusterIP)
	kindtest.Create(c.Context(), strategy, old)
	s := old.DeepCopy()
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.com"
	if faults := kindtest.Update(c.Context(), strategy, s, old); faults != nil {
		t.Fatal(faults)
	}
	related, err := strategy.Related(c.Context(), s, old)
	if err != nil || s.Spec.ClusterIP != "" || len(related) != 1 || related[0].Object != nil || related[0].Name != old.Spec.ClusterIP {
		t.Errorf("spec %+v, related %+v, %v", s.Spec, related, err)
	}
}
