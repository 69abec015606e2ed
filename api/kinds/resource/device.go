// One device of a ResourceSlice: attributes, capacity, taints, counters.
// What tags on the Go types declare is in device_declared.go.
package resource

import (
	"fmt"
	"regexp"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// validateDevice: old is the device of that name before, nil when there was none. What is as it was is not looked at.
func validateDevice(d, old *resourcev1.Device, placed bool, path *field.Path) field.ErrorList {
	all := common.DNSLabel(d.Name, path.Child("name"))
	const max = resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice
	if n := len(d.Attributes) + len(d.Capacity); n > max {
		all = append(all, field.Invalid(path, n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", max)))
	}
	attributes, taints := path.Child("attributes"), path.Child("taints")
	for _, name := range sorted(d.Attributes) {
		all = append(all, qualifiedName(string(name), attributes)...)
		a := d.Attributes[name]
		all = append(all, validateAttribute(&a, attributes.Key(shorten(string(name), maxQualifiedName)))...)
	}
	if old == nil || !common.Equal(old.Capacity, d.Capacity) {
		all = append(all, validateCapacity(d, path.Child("capacity"))...)
	}
	if old == nil || !common.Equal(old.Taints, d.Taints) {
		all = append(all, common.AtMost(d.Taints, resourcev1.DeviceTaintsMaxLength, taints)...)
		all = append(all, each(d.Taints, resourcev1.DeviceTaintsMaxLength, taints, validateTaint)...)
	}
	all = append(all, each(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice, path.Child("consumesCounters"),
		func(c *resourcev1.DeviceCounterConsumption, at *field.Path) field.ErrorList {
			return common.MaxKeys(c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption, at.Child("counters"))
		})...)
	all = append(all, validateDevicePlace(d, placed, path)...)
	return append(all, validateBinding(d.BindingConditions, d.BindingFailureConditions, path)...)
}

func validateDevicePlace(d *resourcev1.Device, placed bool, path *field.Path) field.ErrorList {
	if !placed {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			return field.ErrorList{field.Invalid(path, nil, "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
		}
		return nil
	}
	p := place{path: path}
	p.nodeName(d.NodeName, "must not be empty")
	p.nodeSelector(d.NodeSelector)
	p.flag(d.AllNodes, "allNodes")
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	return p.exactlyOne(one, one)
}

// validateBinding: both kinds of condition are needed to use either, and none stands twice.
func validateBinding(conditions, failures []string, path *field.Path) field.ErrorList {
	at, failed := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	name := func(c *string, at *field.Path) field.ErrorList { return metavalidation.ValidateLabelName(*c, at) }
	itself := func(c *string) string { return *c }
	all := each(conditions, resourcev1.BindingConditionsMaxSize, at, name)
	all = append(all, each(failures, resourcev1.BindingFailureConditionsMaxSize, failed, name)...)
	all = append(all, duplicates(conditions, at, itself)...)
	for i, c := range failures {
		if slices.Contains(failures[:i], c) {
			all = append(all, field.Duplicate(failed.Index(i), c))
		}
		if slices.Contains(conditions, c) {
			all = append(all, field.Invalid(failed.Index(i), c, "bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	switch {
	case len(conditions) == 0 && len(failures) > 0:
		all = append(all, field.Invalid(at, conditions, "bindingConditions are required to use bindingFailureConditions"))
	case len(failures) == 0 && len(conditions) > 0:
		all = append(all, field.Invalid(failed, failures, "bindingFailureConditions are required to use bindingConditions"))
	}
	return all
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

// maxQualifiedName: a domain, a slash and an identifier.
const maxQualifiedName = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength

// shorten cuts the middle out of a long key, which would make a path unreadable.
func shorten(key string, max int) string {
	if len(key) <= max {
		return key
	}
	const dots = "..."
	rest := max - len(dots)
	return key[:(rest+1)/2] + dots + key[len(key)-rest/2:]
}
