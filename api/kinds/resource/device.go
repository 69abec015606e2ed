// One device of a ResourceSlice: attributes, capacity, taints, counters.
package resource

import (
	"fmt"
	"regexp"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

func validateDevice(d *resourcev1.Device, placed bool, path *field.Path) field.ErrorList {
	all := common.DNSLabel(d.Name, path.Child("name"))
	const max = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	if n := len(d.Attributes) + len(d.Capacity); n > max {
		all = append(all, field.Invalid(path, n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", max)))
	}
	attributes, capacity := path.Child("attributes"), path.Child("capacity")
	for _, name := range sorted(d.Attributes) {
		all = append(all, qualifiedName(string(name), attributes)...)
		a := d.Attributes[name]
		all = append(all, validateAttribute(&a, attributes.Key(string(name)))...)
	}
	many := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for _, name := range sorted(d.Capacity) {
		all = append(all, qualifiedName(string(name), capacity)...)
		if d.Capacity[name].RequestPolicy != nil && !many {
			all = append(all, field.Forbidden(capacity.Key(string(name)).Child("requestPolicy"), "allowMultipleAllocations must be true"))
		}
	}
	all = append(all, each(d.Taints, resourcev1.DeviceTaintsMaxLength, path.Child("taints"),
		func(t *resourcev1.DeviceTaint, at *field.Path) field.ErrorList { return validateTaint(t, nil, at) }, nil)...)
	all = append(all, each(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice, path.Child("consumesCounters"),
		func(c *resourcev1.DeviceCounterConsumption, at *field.Path) field.ErrorList {
			return validateCounters("counterSet", c.CounterSet, c.Counters, at)
		}, func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet })...)
	return append(all, validateDevicePlace(d, placed, path)...)
}

func validateDevicePlace(d *resourcev1.Device, placed bool, path *field.Path) field.ErrorList {
	set := 0
	for _, is := range []bool{d.NodeName != nil, d.NodeSelector != nil, d.AllNodes != nil} {
		if is {
			set++
		}
	}
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	switch {
	case !placed && set > 0:
		return field.ErrorList{field.Invalid(path, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
	case placed && set == 0:
		return field.ErrorList{field.Required(path, one)}
	case placed && set > 1:
		return field.ErrorList{field.Invalid(path, nil, one)}
	}
	return nil
}

// semver is the grammar of semver.org, version 2.0.0.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?` +
	`(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$`)

func validateAttribute(a *resourcev1.DeviceAttribute, path *field.Path) field.ErrorList {
	const max = resourcev1.DeviceAttributeMaxValueLength
	var all field.ErrorList
	if a.StringValue != nil {
		all = append(all, common.MaxBytes(*a.StringValue, max, path.Child("string"))...)
	}
	if v := a.VersionValue; v != nil {
		if !semver.MatchString(*v) {
			all = append(all, field.Invalid(path.Child("version"), *v, "must be a string compatible with semver.org spec 2.0.0"))
		}
		all = append(all, common.MaxBytes(*v, max, path.Child("version"))...)
	}
	set := 0
	for _, is := range []bool{a.BoolValue != nil, a.IntValue != nil, a.StringValue != nil, a.VersionValue != nil,
		a.BoolValues != nil, a.IntValues != nil, a.StringValues != nil, a.VersionValues != nil} {
		if is {
			set++
		}
	}
	switch set {
	case 0:
		all = append(all, field.Invalid(path, "", "exactly one value must be specified"))
	case 1:
	default:
		all = append(all, field.Invalid(path, *a, "exactly one value must be specified"))
	}
	return all
}

// validateCounters checks a set of counters that is called name in the field called what.
func validateCounters(what, name string, counters map[string]resourcev1.Counter, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if name == "" {
		all = append(all, field.Required(path.Child(what), ""))
	} else {
		all = append(all, common.DNSLabel(name, path.Child(what))...)
	}
	if len(counters) == 0 {
		all = append(all, field.Required(path.Child("counters"), ""))
	}
	for _, c := range sorted(counters) {
		all = append(all, common.DNSLabel(c, path.Child("counters"))...)
	}
	return all
}

// sorted gives the keys in order, so that the same object gets the same answer.
func sorted[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
