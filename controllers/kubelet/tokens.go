package kubelet

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Projected volumes, and the service account tokens in them: asked for when
// the pod starts, and again when 80 % of their life (or a day) is over.

// projectedToken is a token that has been asked for.
type projectedToken struct {
	token string
	renew time.Time
}

// projectedFiles collects all sources of a projected volume.
func (k *Kubelet) projectedFiles(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, set *volumeSet, into *fileSet) error {
	m := mode(v.Projected.DefaultMode)
	for _, s := range v.Projected.Sources {
		var err error
		switch {
		case s.ConfigMap != nil:
			err = k.configMapFiles(ctx, pod, s.ConfigMap.Name, s.ConfigMap.Items, m, s.ConfigMap.Optional, into)
		case s.Secret != nil:
			err = k.secretFiles(ctx, pod, s.Secret.Name, s.Secret.Items, m, s.Secret.Optional, into)
		case s.DownwardAPI != nil:
			err = k.downwardFiles(pod, s.DownwardAPI.Items, m, into)
		case s.ServiceAccountToken != nil:
			if k.sim == nil {
				err = k.tokenFile(ctx, pod, v.Name, s.ServiceAccountToken, m, set, into)
			}
		case s.ClusterTrustBundle != nil:
			if o := s.ClusterTrustBundle.Optional; o == nil || !*o {
				err = fmt.Errorf("ClusterTrustBundle projection is not supported in static kubelet mode")
			}
		default:
			err = fmt.Errorf("unsupported source of a projected volume")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tokenFile adds a token, a new one when there is none or it is old.
func (k *Kubelet) tokenFile(ctx context.Context, pod *corev1.Pod, volume string, s *corev1.ServiceAccountTokenProjection, mode int32, set *volumeSet, into *fileSet) error {
	key, now := volume+"/"+s.Path, k.Clock.Now()
	t, ok := set.tokens[key]
	if !ok || !now.Before(t.renew) {
		fresh, err := k.requestToken(ctx, pod, s, now)
		if err != nil {
			if ok {
				fresh = projectedToken{t.token, now.Add(time.Minute)}
			} else {
				return fmt.Errorf("failed to fetch token: %w", err)
			}
		}
		t = fresh
		set.tokens[key] = t
	}
	if set.refresh.IsZero() || t.renew.Before(set.refresh) {
		set.refresh = t.renew
	}
	into.add(s.Path, []byte(t.token), mode)
	return nil
}

func (k *Kubelet) requestToken(ctx context.Context, pod *corev1.Pod, s *corev1.ServiceAccountTokenProjection, now time.Time) (projectedToken, error) {
	if k.Tokens == nil {
		return projectedToken{}, fmt.Errorf("no source of tokens")
	}
	req := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: s.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if s.Audience != "" {
		req.Spec.Audiences = []string{s.Audience}
	}
	got, err := k.Tokens(ctx, pod.Namespace, pod.Spec.ServiceAccountName, req)
	if err != nil {
		return projectedToken{}, err
	}
	return projectedToken{got.Status.Token, renewAt(now, got.Status.ExpirationTimestamp)}, nil
}

// renewAt is when 80 % of a token's life is over, a day at most.
func renewAt(now time.Time, expires metav1.Time) time.Time {
	life := expires.Sub(now)
	return now.Add(min(life*8/10, 24*time.Hour))
}
