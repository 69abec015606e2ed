// Requests for devices: what ResourceClaim and ResourceClaimTemplate ask for,
// and the configuration that DeviceClass can add. CEL selectors are checked
// for presence and length; the scheduler compiles what it evaluates.
package resource

import (
	"bytes"
	"encoding/json"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

func defaultClaim(spec *resourcev1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			defaultCount(&r.Exactly.AllocationMode, &r.Exactly.Count)
		}
		for j := range r.FirstAvailable {
			defaultCount(&r.FirstAvailable[j].AllocationMode, &r.FirstAvailable[j].Count)
		}
	}
}

func defaultCount(mode *resourcev1.DeviceAllocationMode, count *int64) {
	if *mode == "" {
		*mode = resourcev1.DeviceAllocationModeExactCount
	}
	if *mode == resourcev1.DeviceAllocationModeExactCount && *count == 0 {
		*count = 1
	}
}

func validateClaimSpec(spec *resourcev1.ResourceClaimSpec, path *field.Path) field.ErrorList {
	claim, path := &spec.Devices, path.Child("devices")
	names := namesOf(claim)
	all := each(claim.Requests, resourcev1.DeviceRequestsMaxSize, path.Child("requests"), validateRequest,
		func(r *resourcev1.DeviceRequest) string { return r.Name })
	all = append(all, each(claim.Constraints, resourcev1.DeviceConstraintsMaxSize, path.Child("constraints"),
		func(c *resourcev1.DeviceConstraint, at *field.Path) field.ErrorList {
			return validateConstraint(c, names, at)
		}, nil)...)
	return append(all, each(claim.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"),
		func(c *resourcev1.DeviceClaimConfiguration, at *field.Path) field.ErrorList {
			return append(names.validateAll(c.Requests, at.Child("requests")), validateConfig(&c.DeviceConfiguration, at)...)
		}, nil)...)
}

func validateRequest(r *resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	all := common.DNSLabel(r.Name, path.Child("name"))
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		return append(all, field.Required(path, one))
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		return append(all, field.Invalid(path, nil, one+", but multiple fields are set"))
	case r.Exactly != nil:
		e := r.Exactly
		return append(all, validateWanted(e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations, path.Child("exactly"))...)
	}
	return append(all, each(r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize, path.Child("firstAvailable"),
		func(s *resourcev1.DeviceSubRequest, at *field.Path) field.ErrorList {
			all := common.DNSLabel(s.Name, at.Child("name"))
			return append(all, validateWanted(s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations, at)...)
		},
		func(s *resourcev1.DeviceSubRequest) string { return s.Name })...)
}

func validateWanted(class string, selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, count int64,
	tolerations []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	all := className(class, path.Child("deviceClassName"))
	all = append(all, each(selectors, resourcev1.DeviceSelectorsMaxSize, path.Child("selectors"), validateSelector, nil)...)
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if count != 0 {
			all = append(all, field.Invalid(path.Child("count"), count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode)))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if count <= 0 {
			all = append(all, field.Invalid(path.Child("count"), count, "must be greater than zero"))
		}
	default:
		all = append(all, field.NotSupported(path.Child("allocationMode"), mode,
			[]resourcev1.DeviceAllocationMode{resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount}))
	}
	return append(all, each(tolerations, -1, path.Child("tolerations"), validateToleration, nil)...)
}

func validateSelector(s *resourcev1.DeviceSelector, path *field.Path) field.ErrorList {
	if s.CEL == nil {
		return field.ErrorList{field.Required(path.Child("cel"), "")}
	}
	return common.MaxBytes(s.CEL.Expression, resourcev1.CELSelectorExpressionMaxLength, path.Child("cel", "expression"))
}

func validateConstraint(c *resourcev1.DeviceConstraint, names requestNames, path *field.Path) field.ErrorList {
	all := names.validateAll(c.Requests, path.Child("requests"))
	switch {
	case c.MatchAttribute != nil:
		return append(all, fullyQualifiedName(*c.MatchAttribute, path.Child("matchAttribute"))...)
	case c.DistinctAttribute != nil:
		return append(all, fullyQualifiedName(*c.DistinctAttribute, path.Child("distinctAttribute"))...)
	}
	return append(all, field.Required(path, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
}

func validateConfig(c *resourcev1.DeviceConfiguration, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path.Child("opaque"), "")}
	}
	all := jsonObject(c.Opaque.Parameters, resourcev1.OpaqueParametersMaxLength, path.Child("opaque", "parameters"))
	return append(all, driverName(c.Opaque.Driver, path.Child("opaque", "driver"))...)
}

func jsonObject(raw runtime.RawExtension, max int, path *field.Path) field.ErrorList {
	if len(raw.Raw) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(raw.Raw) > max {
		return field.ErrorList{field.TooLong(path, "", max)}
	}
	const hidden = "<value omitted>" // it may hold anything
	var v any
	if err := json.NewDecoder(bytes.NewReader(raw.Raw)).Decode(&v); err != nil {
		return field.ErrorList{field.Invalid(path, hidden, fmt.Sprintf("error parsing data as JSON: %v", err))}
	}
	if v == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	if _, object := v.(map[string]any); !object {
		return field.ErrorList{field.Invalid(path, hidden, "must be a valid JSON object")}
	}
	return nil
}

func labelValue(value string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for _, m := range validation.IsValidLabelValue(value) {
		all = append(all, field.Invalid(path, value, m))
	}
	return all
}

func validateToleration(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if t.Key != "" {
		all = append(all, metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	}
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			all = append(all, field.Invalid(path.Child("value"), t.Value, "must be empty for operator `Exists`"))
		}
	case resourcev1.DeviceTolerationOpEqual:
		all = append(all, labelValue(t.Value, path.Child("value"))...)
	default:
		all = append(all, common.OneOf(t.Operator, path.Child("operator"), resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)...)
	}
	return append(all, validateTolerationEffect(t.Effect, path.Child("effect"))...)
}

func validateTolerationEffect(e resourcev1.DeviceTaintEffect, path *field.Path) field.ErrorList {
	if e == "" {
		return nil // all effects
	}
	return validateEffect(e, path)
}

func validateEffect(e resourcev1.DeviceTaintEffect, path *field.Path) field.ErrorList {
	return common.OneOf(e, path, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNone)
}

// validateTaint: old is the taint that stood there before, nil when there was none.
func validateTaint(t, old *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	all := metavalidation.ValidateLabelName(t.Key, path.Child("key"))
	if t.Value != "" {
		all = append(all, labelValue(t.Value, path.Child("value"))...)
	}
	if old == nil || old.Effect != t.Effect {
		all = append(all, validateEffect(t.Effect, path.Child("effect"))...)
	}
	return all
}
