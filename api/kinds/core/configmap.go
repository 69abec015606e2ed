package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A ConfigMap has no status. Once immutable it stays as it is until it is deleted.

func configMaps() *kinds.Resource {
	return single(kinds.Resource{
		Name: "configmaps", Singular: "configmap", ShortNames: []string{"cm"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/configmaps", StorageVersionHash: "qFsyl6wFWjQ=",
		Strategy: common.Typed[corev1.ConfigMap, *corev1.ConfigMap]{
			Validate:       validateConfigMap,
			ValidateUpdate: validateConfigMapUpdate,
		}.Strategy(),
	}, common.Version[corev1.ConfigMap, corev1.ConfigMapList](gvk("ConfigMap")))
}

func validateConfigMap(_ *kinds.Context, c *corev1.ConfigMap) field.ErrorList {
	var all field.ErrorList
	total := 0
	for _, key := range common.Keys(c.Data) {
		path, value := field.NewPath("data").Key(key), c.Data[key]
		all = append(all, configKey(key, path)...)
		if _, twice := c.BinaryData[key]; twice {
			all = append(all, field.Invalid(path, key, "duplicate of key present in binaryData"))
		}
		total += len(value)
	}
	for _, key := range common.Keys(c.BinaryData) {
		path, value := field.NewPath("binaryData").Key(key), c.BinaryData[key]
		all = append(all, configKey(key, path)...)
		total += len(value)
	}
	if total > corev1.MaxSecretSize {
		all = append(all, field.TooLong(field.NewPath(""), "", corev1.MaxSecretSize))
	}
	return all
}

func validateConfigMapUpdate(r *kinds.Context, c, old *corev1.ConfigMap) field.ErrorList {
	var all field.ErrorList
	if old.Immutable != nil && *old.Immutable {
		if c.Immutable == nil || !*c.Immutable {
			all = append(all, immutableSet("immutable"))
		}
		if !common.Equal(c.Data, old.Data) {
			all = append(all, immutableSet("data"))
		}
		if !common.Equal(c.BinaryData, old.BinaryData) {
			all = append(all, immutableSet("binaryData"))
		}
	}
	return append(all, validateConfigMap(r, c)...)
}

// immutableSet refuses a change because the object says that it is immutable.
func immutableSet(name string) *field.Error {
	return field.Forbidden(field.NewPath(name), "field is immutable when `immutable` is set")
}

// configKey checks a key of a ConfigMap or Secret: it becomes a file name.
func configKey(key string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, m := range validation.IsConfigMapKey(key) {
		all = append(all, field.Invalid(path, key, m))
	}
	return all
}
