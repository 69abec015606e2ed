// ResourceClaim asks for devices; the scheduler writes the allocation into the
// status, drivers report on the devices there. The spec never changes, and an
// allocation only goes away as a whole.
package resource

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func resourceClaims() *kinds.Resource {
	gvk := resourcev1.SchemeGroupVersion.WithKind("ResourceClaim")
	v1 := common.Version[resourcev1.ResourceClaim, resourcev1.ResourceClaimList](gvk)
	main := common.Typed[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]{
		Default:          func(obj *resourcev1.ResourceClaim) { defaultClaim(&obj.Spec) },
		ResetFields:      []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *resourcev1.ResourceClaim) { obj.Status = resourcev1.ResourceClaimStatus{} },
		PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) { obj.Status = old.Status },
		Validate: func(r *kinds.Context, obj *resourcev1.ResourceClaim) field.ErrorList {
			all := adminOnly(r, &obj.Spec, obj.Namespace)
			return append(all, validateClaimSpec(&obj.Spec, field.NewPath("spec"))...)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) field.ErrorList {
			return common.Immutable(obj.Spec, old.Spec, field.NewPath("spec"))
		},
	}
	status := common.Typed[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
			dropDeallocated(obj, old)
		},
		ValidateUpdate: validateClaimStatus,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "resourceclaims", Singular: "resourceclaim", Kind: gvk.Kind, ReturnsDeleted: true, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/resourceclaims",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(gvk, status.Strategy())},
	}
}

// adminOnly: access to devices that others use takes a namespace that an administrator labelled for it.
func adminOnly(r *kinds.Context, spec *resourcev1.ResourceClaimSpec, namespace string) field.ErrorList {
	var asks []int
	for i, q := range spec.Devices.Requests {
		if q.Exactly != nil && q.Exactly.AdminAccess != nil && *q.Exactly.AdminAccess {
			asks = append(asks, i)
		}
	}
	if len(asks) == 0 {
		return nil
	}
	path := field.NewPath("spec", "devices", "requests")
	obj, err := r.Reader.Get(r.Ctx, schema.GroupResource{Resource: "namespaces"}, "", namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path.Index(asks[0]).Child("adminAccess"), err)}
	}
	if ns, ok := obj.(*corev1.Namespace); ok && ns.Labels[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	var all field.ErrorList
	for _, i := range asks {
		all = append(all, field.Forbidden(path.Index(i).Child("exactly", "adminAccess"),
			"admin access to devices requires the `"+resourcev1.DRAAdminNamespaceLabelKey+": true` label on the containing namespace"))
	}
	return all
}

// device names an allocated device, or a share of one.
func device(driver, pool, name, share string) string {
	return driver + "/" + pool + "/" + name + "/" + share
}

func allocated(a *resourcev1.AllocationResult) map[string]bool {
	out := map[string]bool{}
	if a == nil {
		return out
	}
	for _, r := range a.Devices.Results {
		share := ""
		if r.ShareID != nil {
			share = string(*r.ShareID)
		}
		out[device(r.Driver, r.Pool, r.Device, share)] = true
	}
	return out
}

func statusDevice(d *resourcev1.AllocatedDeviceStatus) string {
	share := ""
	if d.ShareID != nil {
		share = *d.ShareID
	}
	return device(d.Driver, d.Pool, d.Device, share)
}

// dropDeallocated removes the reports on devices that this update gives back.
func dropDeallocated(obj, old *resourcev1.ResourceClaim) {
	was, is := allocated(old.Status.Allocation), allocated(obj.Status.Allocation)
	kept := slices.DeleteFunc(obj.Status.Devices, func(d resourcev1.AllocatedDeviceStatus) bool {
		id := statusDevice(&d)
		return was[id] && !is[id]
	})
	if len(kept) == 0 {
		kept = nil
	}
	obj.Status.Devices = kept
}
