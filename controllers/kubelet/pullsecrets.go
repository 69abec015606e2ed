package kubelet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pullSecrets gives the credentials of the pod's imagePullSecrets.
func (k *Kubelet) pullSecrets(ctx context.Context, pod *corev1.Pod) []RegistryAuth {
	var out []RegistryAuth
	var missing []string
	for _, r := range pod.Spec.ImagePullSecrets {
		if r.Name == "" {
			continue
		}
		s, err := k.secret(ctx, pod.Namespace, r.Name)
		if err != nil {
			missing = append(missing, r.Name)
			continue
		}
		out = append(out, registryAuths(s)...)
	}
	if len(missing) > 0 {
		k.event(pod, "", corev1.EventTypeWarning, "FailedToRetrieveImagePullSecret",
			fmt.Sprintf("Unable to retrieve some image pull secrets (%s); attempting to pull the image may not succeed.", strings.Join(missing, ", ")))
	}
	return out
}

// registryAuths reads a secret of the type dockerconfigjson or dockercfg.
func registryAuths(s *corev1.Secret) []RegistryAuth {
	type entry struct{ Username, Password, Auth string }
	var config struct{ Auths map[string]entry }
	switch s.Type {
	case corev1.SecretTypeDockerConfigJson:
		if json.Unmarshal(s.Data[corev1.DockerConfigJsonKey], &config) != nil {
			return nil
		}
	case corev1.SecretTypeDockercfg:
		if json.Unmarshal(s.Data[corev1.DockerConfigKey], &config.Auths) != nil {
			return nil
		}
	}
	var out []RegistryAuth
	for registry, e := range config.Auths {
		a := RegistryAuth{Registry: registry, Username: e.Username, Password: e.Password}
		if a.Username == "" {
			if plain, err := base64.StdEncoding.DecodeString(e.Auth); err == nil {
				a.Username, a.Password, _ = strings.Cut(string(plain), ":")
			}
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b RegistryAuth) int { return strings.Compare(a.Registry, b.Registry) })
	return out
}
