package controllers

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What every namespace gets: a service account named default, and a
// ConfigMap with the cluster's CA. Two controllers of the same shape. Key: a Namespace. Woken
// by it and by the object that it should have.

// caDescription is the annotation of the ConfigMap.
const caDescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. " +
	"No other usage is guaranteed across distributions of Kubernetes clusters."

// rootCAName is what the ConfigMap is called.
const rootCAName = "kube-root-ca.crt"

// namespaceOf maps a change of the object called name to its namespace.
func namespaceOf(name string) KeysFunc {
	return func(_ View, c Object) []Key {
		m := accessor(c.Current())
		if m.GetName() != name {
			return nil
		}
		return []Key{{Name: m.GetNamespace()}}
	}
}

// openNamespace gives a namespace that things may be created in, nil when it is not one.
func openNamespace(v View, name string) *corev1.Namespace {
	ns := get[*corev1.Namespace](v, Namespaces, "", name)
	if ns == nil || ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating {
		return nil
	}
	return ns
}

// ServiceAccountDefault is serviceaccount-controller.
func ServiceAccountDefault() Controller {
	return Controller{
		Name:    "serviceaccount-controller",
		Account: "service-account-controller",
		Keys:    keyMap{Namespaces: itself, ServiceAccounts: namespaceOf("default")},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if openNamespace(v, k.Name) == nil || v.Get(ServiceAccounts, k.Name, "default") != nil {
					continue
				}
				out.Writes = append(out.Writes, unlessThere(creation(k, ServiceAccounts, &corev1.ServiceAccount{
					TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
					ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: k.Name},
				})))
			}
			return out
		},
	}
}

// RootCA is root-ca-certificate-publisher-controller.
func RootCA() Controller {
	return Controller{
		Name:    "root-ca-certificate-publisher-controller",
		Account: "root-ca-cert-publisher",
		Keys:    keyMap{Namespaces: itself, ConfigMaps: namespaceOf(rootCAName)},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if openNamespace(v, k.Name) != nil {
					publishCA(v, k, &out)
				}
			}
			return out
		},
	}
}

// publishCA creates the ConfigMap, or brings its content back.
func publishCA(v View, k Key, out *Outcome) {
	ca := string(v.Cluster().CertificateCA)
	have := get[*corev1.ConfigMap](v, ConfigMaps, k.Name, rootCAName)
	if have == nil {
		out.Writes = append(out.Writes, unlessThere(creation(k, ConfigMaps, &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{
				Name: rootCAName, Namespace: k.Name, Annotations: map[string]string{"kubernetes.io/description": caDescription},
			},
			Data: map[string]string{"ca.crt": ca},
		})))
		return
	}
	if len(have.Data) == 1 && have.Data["ca.crt"] == ca && have.Annotations["kubernetes.io/description"] != "" {
		return
	}
	out.Writes = append(out.Writes, mutation(k, ConfigMaps, "", have, func(now *corev1.ConfigMap) error {
		now.Data = map[string]string{"ca.crt": ca}
		if now.Annotations == nil {
			now.Annotations = map[string]string{}
		}
		now.Annotations["kubernetes.io/description"] = caDescription
		return nil
	}))
}

// unlessThere makes a create that does not mind finding the object, or its namespace going.
func unlessThere(w Write) Write {
	w.Ignore = func(err error) bool { return There(err) || Gone(err) || terminating(err) }
	return w
}
