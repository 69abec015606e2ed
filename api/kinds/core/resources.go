package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// Resources lists the core group in discovery's order. The token subresource of
// serviceaccounts has no Create: package auth signs tokens, and the wiring sets it.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{
		bindings(),
		componentStatuses(),
		configMaps(),
		endpoints(),
		events(),
		limitRanges(),
		namespaces(),
		nodes(),
		persistentVolumeClaims(),
		persistentVolumes(),
		pods(),
		podTemplates(),
		replicationControllers(),
		resourceQuotas(),
		secrets(),
		serviceAccounts(),
		services(),
	}
}

// gvk names a kind of /api/v1.
func gvk(kind string) schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind(kind) }

// single makes a Resource with one version, which is its hub.
func single(r kinds.Resource, v *kinds.Version) *kinds.Resource {
	r.Kind = v.GVK.Kind
	r.Group = v.GVK.Group
	r.Versions = []*kinds.Version{v}
	r.Hub = v
	return &r
}
