package controllers

import (
	"slices"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Each group and version that a CustomResourceDefinition serves has an
// APIService, which comes and goes with it. Key: the APIService. Woken by it
// and by definitions. One that a person made, without the label, is left alone.

// automanaged is the label of the APIServices that the server keeps.
const automanaged = "kube-aggregator.kubernetes.io/automanaged"

// APIServiceRegistration keeps the APIServices of definitions.
func APIServiceRegistration() Controller {
	return Controller{
		Name: "crd-apiservice-registration-controller", User: serverUser,
		Keys: keyMap{APIServices: itself, CustomResourceDefinitions: versionKeys},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				registerVersion(v, k, &out)
			}
			return out
		},
	}
}

// versionKeys names the APIServices of a definition's versions, now and before.
func versionKeys(_ View, c Object) []Key {
	var keys []Key
	for _, obj := range []runtime.Object{c.Now, c.Prev} {
		d, ok := obj.(*v1.CustomResourceDefinition)
		if !ok {
			continue
		}
		for _, version := range d.Spec.Versions {
			if k := (Key{Name: version.Name + "." + d.Spec.Group}); !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// registerVersion brings an APIService to what the definitions say.
func registerVersion(v View, k Key, out *Outcome) {
	want := versionServed(v, k.Name)
	have := get[*apiregistrationv1.APIService](v, APIServices, "", k.Name)
	var w Write
	switch {
	case have == nil && want == nil:
		return
	case have == nil:
		w = creation(k, APIServices, &apiregistrationv1.APIService{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
			ObjectMeta: metav1.ObjectMeta{Name: k.Name, Labels: map[string]string{automanaged: "true"}},
			Spec:       *want,
		})
		w.Ignore = There
	case have.Labels[automanaged] != "true" || have.DeletionTimestamp != nil:
		return
	case want == nil:
		w = deletion(k, APIServices, have)
	case equality.Semantic.DeepEqual(have.Spec, *want):
		return
	default:
		w = mutation(k, APIServices, "", have, func(now *apiregistrationv1.APIService) error {
			now.Spec = *want
			return nil
		})
		w.Ignore = Gone
	}
	w.Agent = serverManager
	out.Writes = append(out.Writes, w)
}

// versionServed gives the spec of the APIService called name, nil when no definition serves that group and version.
func versionServed(v View, name string) *apiregistrationv1.APIServiceSpec {
	for _, d := range typed[*v1.CustomResourceDefinition](v.List(CustomResourceDefinitions, "", nil)) {
		for _, version := range d.Spec.Versions {
			if version.Served && version.Name+"."+d.Spec.Group == name {
				// Custom resources come after what the server has built in.
				return &apiregistrationv1.APIServiceSpec{Group: d.Spec.Group, Version: version.Name, GroupPriorityMinimum: 1000, VersionPriority: 100}
			}
		}
	}
	return nil
}
