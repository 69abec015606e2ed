// What the status of a ResourceClaim must look like.
package resource

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

const (
	maxDeviceConditions = 8
	maxDeviceData       = 10 * 1024

	maxAllocationConfig = 2 * resourcev1.DeviceConfigMaxSize // a class and the claim may each bring a full list
)

func validateClaimStatus(r *kinds.Context, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	path, status := field.NewPath("status"), &obj.Status
	all := adminOnlyStatus(r, obj, old)
	all = append(all, each(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize, path.Child("reservedFor"), validateConsumer)...)
	devices := allocated(status.Allocation)
	all = append(all, each(status.Devices, len(status.Devices), path.Child("devices"),
		func(d *resourcev1.AllocatedDeviceStatus, at *field.Path) field.ErrorList {
			return validateDeviceStatus(d, devices, at)
		})...)
	all = append(all, validateReserved(obj, old, path.Child("reservedFor"))...)
	if a := status.Allocation; a != nil && old.Status.Allocation == nil {
		at := path.Child("allocation")
		all = append(all, validateAllocation(&a.Devices, namesOf(&obj.Spec.Devices), at.Child("devices"))...)
		if a.NodeSelector != nil {
			all = append(all, core.ValidateNodeSelector(a.NodeSelector, at.Child("nodeSelector"))...)
		}
	}
	return append(all, declaredStatus(status, &old.Status, path)...)
}

func validateConsumer(c *resourcev1.ResourceClaimConsumerReference, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, f := range []struct{ name, value string }{{"resource", c.Resource}, {"name", c.Name}, {"uid", string(c.UID)}} {
		if f.value == "" {
			all = append(all, field.Required(path.Child(f.name), ""))
		}
	}
	return all
}

func validateReserved(obj, old *resourcev1.ResourceClaim, path *field.Path) field.ErrorList {
	if len(obj.Status.ReservedFor) == 0 {
		return nil
	}
	if obj.Status.Allocation == nil {
		return field.ErrorList{field.Forbidden(path, "may not be specified when `allocated` is not set")}
	}
	if obj.DeletionTimestamp == nil {
		return nil
	}
	for _, c := range obj.Status.ReservedFor {
		if !slices.Contains(old.Status.ReservedFor, c) {
			return field.ErrorList{field.Forbidden(path, "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set")}
		}
	}
	return nil
}

func validateAllocation(a *resourcev1.DeviceAllocationResult, names requestNames, path *field.Path) field.ErrorList {
	all := each(a.Results, resourcev1.AllocationResultsMaxSize, path.Child("results"),
		func(r *resourcev1.DeviceRequestAllocationResult, at *field.Path) field.ErrorList {
			all := names.validate(r.Request, at.Child("request"))
			all = append(all, common.DNSLabel(r.Device, at.Child("device"))...)
			all = append(all, validateBinding(r.BindingConditions, r.BindingFailureConditions, at)...)
			return append(all, each(r.Tolerations, len(r.Tolerations), at.Child("tolerations"), validateToleration)...)
		})
	return append(all, each(a.Config, maxAllocationConfig, path.Child("config"),
		func(c *resourcev1.DeviceAllocationConfiguration, at *field.Path) field.ErrorList {
			return append(names.validateAll(c.Requests, at.Child("requests")), validateConfig(&c.DeviceConfiguration, at)...)
		})...)
}

func validateDeviceStatus(d *resourcev1.AllocatedDeviceStatus, devices map[sharedDevice]bool, path *field.Path) field.ErrorList {
	all := driverName(d.Driver, path.Child("driver"))
	all = append(all, poolName(d.Pool, path.Child("pool"))...)
	all = append(all, common.DNSLabel(d.Device, path.Child("device"))...)
	if !devices[statusDevice(d)] {
		all = append(all, field.Invalid(path, statusDevice(d), "must be an allocated device in the claim"))
	}
	if n := len(d.Conditions); n > maxDeviceConditions {
		all = append(all, field.TooMany(path.Child("conditions"), n, maxDeviceConditions))
	}
	all = append(all, metavalidation.ValidateConditions(d.Conditions, path.Child("conditions"))...)
	if d.Data != nil && len(d.Data.Raw) > 0 {
		all = append(all, jsonObject(*d.Data, maxDeviceData, path.Child("data"))...)
	}
	return append(all, validateNetwork(d.NetworkData, path.Child("networkData"))...)
}

func validateNetwork(n *resourcev1.NetworkDeviceData, path *field.Path) field.ErrorList {
	if n == nil {
		return nil
	}
	return each(n.IPs, resourcev1.NetworkDeviceDataMaxIPs, path.Child("ips"),
		func(ip *string, at *field.Path) field.ErrorList { return validation.IsValidInterfaceAddress(at, *ip) })
}

// declaredStatus is what the Go types of the status declare. What is as it was is not looked at.
func declaredStatus(status, old *resourcev1.ResourceClaimStatus, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if a, at := status.Allocation, path.Child("allocation"); a != nil && old.Allocation == nil {
		all = declaredAllocation(&a.Devices, at.Child("devices"))
	} else if a != nil && !common.Equal(a, old.Allocation) {
		all = field.ErrorList{field.Invalid(at, nil, "field cannot be modified once set")}
	}
	if !common.Equal(status.ReservedFor, old.ReservedFor) {
		all = append(all, declared(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize, path.Child("reservedFor"),
			func(a, b *resourcev1.ResourceClaimConsumerReference) bool { return a.UID == b.UID }, nil)...)
	}
	if common.Equal(status.Devices, old.Devices) {
		return all
	}
	return append(all, declared(status.Devices, len(status.Devices), path.Child("devices"),
		func(a, b *resourcev1.AllocatedDeviceStatus) bool { return statusDevice(a) == statusDevice(b) }, declaredDeviceStatus)...)
}

func declaredAllocation(a *resourcev1.DeviceAllocationResult, path *field.Path) field.ErrorList {
	all := declared(a.Results, resourcev1.AllocationResultsMaxSize, path.Child("results"), nil,
		func(r *resourcev1.DeviceRequestAllocationResult, at *field.Path) field.ErrorList {
			all := declaredDriver(r.Driver, at.Child("driver"))
			all = append(all, common.Wanted(r.Pool, at.Child("pool"), validate.ResourcePoolName)...)
			all = append(all, declaredTolerations(r.Tolerations, at.Child("tolerations"))...)
			all = append(all, declaredBinding(r.BindingConditions, r.BindingFailureConditions, at)...)
			if r.ShareID != nil {
				all = append(all, common.Holds(*r.ShareID, at.Child("shareID"), validate.UUID)...)
			}
			return all
		})
	return append(all, declared(a.Config, maxAllocationConfig, path.Child("config"), nil,
		func(c *resourcev1.DeviceAllocationConfiguration, at *field.Path) field.ErrorList {
			all := common.OneOf(c.Source, at.Child("source"), resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
			all = append(all, declaredNames(c.Requests, at.Child("requests"))...)
			return append(all, declaredConfig(&c.DeviceConfiguration, at)...)
		})...)
}

func declaredDeviceStatus(d *resourcev1.AllocatedDeviceStatus, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if d.ShareID != nil {
		all = common.Holds(*d.ShareID, path.Child("shareID"), validate.UUID)
	}
	n, at := d.NetworkData, path.Child("networkData")
	if n == nil {
		return all
	}
	all = append(all, common.MaxBytes(n.InterfaceName, resourcev1.NetworkDeviceDataInterfaceNameMaxLength, at.Child("interfaceName"))...)
	all = append(all, declared(n.IPs, resourcev1.NetworkDeviceDataMaxIPs, at.Child("ips"), validate.DirectEqual, nil)...)
	return append(all, common.MaxBytes(n.HardwareAddress, resourcev1.NetworkDeviceDataHardwareAddressMaxLength, at.Child("hardwareAddress"))...)
}
