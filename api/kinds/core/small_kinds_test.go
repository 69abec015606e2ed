package core

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common/kindtest"
)

// The kinds with little to them, in one table: what an object becomes, or why it is refused.

func TestCreate(t *testing.T) {
	named := metav1.ObjectMeta{Namespace: "default", Name: "x"}
	for _, c := range []struct {
		name     string
		resource *kinds.Resource
		obj      runtime.Object
		faults   []string
		want     func(obj runtime.Object) bool
	}{
		{"a Secret is Opaque", secrets(), &corev1.Secret{ObjectMeta: named}, nil,
			func(obj runtime.Object) bool { return obj.(*corev1.Secret).Type == corev1.SecretTypeOpaque }},
		{"a TLS Secret without its parts", secrets(), &corev1.Secret{ObjectMeta: named, Type: corev1.SecretTypeTLS},
			[]string{"data[tls.crt]: Required value", "data[tls.key]: Required value"}, nil},
		{"a ConfigMap key twice", configMaps(), &corev1.ConfigMap{ObjectMeta: named, Data: map[string]string{"k": ""}, BinaryData: map[string][]byte{"k": nil}},
			[]string{`data[k]: Invalid value: "k": duplicate of key present in binaryData`}, nil},
		{"a Namespace has a finalizer and its name's label", namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, nil,
			func(obj runtime.Object) bool {
				ns := obj.(*corev1.Namespace)
				return cmp.Equal(ns.Spec.Finalizers, []corev1.FinalizerName{corev1.FinalizerKubernetes}) &&
					ns.Labels["kubernetes.io/metadata.name"] == "x" && ns.Status.Phase == corev1.NamespaceActive
			}},
		{"a Node's range becomes a list", nodes(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.NodeSpec{PodCIDR: "10.0.0.0/24"}}, nil,
			func(obj runtime.Object) bool {
				return cmp.Equal(obj.(*corev1.Node).Spec.PodCIDRs, []string{"10.0.0.0/24"})
			}},
		{"a claim asks for storage", persistentVolumeClaims(), &corev1.PersistentVolumeClaim{ObjectMeta: named,
			Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}},
			[]string{"spec.resources[storage]: Required value"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults := kindtest.Create(new(kindtest.Cluster).Context(), c.resource.Strategy, c.obj)
			if d := cmp.Diff(c.faults, faults); d != "" {
				t.Errorf("faults (-want +got)\n%s", d)
			}
			if c.want != nil && !c.want(c.obj) {
				t.Errorf("got %+v", c.obj)
			}
		})
	}
}

func TestUpdateThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		resource *kinds.Resource
		old      runtime.Object
		obj      runtime.Object
		want     []string
	}{
		{"type of a Secret", secrets(), &corev1.Secret{Type: "a"}, &corev1.Secret{Type: "b"},
			[]string{`type: Invalid value: "b": field is immutable`}},
		{"immutable ConfigMap", configMaps(), &corev1.ConfigMap{Immutable: new(true)},
			&corev1.ConfigMap{Immutable: new(true), Data: map[string]string{"k": "v"}},
			[]string{"data: Forbidden: field is immutable when `immutable` is set"}},
		{"provider of a Node", nodes(), &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "a"}}, &corev1.Node{Spec: corev1.NodeSpec{ProviderID: "b"}},
			[]string{"spec.providerID: Invalid value: null: field cannot be modified once set"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			faults := kindtest.Update(new(kindtest.Cluster).Context(), c.resource.Strategy, c.obj, c.old)
			if d := cmp.Diff(c.want, faults); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestNodeMayUseWhatItHas(t *testing.T) {
	n := &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}}}
	nodes().Strategy.Default(n)
	if d := cmp.Diff(n.Status.Capacity, n.Status.Allocatable); d != "" {
		t.Errorf("(-capacity +allocatable)\n%s", d)
	}
}
