package controllers

import (
	"bytes"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
)

// A Secret of type kubernetes.io/service-account-token gets a token of the
// service account that its annotation names, with the CA and the namespace beside
// it, and gets them again when they are taken out. It goes when that account
// is gone, or is another one of the same name. Key: a Secret, with the UID of the account
// that it says it is for. Woken by the Secret, and by an account's end.

// SignToken makes the token of t.Secret, which has no end.
type SignToken func(t kinds.Token) (string, error)

// ServiceAccountToken is serviceaccount-token-controller. It alone works as kube-controller-manager itself: it
// makes what the other controllers would show their accounts with.
func ServiceAccountToken(sign SignToken) Controller {
	return Controller{
		Name: "serviceaccount-token-controller", User: "system:kube-controller-manager",
		Keys: keyMap{
			Secrets: func(_ View, c Object) []Key { return tokenSecretKeys(c.Current()) },
			ServiceAccounts: func(v View, c Object) (keys []Key) {
				if c.Prev == nil || c.Now != nil && accessor(c.Now).GetUID() == accessor(c.Prev).GetUID() {
					return nil
				}
				m := accessor(c.Prev)
				for _, s := range typed[*corev1.Secret](v.List(Secrets, m.GetNamespace(), nil)) {
					if s.Annotations[corev1.ServiceAccountNameKey] == m.GetName() {
						keys = append(keys, tokenSecretKeys(s)...)
					}
				}
				return keys
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				syncTokenSecret(v, k, sign, &out)
			}
			return out
		},
	}
}

// tokenSecretKeys gives the key of a Secret that is to hold a token, and nothing for any other.
func tokenSecretKeys(obj runtime.Object) []Key {
	s, ok := obj.(*corev1.Secret)
	if !ok || s.Type != corev1.SecretTypeServiceAccountToken || s.Annotations[corev1.ServiceAccountNameKey] == "" {
		return nil
	}
	return []Key{{Namespace: s.Namespace, Name: s.Name, UID: types.UID(s.Annotations[corev1.ServiceAccountUIDKey])}}
}

// syncTokenSecret fills the Secret or deletes it; when it is gone the account forgets it.
func syncTokenSecret(v View, k Key, sign SignToken, out *Outcome) {
	secret := get[*corev1.Secret](v, Secrets, k.Namespace, k.Name)
	if secret == nil || secret.Type != corev1.SecretTypeServiceAccountToken {
		forgetSecret(v, k, out)
		return
	}
	account := get[*corev1.ServiceAccount](v, ServiceAccounts, k.Namespace, secret.Annotations[corev1.ServiceAccountNameKey])
	uid := secret.Annotations[corev1.ServiceAccountUIDKey]
	if account == nil || uid != "" && uid != string(account.UID) {
		out.Writes = append(out.Writes, deletion(k, Secrets, secret))
		return
	}
	ca := v.Cluster().CertificateCA
	if sign == nil || !tokenSecretLacks(secret, ca) {
		return
	}
	w := mutation(k, Secrets, "", secret, func(now *corev1.Secret) error { return fillTokenSecret(now, account, ca, sign) })
	w.Ignore = func(err error) bool { return Gone(err) || apierrors.IsInvalid(err) } // immutable: nothing will help
	out.Writes = append(out.Writes, w)
}

// tokenSecretLacks tells whether something is missing that every such Secret has.
func tokenSecretLacks(s *corev1.Secret, ca []byte) bool {
	return len(s.Data[corev1.ServiceAccountTokenKey]) == 0 || len(s.Data[corev1.ServiceAccountNamespaceKey]) == 0 ||
		len(ca) > 0 && !bytes.Equal(s.Data[corev1.ServiceAccountRootCAKey], ca)
}

// fillTokenSecret puts in what is missing. A token that is there stays, whatever it is.
func fillTokenSecret(s *corev1.Secret, account *corev1.ServiceAccount, ca []byte, sign SignToken) error {
	if !tokenSecretLacks(s, ca) {
		return nil
	}
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	if len(ca) > 0 {
		s.Data[corev1.ServiceAccountRootCAKey] = ca
	}
	if len(s.Data[corev1.ServiceAccountNamespaceKey]) == 0 {
		s.Data[corev1.ServiceAccountNamespaceKey] = []byte(s.Namespace)
	}
	if len(s.Data[corev1.ServiceAccountTokenKey]) == 0 {
		token, err := sign(kinds.Token{
			Namespace: s.Namespace, Account: kinds.Bound{Name: account.Name, UID: string(account.UID)}, Secret: &kinds.Bound{Name: s.Name},
		})
		if err != nil {
			return err
		}
		s.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	}
	s.Annotations[corev1.ServiceAccountNameKey] = account.Name
	s.Annotations[corev1.ServiceAccountUIDKey] = string(account.UID)
	return nil
}

// forgetSecret takes a Secret that is gone out of its account's list.
func forgetSecret(v View, k Key, out *Outcome) {
	same := func(ref corev1.ObjectReference) bool { return ref.Name == k.Name }
	for _, account := range typed[*corev1.ServiceAccount](v.List(ServiceAccounts, k.Namespace, nil)) {
		if account.UID != k.UID || !slices.ContainsFunc(account.Secrets, same) {
			continue
		}
		w := mutation(k, ServiceAccounts, "", account, func(now *corev1.ServiceAccount) error {
			now.Secrets = slices.DeleteFunc(now.Secrets, same)
			return nil
		})
		w.Ignore = Gone
		out.Writes = append(out.Writes, w)
	}
}
