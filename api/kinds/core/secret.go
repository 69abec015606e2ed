package core

import (
	"crypto/tls"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A Secret's type says which keys it must hold, and never changes. stringData
// is write-only: it is folded into data on the way in.

func secrets() *kinds.Resource {
	return single(kinds.Resource{
		Name: "secrets", Singular: "secret", Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/secrets", StorageVersionHash: "S6u1pOWzb84=",
		Strategy: common.Typed[corev1.Secret, *corev1.Secret]{
			Default:          defaultSecret,
			PrepareForUpdate: keepSecretType,
			Validate:         validateSecret,
			ValidateUpdate:   validateSecretUpdate,
			Warnings:         secretWarnings,
			FieldNames:       []string{"type"},
			Fields:           func(s *corev1.Secret) []sqlstore.Pair { return common.Pairs("type", string(s.Type)) },
		}.Strategy(),
	}, common.Version[corev1.Secret, corev1.SecretList](gvk("Secret")))
}

func defaultSecret(s *corev1.Secret) {
	for key, text := range s.StringData {
		if s.Data == nil {
			s.Data = make(map[string][]byte, len(s.StringData))
		}
		s.Data[key] = []byte(text)
	}
	s.StringData = nil
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
}

func keepSecretType(_ *kinds.Context, s, old *corev1.Secret) {
	if s.Type == "" {
		s.Type = old.Type
	}
}

func validateSecret(_ *kinds.Context, s *corev1.Secret) field.ErrorList {
	var all field.ErrorList
	data, total := field.NewPath("data"), 0
	for _, key := range common.Keys(s.Data) {
		all = append(all, configKey(key, data.Key(key))...)
		total += len(s.Data[key])
	}
	if total > corev1.MaxSecretSize {
		all = append(all, field.TooLong(data, "", corev1.MaxSecretSize))
	}
	return append(all, validateSecretKeys(s, data)...)
}

// validateSecretKeys asks for what the type of a Secret promises.
func validateSecretKeys(s *corev1.Secret, data *field.Path) field.ErrorList {
	has := func(key string) bool { _, there := s.Data[key]; return there }
	missing := func(keys ...string) (all field.ErrorList) {
		for _, key := range keys {
			all = append(all, field.Required(data.Key(key), ""))
		}
		return all
	}
	switch s.Type {
	case corev1.SecretTypeServiceAccountToken:
		if s.Annotations[corev1.ServiceAccountNameKey] == "" {
			return field.ErrorList{field.Required(field.NewPath("metadata", "annotations").Key(corev1.ServiceAccountNameKey), "")}
		}
	case corev1.SecretTypeDockercfg:
		return secretJSON(s, corev1.DockerConfigKey, data)
	case corev1.SecretTypeDockerConfigJson:
		return secretJSON(s, corev1.DockerConfigJsonKey, data)
	case corev1.SecretTypeBasicAuth:
		if !has(corev1.BasicAuthUsernameKey) && !has(corev1.BasicAuthPasswordKey) {
			return missing(corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey)
		}
	case corev1.SecretTypeSSHAuth:
		if len(s.Data[corev1.SSHAuthPrivateKey]) == 0 {
			return missing(corev1.SSHAuthPrivateKey)
		}
	case corev1.SecretTypeTLS:
		var all field.ErrorList
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if !has(key) {
				all = append(all, missing(key)...)
			}
		}
		return all
	}
	return nil
}

// secretJSON wants a key that holds a JSON object; the message does not repeat what it holds.
func secretJSON(s *corev1.Secret, key string, data *field.Path) field.ErrorList {
	text, there := s.Data[key]
	if !there {
		return field.ErrorList{field.Required(data.Key(key), "")}
	}
	if err := json.Unmarshal(text, &map[string]any{}); err != nil {
		return field.ErrorList{field.Invalid(data.Key(key), "<secret contents redacted>", err.Error())}
	}
	return nil
}

func validateSecretUpdate(r *kinds.Context, s, old *corev1.Secret) field.ErrorList {
	all := common.Immutable(s.Type, old.Type, field.NewPath("type"))
	if old.Immutable != nil && *old.Immutable {
		if s.Immutable == nil || !*s.Immutable {
			all = append(all, immutableSet("immutable"))
		}
		if !common.Equal(s.Data, old.Data) {
			all = append(all, immutableSet("data"))
		}
	}
	return append(all, validateSecret(r, s)...)
}

func secretWarnings(_ *kinds.Context, s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}
