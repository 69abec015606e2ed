package flowcontrol

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

type flowSchema = flowcontrolv1.FlowSchema

const (
	defaultPrecedence int32 = 1000
	lastPrecedence    int32 = 10000
)

func flowSchemas() *kinds.Resource {
	strategy := common.Typed[flowSchema, *flowSchema]{
		Default: func(o *flowSchema) {
			if o.Spec.MatchingPrecedence == 0 {
				o.Spec.MatchingPrecedence = defaultPrecedence
			}
		},
		PrepareForCreate: func(_ *kinds.Context, o *flowSchema) {
			o.Status, o.Generation = flowcontrolv1.FlowSchemaStatus{}, 1
		},
		PrepareForUpdate: func(_ *kinds.Context, o, old *flowSchema) {
			common.BumpGeneration(o, old, !common.Equal(o.Spec, old.Spec))
			o.Status = old.Status
		},
		Validate:       func(_ *kinds.Context, o *flowSchema) field.ErrorList { return validateFlowSchema(o) },
		ValidateUpdate: func(_ *kinds.Context, o, _ *flowSchema) field.ErrorList { return validateFlowSchema(o) },
		ResetFields:    []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(_ *kinds.Context, o, old *flowSchema) {
		managed := o.ManagedFields
		o.ObjectMeta, o.Spec = old.ObjectMeta, old.Spec
		o.ManagedFields = managed
	}
	status.ValidateUpdate = func(_ *kinds.Context, o, _ *flowSchema) field.ErrorList { return validateFlowSchemaStatus(o) }
	status.ResetFields = []string{"metadata", "spec"}
	v := common.Version[flowSchema, flowcontrolv1.FlowSchemaList](gvk("FlowSchema"))
	return resource(kinds.Resource{
		Name: "flowschemas", Singular: "flowschema", StorageVersionHash: "GJVAJZSZBIw=", Strategy: strategy.Strategy(),
	}, v, status.Strategy())
}

func validateFlowSchema(o *flowSchema) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateFlowSchemaSpec(o, path)
	if want := fixedFlowSchema(o.Name); want != nil && !common.Equal(o.Spec, *want) {
		errs = append(errs, field.Invalid(path, common.Internal(o.Spec), fmt.Sprintf("spec of '%s' must equal the fixed value", o.Name)))
	}
	return append(errs, validateFlowSchemaStatus(o)...)
}

func validateFlowSchemaSpec(o *flowSchema, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	precedence := path.Child("matchingPrecedence")
	if p := o.Spec.MatchingPrecedence; p <= 0 {
		errs = append(errs, field.Invalid(precedence, p, "must be a positive value"))
	} else if p > lastPrecedence {
		errs = append(errs, field.Invalid(precedence, p, fmt.Sprintf("must not be greater than %v", lastPrecedence)))
	} else if p == 1 && o.Name != flowcontrolv1.FlowSchemaNameExempt {
		errs = append(errs, field.Invalid(precedence, p, "only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	if d := o.Spec.DistinguisherMethod; d != nil && d.Type != flowcontrolv1.FlowDistinguisherMethodByNamespaceType && d.Type != flowcontrolv1.FlowDistinguisherMethodByUserType {
		errs = append(errs, field.NotSupported(path.Child("distinguisherMethod", "type"), common.Internal(d), []string{"ByNamespace", "ByUser"}))
	}
	level := path.Child("priorityLevelConfiguration", "name")
	if name := o.Spec.PriorityLevelConfiguration.Name; name == "" {
		errs = append(errs, field.Required(level, "must reference a priority level"))
	} else {
		errs = append(errs, common.Invalid(apivalidation.NameIsDNSSubdomain(name, false), name, level)...)
	}
	for i := range o.Spec.Rules {
		errs = append(errs, validateFlowRules(&o.Spec.Rules[i], path.Child("rules").Index(i))...)
	}
	return errs
}

func validateFlowSchemaStatus(o *flowSchema) field.ErrorList {
	path := field.NewPath("status", "conditions")
	seen := map[flowcontrolv1.FlowSchemaConditionType]bool{}
	var errs field.ErrorList
	for i, c := range o.Status.Conditions {
		if seen[c.Type] {
			errs = append(errs, field.Duplicate(path.Index(i).Child("type"), c.Type))
		}
		seen[c.Type] = true
		if c.Type == "" {
			errs = append(errs, field.Required(path.Index(i).Child("type"), ""))
		}
	}
	return errs
}
