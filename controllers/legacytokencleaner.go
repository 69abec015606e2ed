package controllers

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/api/auth"
)

// Kubernetes up to 1.23 made a Secret with a token for every service account,
// unasked, and listed it in the account. Those that nobody has used for a year, and no
// pod names, are marked invalid; when a year later nobody took the mark off they are deleted. Key{}
// once a day. The API server writes the days of use (api/auth), since a day that it keeps in a ConfigMap.

const (
	tokenCleanerPeriod = 24 * time.Hour
	tokenUnusedFor     = 365 * 24 * time.Hour // --legacy-service-account-token-clean-up-period
	tokenTracking      = "kube-apiserver-legacy-service-account-token-tracking"
)

// LegacyTokenCleaner is legacy-serviceaccount-token-cleaner-controller.
func LegacyTokenCleaner() Controller {
	return Controller{
		Name: "legacy-serviceaccount-token-cleaner-controller", Account: "legacy-service-account-token-cleaner", Every: tokenCleanerPeriod,
		Step: func(v View, _ []Key) Outcome {
			var out Outcome
			if !trackedLongEnough(v) {
				return out
			}
			for _, s := range typed[*corev1.Secret](v.List(Secrets, "", nil)) {
				if tokenUnused(s, v.Now()) && madeUnasked(v, s) && !namedByPod(v, s) {
					retireToken(v, s, &out)
				}
			}
			return out
		},
	}
}

// trackedLongEnough tells whether an absent day of use says anything yet.
func trackedLongEnough(v View) bool {
	m := get[*corev1.ConfigMap](v, ConfigMaps, metav1.NamespaceSystem, tokenTracking)
	if m == nil {
		return false
	}
	since, err := time.Parse(time.DateOnly, m.Data["since"])
	return err == nil && !v.Now().UTC().Before(since.AddDate(0, 0, 1).Add(tokenUnusedFor))
}

// tokenUnused tells whether a token's Secret is old and was not used lately. A day of use that cannot be read may be any.
func tokenUnused(s *corev1.Secret, now time.Time) bool {
	limit := now.UTC().Add(-tokenUnusedFor)
	if s.Type != corev1.SecretTypeServiceAccountToken || s.DeletionTimestamp != nil || !s.CreationTimestamp.Time.Before(limit) {
		return false
	}
	used, there := s.Labels[auth.LastUsedLabel]
	if !there {
		return true
	}
	_, err := time.Parse(time.DateOnly, used)
	return err == nil && used < limit.Format(time.DateOnly)
}

// madeUnasked tells whether the account of the Secret lists it.
func madeUnasked(v View, s *corev1.Secret) bool {
	account := get[*corev1.ServiceAccount](v, ServiceAccounts, s.Namespace, s.Annotations[corev1.ServiceAccountNameKey])
	if account == nil {
		return false
	}
	if uid := s.Annotations[corev1.ServiceAccountUIDKey]; uid != "" && uid != string(account.UID) {
		return false
	}
	return slices.ContainsFunc(account.Secrets, func(ref corev1.ObjectReference) bool { return ref.Name == s.Name })
}

func namedByPod(v View, s *corev1.Secret) bool {
	return slices.ContainsFunc(typed[*corev1.Pod](v.List(Pods, s.Namespace, nil)), func(p *corev1.Pod) bool {
		return slices.Contains(auth.PodSecrets(p), s.Name)
	})
}

// retireToken marks the Secret, or deletes it when the mark is old.
func retireToken(v View, s *corev1.Secret, out *Outcome) {
	now := v.Now().UTC()
	since := s.Labels[auth.InvalidSinceLabel]
	if _, err := time.Parse(time.DateOnly, since); err == nil {
		if since < now.Add(-tokenUnusedFor).Format(time.DateOnly) {
			w := deletion(NameKey(s), Secrets, s)
			w.ResourceVersion = s.ResourceVersion // a use or a hand that took the mark off came first
			w.Ignore = func(err error) bool { return Gone(err) || apierrors.IsConflict(err) }
			out.Writes = append(out.Writes, w)
		}
		return
	}
	w := mutation(NameKey(s), Secrets, "", s, func(live *corev1.Secret) error {
		if live.Labels == nil {
			live.Labels = map[string]string{}
		}
		live.Labels[auth.InvalidSinceLabel] = now.Format(time.DateOnly)
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	out.Writes = append(out.Writes, w)
}
