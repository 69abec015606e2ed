package flowcontrol

import (
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Resources lists the resources of flowcontrol.apiserver.k8s.io, in discovery's order.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{flowSchemas(), priorityLevels()}
}

func gvk(kind string) schema.GroupVersionKind { return flowcontrolv1.SchemeGroupVersion.WithKind(kind) }

func resource(r kinds.Resource, v *kinds.Version, status *kinds.Strategy) *kinds.Resource {
	r.Group, r.Kind, r.Verbs, r.Prefix = flowcontrolv1.GroupName, v.GVK.Kind, common.Verbs(), "/registry/"+r.Name
	r.Versions, r.Hub = []*kinds.Version{v}, v
	r.Subresources = []*kinds.Subresource{common.Status(v.GVK, status)}
	return &r
}
