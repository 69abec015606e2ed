package bootstrap

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// What of the bootstrap objects must be there all the time, and not only at the start.

// KeptObjects lists the namespaces of the system, the Service kubernetes with its endpoints, and the server's lease.
func KeptObjects(s Settings) ([]Typed, error) {
	var out []Typed
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease, metav1.NamespaceDefault} {
		out = append(out, Typed{schema.GroupResource{Resource: "namespaces"}, &corev1.Namespace{
			TypeMeta: kind("", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name},
		}})
	}
	network, err := NetworkObjects(s)
	if err != nil {
		return nil, err
	}
	for _, t := range network {
		switch t.Resource {
		case "services", "endpoints", "endpointslices", "leases":
			out = append(out, t)
		}
	}
	return out, nil
}

// Follow copies into have what depends on the server's address; it says whether have changed.
func Follow(have runtime.Object, want metav1.Object) bool { return move(have, want) }
