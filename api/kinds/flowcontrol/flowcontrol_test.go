package flowcontrol

import (
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func TestFlowSchema(t *testing.T) {
	good := func() *flowSchema {
		return &flowSchema{ObjectMeta: metav1.ObjectMeta{Name: "fs"}, Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "level"}, MatchingPrecedence: 5,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects:         []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: "a"}}},
				NonResourceRules: []flowcontrolv1.NonResourcePolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/x/*"}}},
			}},
		}}
	}
	for want, change := range map[string]func(*flowSchema){
		"": func(*flowSchema) {},
		"spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000":                           func(o *flowSchema) { o.Spec.MatchingPrecedence = 10001 },
		"spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1": func(o *flowSchema) { o.Spec.MatchingPrecedence = 1 },
		"spec.priorityLevelConfiguration.name: Required value: must reference a priority level":                   func(o *flowSchema) { o.Spec.PriorityLevelConfiguration.Name = "" },
		"spec.rules[0].subjects[0].group: Required value: group is required when subject kind is 'Group'": func(o *flowSchema) {
			o.Spec.Rules[0].Subjects[0] = flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindGroup}
		},
		"spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"/*x\": wildcard can only do suffix matching": func(o *flowSchema) {
			o.Spec.Rules[0].NonResourceRules[0].NonResourceURLs[0] = "/*x"
		},
	} {
		o := good()
		change(o)
		if got := text(validateFlowSchema(o)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// The objects that let a cluster's admin in keep their meaning.
func TestFixedObjects(t *testing.T) {
	for _, name := range []string{"exempt", "catch-all"} {
		o := &flowSchema{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *fixedFlowSchema(name)}
		if got := text(validateFlowSchema(o)); got != "" {
			t.Errorf("%s as it must be: %s", name, got)
		}
		o.Spec.Rules = o.Spec.Rules[:0]
		if text(validateFlowSchema(o)) == "" {
			t.Errorf("%s without its rule is accepted", name)
		}
	}
	level := &priorityLevel{ObjectMeta: metav1.ObjectMeta{Name: "exempt"}, Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
		Type: flowcontrolv1.PriorityLevelEnablementExempt, Exempt: &flowcontrolv1.ExemptPriorityLevelConfiguration{NominalConcurrencyShares: new(int32(9))}}}
	if got := text(validatePriorityLevel(level)); got != "" {
		t.Errorf("exempt with other shares: %s", got)
	}
	level.Name = "mine"
	if got, want := text(validatePriorityLevel(level)), "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPriorityLevelDefaults(t *testing.T) {
	o := &priorityLevel{Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
		Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{
			Type: flowcontrolv1.LimitResponseTypeQueue, Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 4}}}}}
	defaultPriorityLevel(o)
	l := o.Spec.Limited
	if *l.NominalConcurrencyShares != 30 || *l.LendablePercent != 0 || *l.LimitResponse.Queuing != (flowcontrolv1.QueuingConfiguration{Queues: 4, HandSize: 8, QueueLengthLimit: 50}) {
		t.Errorf("%+v %+v", l, l.LimitResponse.Queuing)
	}
	if got, want := text(validatePriorityLevel(o)), "spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
