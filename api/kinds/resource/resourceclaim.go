// ResourceClaim asks for devices; the scheduler writes the allocation into the
// status, drivers report on the devices there. The spec never changes, and an
// allocation only goes away as a whole.
package resource

import (
	"fmt"
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
		Default:     defaultResourceClaim,
		ResetFields: []string{"status"},
		PrepareForCreate: func(_ *kinds.Context, obj *resourcev1.ResourceClaim) {
			obj.Status = resourcev1.ResourceClaimStatus{}
			dropDerived(&obj.Spec)
		},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) {
			obj.Status = old.Status
			dropDerived(&obj.Spec)
		},
		Validate: func(r *kinds.Context, obj *resourcev1.ResourceClaim) field.ErrorList {
			all := adminOnly(r, &obj.Spec, obj.Namespace)
			all = append(all, validateClaimSpec(&obj.Spec, field.NewPath("spec"))...)
			return append(all, declaredClaim(&obj.Spec.Devices, field.NewPath("spec", "devices"))...)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) field.ErrorList {
			return common.Frozen(obj.Spec, old.Spec, field.NewPath("spec"))
		},
	}
	status := common.Typed[resourcev1.ResourceClaim, *resourcev1.ResourceClaim]{
		Default:     defaultResourceClaim,
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
			dropSkipped(obj)
			dropDeallocated(obj, old)
		},
		ValidateUpdate: validateClaimStatus,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "resourceclaims", Singular: "resourceclaim", Kind: gvk.Kind, ReturnsDeleted: true, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/resourceclaims",
		Strategy:     main.Strategy(),
		Subresources: []*kinds.Subresource{common.UnprintedStatus(gvk, status.Strategy())},
	}
}

func defaultResourceClaim(obj *resourcev1.ResourceClaim) {
	defaultClaim(&obj.Spec)
	if a := obj.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			defaultTolerations(a.Devices.Results[i].Tolerations)
		}
	}
}

// adminOnly: access to devices that others use takes a namespace that an administrator labelled for it.
func adminOnly(r *kinds.Context, spec *resourcev1.ResourceClaimSpec, namespace string) field.ErrorList {
	for i, q := range spec.Devices.Requests {
		if q.Exactly != nil && asksForAdmin(q.Exactly.AdminAccess) {
			return adminNamespace(r, namespace, field.NewPath("spec", "devices", "requests").Index(i).Child("adminAccess"))
		}
	}
	return nil
}

// adminOnlyStatus is the same for a claim that is being allocated.
func adminOnlyStatus(r *kinds.Context, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	at := func(a *resourcev1.AllocationResult) int {
		if a == nil {
			return -1
		}
		return slices.IndexFunc(a.Devices.Results, func(r resourcev1.DeviceRequestAllocationResult) bool { return asksForAdmin(r.AdminAccess) })
	}
	i := at(obj.Status.Allocation)
	if i < 0 || at(old.Status.Allocation) >= 0 {
		return nil
	}
	return adminNamespace(r, obj.Namespace, field.NewPath("status", "allocation", "devices", "results").Index(i).Child("adminAccess"))
}

func asksForAdmin(flag *bool) bool { return flag != nil && *flag }

func adminNamespace(r *kinds.Context, namespace string, path *field.Path) field.ErrorList {
	obj, err := r.Reader.Get(r.Ctx, schema.GroupResource{Resource: "namespaces"}, "", namespace)
	if err != nil {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("could not retrieve namespace to verify admin access: %w", err))}
	}
	if ns, ok := obj.(*corev1.Namespace); ok && ns.Labels[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "admin access to devices requires the `"+resourcev1.DRAAdminNamespaceLabelKey+": true` label on the containing namespace")}
}

// sharedDevice is an allocated device, or a share of one. A fault prints it, with these names.
type sharedDevice struct{ Driver, Pool, Device, ShareID string }

func allocated(a *resourcev1.AllocationResult) map[sharedDevice]bool {
	out := map[sharedDevice]bool{}
	if a == nil {
		return out
	}
	for _, r := range a.Devices.Results {
		d := sharedDevice{Driver: r.Driver, Pool: r.Pool, Device: r.Device}
		if r.ShareID != nil {
			d.ShareID = string(*r.ShareID)
		}
		out[d] = true
	}
	return out
}

func statusDevice(d *resourcev1.AllocatedDeviceStatus) sharedDevice {
	return sharedDevice{Driver: d.Driver, Pool: d.Pool, Device: d.Device, ShareID: deref(d.ShareID)}
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

// dropSkipped removes the node operations to skip, which upstream has behind a gate that is off.
func dropSkipped(obj *resourcev1.ResourceClaim) {
	if a := obj.Status.Allocation; a != nil {
		for i := range a.Devices.Results {
			a.Devices.Results[i].SkipNodeOperations = nil
		}
	}
}
