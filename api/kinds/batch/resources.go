package batch

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// Resources lists batch/v1 in discovery's order.
func Resources() []*kinds.Resource { return []*kinds.Resource{cronJobs(), jobs()} }

func gvk(kind string) schema.GroupVersionKind { return batchv1.SchemeGroupVersion.WithKind(kind) }

// single makes a Resource with one version, which is its hub.
func single(r kinds.Resource, v *kinds.Version) *kinds.Resource {
	r.Group, r.Kind, r.Namespaced = v.GVK.Group, v.GVK.Kind, true
	r.Versions, r.Hub = []*kinds.Version{v}, v
	return &r
}
