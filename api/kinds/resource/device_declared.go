// What the Go types of devices and counters declare.
package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// declaredSlice does not look at a list that is as it was, nor at a counter set.
func declaredSlice(spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	path := field.NewPath("spec")
	var all field.ErrorList
	if !common.Equal(spec.Devices, old.Devices) {
		all = declared(spec.Devices, len(spec.Devices), path.Child("devices"), nil, declaredDevice)
	}
	if common.Equal(spec.SharedCounters, old.SharedCounters) {
		return all
	}
	return append(all, declared(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets, path.Child("sharedCounters"),
		func(a, b *resourcev1.CounterSet) bool { return a.Name == b.Name },
		func(c *resourcev1.CounterSet, at *field.Path) field.ErrorList {
			return declaredCounters("name", c.Name, c.Counters, at)
		})...)
}

func declaredDevice(d *resourcev1.Device, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, name := range sorted(d.Attributes) {
		a := d.Attributes[name]
		all = append(all, declaredAttribute(&a, path.Child("attributes").Key(string(name)))...)
	}
	all = append(all, declared(d.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice, path.Child("consumesCounters"),
		func(a, b *resourcev1.DeviceCounterConsumption) bool { return a.CounterSet == b.CounterSet },
		func(c *resourcev1.DeviceCounterConsumption, at *field.Path) field.ErrorList {
			return declaredCounters("counterSet", c.CounterSet, c.Counters, at)
		})...)
	all = append(all, declared(d.Taints, len(d.Taints), path.Child("taints"), nil, func(t *resourcev1.DeviceTaint, at *field.Path) field.ErrorList {
		return declaredEffect(t.Effect, at.Child("effect"))
	})...)
	return append(all, declaredBinding(d.BindingConditions, d.BindingFailureConditions, path)...)
}

func declaredBinding(conditions, failures []string, path *field.Path) field.ErrorList {
	all := common.AtMost(conditions, resourcev1.BindingConditionsMaxSize, path.Child("bindingConditions"))
	return append(all, common.AtMost(failures, resourcev1.BindingFailureConditionsMaxSize, path.Child("bindingFailureConditions"))...)
}

// declaredAttribute: an attribute has one value. The lists of values are members too, though a gate keeps them empty.
func declaredAttribute(a *resourcev1.DeviceAttribute, path *field.Path) field.ErrorList {
	member := func(name string) validate.UnionMember { return validate.NewUnionMember(name) }
	union := validate.NewUnionMembership(member("int"), member("bool"), member("string"), member("version"),
		member("ints"), member("bools"), member("strings"), member("versions"))
	type is = validate.ExtractorFn[*resourcev1.DeviceAttribute, bool]
	unset := is(func(*resourcev1.DeviceAttribute) bool { return false })
	return validate.Union(context.Background(), operation.Operation{}, path, a, nil, union,
		func(a *resourcev1.DeviceAttribute) bool { return a.IntValue != nil },
		func(a *resourcev1.DeviceAttribute) bool { return a.BoolValue != nil },
		func(a *resourcev1.DeviceAttribute) bool { return a.StringValue != nil },
		func(a *resourcev1.DeviceAttribute) bool { return a.VersionValue != nil },
		unset, unset, unset, unset)
}

// declaredCounters checks a set of counters that is called name in the field called what.
func declaredCounters(what, name string, counters map[string]resourcev1.Counter, path *field.Path) field.ErrorList {
	all := common.Wanted(name, path.Child(what), validate.ShortName)
	if len(counters) == 0 {
		return append(all, field.Required(path.Child("counters"), ""))
	}
	for _, c := range sorted(counters) {
		all = append(all, common.Holds(c, path.Child("counters"), validate.ShortName)...)
	}
	return all
}
