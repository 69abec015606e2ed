package core

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/authentication"
	"kuberow/api/kinds/common"
)

// A ServiceAccount is a name that tokens are made out to. POST to its token
// subresource signs one (package authentication).

const enforceMountable = "kubernetes.io/enforce-mountable-secrets"

func serviceAccounts() *kinds.Resource {
	return single(kinds.Resource{
		Name: "serviceaccounts", Singular: "serviceaccount", ReturnsDeleted: true, ShortNames: []string{"sa"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/serviceaccounts", StorageVersionHash: "pbx9ZvyFpBE=",
		Strategy: common.Typed[corev1.ServiceAccount, *corev1.ServiceAccount]{
			PrepareForCreate: func(_ *kinds.Context, s *corev1.ServiceAccount) { onlyNames(s.Secrets) },
			PrepareForUpdate: func(_ *kinds.Context, s, _ *corev1.ServiceAccount) { onlyNames(s.Secrets) },
			Warnings:         serviceAccountWarnings,
		}.Strategy(),
		Subresources: []*kinds.Subresource{{
			Name: "token", GVK: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), Verbs: []string{"create"},
			Default: authentication.DefaultTokenRequest, Create: authentication.CreateToken,
		}},
	}, common.Version[corev1.ServiceAccount, corev1.ServiceAccountList](gvk("ServiceAccount")))
}

// onlyNames: a ServiceAccount's secrets are always of its own namespace.
func onlyNames(refs []corev1.ObjectReference) {
	for i := range refs {
		refs[i] = corev1.ObjectReference{Name: refs[i].Name}
	}
}

func serviceAccountWarnings(_ *kinds.Context, s, old *corev1.ServiceAccount) []string {
	if old != nil {
		if _, had := old.Annotations[enforceMountable]; had {
			return nil
		}
	}
	if _, has := s.Annotations[enforceMountable]; !has {
		return nil
	}
	return []string{"metadata.annotations[" + enforceMountable + "]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"}
}
