package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Resources lists the resources of rbac.authorization.k8s.io, in discovery's order.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{clusterRoleBindings(), clusterRoles(), roleBindings(), roles()}
}

func gvk(kind string) schema.GroupVersionKind { return rbacv1.SchemeGroupVersion.WithKind(kind) }

// resource fills in what the four have in common.
func resource(r kinds.Resource, v *kinds.Version) *kinds.Resource {
	r.Group, r.Kind, r.Verbs, r.Prefix = rbacv1.GroupName, v.GVK.Kind, common.Verbs(), "/registry/"+r.Name
	r.Versions, r.Hub = []*kinds.Version{v}, v
	return &r
}
