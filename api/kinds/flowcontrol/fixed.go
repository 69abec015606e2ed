package flowcontrol

// The objects that keep their meaning: everything of system:masters is exempt,
// and what nothing else matches falls into catch-all.

import (
	"fmt"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// fixedFlowSchema gives the spec that a schema must have, nil for ordinary ones.
func fixedFlowSchema(name string) *flowcontrolv1.FlowSchemaSpec {
	group := func(names ...string) (out []flowcontrolv1.Subject) {
		for _, n := range names {
			out = append(out, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup, Group: &flowcontrolv1.GroupSubject{Name: n}})
		}
		return out
	}
	all := []string{"*"}
	rules := func(subjects []flowcontrolv1.Subject) []flowcontrolv1.PolicyRulesWithSubjects {
		return []flowcontrolv1.PolicyRulesWithSubjects{{
			Subjects:         subjects,
			ResourceRules:    []flowcontrolv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
		}}
	}
	switch name {
	case flowcontrolv1.FlowSchemaNameExempt:
		return &flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
			MatchingPrecedence:         1, Rules: rules(group("system:masters")),
		}
	case flowcontrolv1.FlowSchemaNameCatchAll:
		return &flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
			MatchingPrecedence:         lastPrecedence,
			DistinguisherMethod:        &flowcontrolv1.FlowDistinguisherMethod{Type: flowcontrolv1.FlowDistinguisherMethodByUserType},
			Rules:                      rules(group("system:unauthenticated", "system:authenticated")),
		}
	}
	return nil
}

// validateFixedLevel: of the level exempt only its shares may be changed, of catch-all nothing.
func validateFixedLevel(o *priorityLevel, path *field.Path) field.ErrorList {
	switch o.Name {
	case flowcontrolv1.PriorityLevelConfigurationNameExempt:
		want := flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: o.Spec.Exempt}
		if !common.Equal(o.Spec, want) {
			return field.ErrorList{field.Invalid(path, common.Internal(o.Spec), fmt.Sprintf("spec of '%s' except the 'spec.exempt' field must equal the fixed value", o.Name))}
		}
	case flowcontrolv1.PriorityLevelConfigurationNameCatchAll:
		want := flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: new(int32(5)), LendablePercent: new(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject},
			}}
		if !common.Equal(o.Spec, want) {
			return field.ErrorList{field.Invalid(path, common.Internal(o.Spec), fmt.Sprintf("spec of '%s' must equal the fixed value", o.Name))}
		}
	}
	return nil
}
