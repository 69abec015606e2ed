package apiextensions

import (
	"slices"
	"testing"

	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestStoredVersions: a new storage version is remembered beside the old; of two that claim to be it, only the first.
func TestStoredVersions(t *testing.T) {
	for _, c := range []struct{ storage, want []string }{
		{[]string{"v1"}, []string{"v1"}},
		{[]string{"v2"}, []string{"v1", "v2"}},
		{[]string{"v1", "v2"}, []string{"v1"}},
		{nil, []string{"v1"}},
	} {
		obj := new(definition)
		obj.Status.StoredVersions = []string{"v1"}
		for _, name := range []string{"v1", "v2"} {
			obj.Spec.Versions = append(obj.Spec.Versions, v1.CustomResourceDefinitionVersion{Name: name, Storage: slices.Contains(c.storage, name)})
		}
		if rememberStored(obj); !slices.Equal(obj.Status.StoredVersions, c.want) {
			t.Errorf("%v are stored: got %v, want %v", c.storage, obj.Status.StoredVersions, c.want)
		}
	}
}
