// Requests for devices: what ResourceClaim and ResourceClaimTemplate ask for,
// and the configuration that DeviceClass can add. What tags on the Go types
// declare is in devices_declared.go.
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
			defaultTolerations(r.Exactly.Tolerations)
		}
		for j := range r.FirstAvailable {
			defaultCount(&r.FirstAvailable[j].AllocationMode, &r.FirstAvailable[j].Count)
			defaultTolerations(r.FirstAvailable[j].Tolerations)
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

func defaultTolerations(list []resourcev1.DeviceToleration) {
	for i := range list {
		if list[i].Operator == "" {
			list[i].Operator = resourcev1.DeviceTolerationOpEqual
		}
	}
}

// dropDerived removes derived attributes, which upstream has behind a gate that is off.
func dropDerived(spec *resourcev1.ResourceClaimSpec) {
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			r.Exactly.DerivedAttributes = nil
		}
		for j := range r.FirstAvailable {
			r.FirstAvailable[j].DerivedAttributes = nil
		}
	}
}

func validateClaimSpec(spec *resourcev1.ResourceClaimSpec, path *field.Path) field.ErrorList {
	claim, path := &spec.Devices, path.Child("devices")
	names := namesOf(claim)
	all := each(claim.Requests, resourcev1.DeviceRequestsMaxSize, path.Child("requests"), validateRequest)
	all = append(all, each(claim.Constraints, resourcev1.DeviceConstraintsMaxSize, path.Child("constraints"),
		func(c *resourcev1.DeviceConstraint, at *field.Path) field.ErrorList {
			all := names.validateAll(c.Requests, at.Child("requests"))
			if c.MatchAttribute == nil && c.DistinctAttribute == nil {
				all = append(all, field.Required(at, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
			}
			return all
		})...)
	return append(all, each(claim.Config, resourcev1.DeviceConfigMaxSize, path.Child("config"),
		func(c *resourcev1.DeviceClaimConfiguration, at *field.Path) field.ErrorList {
			return append(names.validateAll(c.Requests, at.Child("requests")), validateConfig(&c.DeviceConfiguration, at)...)
		})...)
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
		e, path := r.Exactly, path.Child("exactly")
		all = append(all, className(e.DeviceClassName, path.Child("deviceClassName"))...)
		return append(all, validateWanted(e.Selectors, e.AllocationMode, e.Count, e.Tolerations, path)...)
	}
	return append(all, each(r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize, path.Child("firstAvailable"),
		func(s *resourcev1.DeviceSubRequest, at *field.Path) field.ErrorList {
			all := common.DNSLabel(s.Name, at.Child("name"))
			return append(all, validateWanted(s.Selectors, s.AllocationMode, s.Count, s.Tolerations, at)...)
		})...)
}

func validateWanted(selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, count int64,
	tolerations []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	all := each(selectors, resourcev1.DeviceSelectorsMaxSize, path.Child("selectors"), validateSelector)
	switch mode {
	case resourcev1.DeviceAllocationModeAll:
		if count != 0 {
			all = append(all, field.Invalid(path.Child("count"), count, fmt.Sprintf("must not be specified when allocationMode is '%s'", mode)))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if count <= 0 {
			all = append(all, field.Invalid(path.Child("count"), count, "must be greater than zero"))
		}
	}
	return append(all, each(tolerations, len(tolerations), path.Child("tolerations"), validateToleration)...)
}

func validateConfig(c *resourcev1.DeviceConfiguration, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path.Child("opaque"), "")}
	}
	return jsonObject(c.Opaque.Parameters, resourcev1.OpaqueParametersMaxLength, path.Child("opaque", "parameters"))
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
	return common.Invalid(validation.IsValidLabelValue(value), value, path)
}

func validateToleration(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists:
		if t.Value != "" {
			return field.ErrorList{field.Invalid(path.Child("value"), t.Value, "must be empty for operator `Exists`")}
		}
	case resourcev1.DeviceTolerationOpEqual:
		return labelValue(t.Value, path.Child("value"))
	}
	return nil
}

func validateTaint(t *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	all := metavalidation.ValidateLabelName(t.Key, path.Child("key"))
	if t.Value != "" {
		all = append(all, labelValue(t.Value, path.Child("value"))...)
	}
	return all
}
