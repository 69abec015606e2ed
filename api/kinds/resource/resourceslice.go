// ResourceSlice lists devices of one driver in one pool, on one node or on
// many; drivers write it.
package resource

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
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
				stampAll(r, obj)
			},
			PrepareForUpdate: func(r *kinds.Context, obj, old *slice) {
				stampAll(r, obj)
				common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
			},
			Validate:   func(_ *kinds.Context, obj *slice) field.ErrorList { return validateSlice(&obj.Spec, nil) },
			FreeUpdate: true,
			ValidateUpdate: func(_ *kinds.Context, obj, old *slice) field.ErrorList {
				return validateSlice(&obj.Spec, &old.Spec)
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
	max := resourcev1.ResourceSliceMaxDevices
	for i := range spec.Devices {
		if len(spec.Devices[i].Taints) > 0 || len(spec.Devices[i].ConsumesCounters) > 0 {
			max = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
		}
	}
	all = append(all, each(spec.Devices, max, path.Child("devices"), func(d *resourcev1.Device, at *field.Path) field.ErrorList {
		return validateDevice(d, spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection, at)
	}, func(d *resourcev1.Device) string { return d.Name })...)
	return append(all, each(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets, path.Child("sharedCounters"),
		func(c *resourcev1.CounterSet, at *field.Path) field.ErrorList {
			return validateCounters("name", c.Name, c.Counters, at)
		}, func(c *resourcev1.CounterSet) string { return c.Name })...)
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
	var all field.ErrorList
	var set []string
	if n := spec.NodeName; n != nil {
		at := path.Child("nodeName")
		if *n == "" {
			all = append(all, field.Invalid(at, *n, "must be either unset or set to a non-empty string"))
		} else {
			set = append(set, "`nodeName`")
			for _, m := range apivalidation.NameIsDNSSubdomain(*n, false) {
				all = append(all, field.Invalid(at, *n, m))
			}
		}
	}
	if s := spec.NodeSelector; s != nil {
		set = append(set, "`nodeSelector`")
		if len(s.NodeSelectorTerms) != 1 {
			all = append(all, field.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"), s.NodeSelectorTerms, "must have exactly one node selector term"))
		}
	}
	flag := func(value *bool, name string) {
		if value == nil {
			return
		}
		if *value {
			set = append(set, "`"+name+"`")
		} else {
			all = append(all, field.Invalid(path.Child(name), *value, "must be either unset or set to true"))
		}
	}
	flag(spec.AllNodes, "allNodes")
	flag(spec.PerDeviceNodeSelection, "perDeviceNodeSelection")
	return append(all, exactlyOne(set, path, "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`")...)
}
