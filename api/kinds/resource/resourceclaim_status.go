// What the status of a ResourceClaim must look like.
package resource

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const (
	maxDeviceConditions = 8
	maxDeviceData       = 10 * 1024
)

func validateClaimStatus(_ *kinds.Context, obj, old *resourcev1.ResourceClaim) field.ErrorList {
	path, status := field.NewPath("status"), &obj.Status
	all := each(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize, path.Child("reservedFor"), validateConsumer,
		func(c *resourcev1.ResourceClaimConsumerReference) string { return string(c.UID) })
	devices := allocated(status.Allocation)
	all = append(all, each(status.Devices, -1, path.Child("devices"),
		func(d *resourcev1.AllocatedDeviceStatus, at *field.Path) field.ErrorList {
			return validateDeviceStatus(d, devices, at)
		}, statusDevice)...)
	all = append(all, validateReserved(obj, old, path.Child("reservedFor"))...)
	if status.Allocation == nil {
		return all
	}
	allocation := path.Child("allocation")
	if old.Status.Allocation != nil {
		return append(all, common.Immutable(status.Allocation, old.Status.Allocation, allocation)...)
	}
	return append(all, validateAllocation(&status.Allocation.Devices, namesOf(&obj.Spec.Devices), allocation.Child("devices"))...)
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
			all = append(all, driverName(r.Driver, at.Child("driver"))...)
			all = append(all, poolName(r.Pool, at.Child("pool"))...)
			all = append(all, common.DNSLabel(r.Device, at.Child("device"))...)
			return append(all, each(r.Tolerations, -1, at.Child("tolerations"), validateToleration, nil)...)
		}, nil)
	// A class and the claim may each bring a full list.
	return append(all, each(a.Config, 2*resourcev1.DeviceConfigMaxSize, path.Child("config"),
		func(c *resourcev1.DeviceAllocationConfiguration, at *field.Path) field.ErrorList {
			all := names.validateAll(c.Requests, at.Child("requests"))
			all = append(all, validateConfig(&c.DeviceConfiguration, at)...)
			return append(all, common.OneOf(c.Source, at.Child("source"), resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)...)
		}, nil)...)
}

func validateDeviceStatus(d *resourcev1.AllocatedDeviceStatus, devices map[string]bool, path *field.Path) field.ErrorList {
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
	all := each(n.IPs, resourcev1.NetworkDeviceDataMaxIPs, path.Child("ips"),
		func(ip *string, at *field.Path) field.ErrorList { return validation.IsValidInterfaceAddress(at, *ip) },
		func(ip *string) string { return *ip })
	all = append(all, common.MaxBytes(n.InterfaceName, resourcev1.NetworkDeviceDataInterfaceNameMaxLength, path.Child("interfaceName"))...)
	return append(all, common.MaxBytes(n.HardwareAddress, resourcev1.NetworkDeviceDataHardwareAddressMaxLength, path.Child("hardwareAddress"))...)
}
