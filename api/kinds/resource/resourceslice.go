// ResourceSlice lists devices of one driver in one pool, on one node or on
// many; drivers write it.
package resource

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

type slice = resourcev1.ResourceSlice

func resourceSlices() *kinds.Resource {
	gvk := resourcev1.SchemeGroupVersion.WithKind("ResourceSlice")
	v1 := common.Version[slice, resourcev1.ResourceSliceList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "resourceslices", Singular: "resourceslice", Kind: gvk.Kind, ReturnsDeleted: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/resourceslices",
		Strategy: common.Typed[slice, *slice]{
			PrepareForCreate: func(r *kinds.Context, obj *slice) {
				obj.Generation = 1
				dropGated(obj)
				stampAll(r, obj)
			},
			PrepareForUpdate: func(r *kinds.Context, obj, old *slice) {
				stampAll(r, obj)
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
				dropGated(obj) // after the generation: upstream counts what it then drops
			},
			Validate: func(_ *kinds.Context, obj *slice) field.ErrorList {
				all := validateSlice(&obj.Spec, nil)
				return append(all, declaredSlice(&obj.Spec, &resourcev1.ResourceSliceSpec{})...)
			},
			FreeUpdate: true,
			ValidateUpdate: func(_ *kinds.Context, obj, old *slice) field.ErrorList {
				return append(validateSlice(&obj.Spec, &old.Spec), declaredSlice(&obj.Spec, &old.Spec)...)
			},
			Warnings: func(_ *kinds.Context, obj, _ *slice) []string {
				if obj.Spec.Driver == strings.ToLower(obj.Spec.Driver) {
					return nil
				}
				return []string{fmt.Sprintf("spec.driver: driver names should be lowercase; %q contains uppercase characters", obj.Spec.Driver)}
			},
			Fields:     sliceFields,
			FieldNames: []string{"spec.driver", "spec.nodeName", "spec.pool.name"},
			UnknownField: func(gvk schema.GroupVersionKind, name string) error {
				return fmt.Errorf("field label not supported for %s: %s", gvk, name)
			},
		}.Strategy(),
	}
}

func sliceFields(obj *slice) []sqlstore.Pair {
	return common.Pairs("spec.driver", obj.Spec.Driver, "spec.nodeName", deref(obj.Spec.NodeName), "spec.pool.name", obj.Spec.Pool.Name)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func stampAll(r *kinds.Context, obj *slice) {
	for i := range obj.Spec.Devices {
		for j := range obj.Spec.Devices[i].Taints {
			stamp(&obj.Spec.Devices[i].Taints[j], r.Now)
		}
	}
}

func validateSlice(spec, old *resourcev1.ResourceSliceSpec) field.ErrorList {
	path := field.NewPath("spec")
	all := driverName(spec.Driver, path.Child("driver"))
	all = append(all, validatePool(&spec.Pool, path.Child("pool"))...)
	if old != nil {
		all = append(all, common.Immutable(spec.Pool.Name, old.Pool.Name, path.Child("pool", "name"))...)
		all = append(all, common.Immutable(spec.Driver, old.Driver, path.Child("driver"))...)
		all = append(all, common.Immutable(spec.NodeName, old.NodeName, path.Child("nodeName"))...)
	}
	all = append(all, validatePlace(spec, path)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		all = append(all, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	max, devices := resourcev1.ResourceSliceMaxDevices, path.Child("devices")
	for i := range spec.Devices {
		if len(spec.Devices[i].Taints) > 0 || len(spec.Devices[i].ConsumesCounters) > 0 {
			max = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
		}
	}
	all = append(all, common.AtMost(spec.Devices, max, devices)...)
	all = append(all, each(spec.Devices, max, devices, func(d *resourcev1.Device, at *field.Path) field.ErrorList {
		return validateDevice(d, deviceCalled(d.Name, old), spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection, at)
	})...)
	if len(spec.Devices) <= max {
		all = append(all, duplicates(spec.Devices, devices, func(d *resourcev1.Device) string { return d.Name })...)
	}
	return append(all, each(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets, path.Child("sharedCounters"),
		func(c *resourcev1.CounterSet, at *field.Path) field.ErrorList {
			return common.MaxKeys(c.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet, at.Child("counters"))
		})...)
}

func deviceCalled(name string, spec *resourcev1.ResourceSliceSpec) *resourcev1.Device {
	if spec == nil {
		return nil
	}
	if i := slices.IndexFunc(spec.Devices, func(d resourcev1.Device) bool { return d.Name == name }); i >= 0 {
		return &spec.Devices[i]
	}
	return nil
}

func validatePool(p *resourcev1.ResourcePool, path *field.Path) field.ErrorList {
	all := poolName(p.Name, path.Child("name"))
	if p.ResourceSliceCount <= 0 {
		all = append(all, field.Invalid(path.Child("resourceSliceCount"), p.ResourceSliceCount, "must be greater than zero"))
	}
	if p.Generation < 0 {
		all = append(all, field.Invalid(path.Child("generation"), p.Generation, "must be greater than or equal to zero"))
	}
	return all
}

// validatePlace: the devices are on one node, on selected ones, on all, or each device says where.
func validatePlace(spec *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	p := place{path: path}
	p.nodeName(spec.NodeName, "must be either unset or set to a non-empty string")
	p.nodeSelector(spec.NodeSelector)
	if s := spec.NodeSelector; s != nil && len(s.NodeSelectorTerms) != 1 {
		p.all = append(p.all, field.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"), common.Internal(s.NodeSelectorTerms), "must have exactly one node selector term"))
	}
	p.flag(spec.AllNodes, "allNodes")
	p.flag(spec.PerDeviceNodeSelection, "perDeviceNodeSelection")
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	return p.exactlyOne(one, one+", but multiple fields are set")
}

// dropGated removes what upstream has behind gates that are off.
func dropGated(obj *slice) {
	obj.Spec.PartitionTypeAttribute, obj.Spec.SkipNodeOperations = nil, nil
	for i := range obj.Spec.Devices {
		d := &obj.Spec.Devices[i]
		d.NodeAllocatableResources = nil
		for j := range d.ConsumesCounters {
			d.ConsumesCounters[j].CompatibilityGroups = nil
		}
		for name, a := range d.Attributes {
			a.BoolValues, a.IntValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
			d.Attributes[name] = a
		}
	}
}
