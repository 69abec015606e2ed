// What the Go types of requests, tolerations and configurations declare.
package resource

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

func declaredClaim(claim *resourcev1.DeviceClaim, path *field.Path) field.ErrorList {
	all := declared(claim.Requests, resourcev1.DeviceRequestsMaxSize, path.Child("requests"),
		func(a, b *resourcev1.DeviceRequest) bool { return a.Name == b.Name }, declaredRequest)
	all = append(all, declared(claim.Constraints, resourcev1.DeviceConstraintsMaxSize, path.Child("constraints"), nil, declaredConstraint)...)
	return append(all, declared(claim.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"), nil,
		func(c *resourcev1.DeviceClaimConfiguration, at *field.Path) field.ErrorList {
			return append(declaredNames(c.Requests, at.Child("requests")), declaredConfig(&c.DeviceConfiguration, at)...)
		})...)
}

func declaredRequest(r *resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if e := r.Exactly; e != nil {
		all = declaredWanted(e.Selectors, e.AllocationMode, e.Tolerations, path.Child("exactly"))
	}
	return append(all, declared(r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize, path.Child("firstAvailable"),
		func(a, b *resourcev1.DeviceSubRequest) bool { return a.Name == b.Name },
		func(s *resourcev1.DeviceSubRequest, at *field.Path) field.ErrorList {
			all := common.Wanted(s.DeviceClassName, at.Child("deviceClassName"), validate.LongName)
			return append(all, declaredWanted(s.Selectors, s.AllocationMode, s.Tolerations, at)...)
		})...)
}

func declaredWanted(selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, tolerations []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	all := common.AtMost(selectors, resourcev1.DeviceSelectorsMaxSize, path.Child("selectors"))
	if mode != "" {
		all = append(all, common.OneOf(mode, path.Child("allocationMode"), resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)...)
	}
	return append(all, declaredTolerations(tolerations, path.Child("tolerations"))...)
}

func declaredTolerations(list []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	return declared(list, len(list), path, nil, func(t *resourcev1.DeviceToleration, at *field.Path) field.ErrorList {
		var all field.ErrorList
		if t.Key != "" {
			all = common.Holds(t.Key, at.Child("key"), validate.LabelKey)
		}
		all = append(all, common.OneOf(t.Operator, at.Child("operator"), resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)...)
		if t.Effect != "" { // else all effects
			all = append(all, declaredEffect(t.Effect, at.Child("effect"))...)
		}
		return all
	})
}

func declaredEffect(e resourcev1.DeviceTaintEffect, path *field.Path) field.ErrorList {
	return common.OneOf(e, path, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)
}

func declaredConstraint(c *resourcev1.DeviceConstraint, path *field.Path) field.ErrorList {
	all := declaredNames(c.Requests, path.Child("requests"))
	if c.MatchAttribute != nil {
		all = append(all, common.Holds(*c.MatchAttribute, path.Child("matchAttribute"), validate.ResourceFullyQualifiedName)...)
	}
	if c.DistinctAttribute != nil {
		all = append(all, common.Holds(*c.DistinctAttribute, path.Child("distinctAttribute"), validate.ResourceFullyQualifiedName)...)
	}
	return all
}

func declaredConfig(c *resourcev1.DeviceConfiguration, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return nil
	}
	return declaredDriver(c.Opaque.Driver, path.Child("opaque", "driver"))
}

func declaredDriver(name string, path *field.Path) field.ErrorList {
	return common.Wanted(name, path, validate.LongNameCaseless, common.MaxLength[string](maxDriverName))
}

// declaredNames: the requests that a constraint, a configuration or a result refers to.
func declaredNames(list []string, path *field.Path) field.ErrorList {
	return declared(list, resourcev1.DeviceRequestsMaxSize, path, validate.DirectEqual, nil)
}

// declared checks the size of a list, and if that is well, that no two items are the same, and then each of them.
func declared[T any](list []T, max int, path *field.Path, same func(a, b *T) bool, check func(*T, *field.Path) field.ErrorList) field.ErrorList {
	if len(list) > max {
		return common.AtMost(list, max, path)
	}
	var all field.ErrorList
	if same != nil {
		all = common.Unique(list, path, same)
	}
	if check != nil {
		all = append(all, each(list, max, path, check)...)
	}
	return all
}
