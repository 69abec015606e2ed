package controllers_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func definitionOf(plural, kind, short string) *v1.CustomResourceDefinition {
	return &v1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".example.com"},
		Spec: v1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: v1.ClusterScoped,
			Names: v1.CustomResourceDefinitionNames{Plural: plural, Singular: kind, Kind: kind, ListKind: kind + "List", ShortNames: []string{short}},
			Versions: []v1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &v1.CustomResourceValidation{OpenAPIV3Schema: &v1.JSONSchemaProps{Type: "object"}}}},
			Conversion: &v1.CustomResourceConversion{Strategy: v1.NoneConverter},
		},
	}
}

// conditionsOf tells the conditions of a definition in short.
func conditionsOf(e *controllertest.Env, name string) string {
	text := ""
	if d := controllertest.Get[*v1.CustomResourceDefinition](e, controllers.CustomResourceDefinitions, "", name); d != nil {
		for _, c := range d.Status.Conditions {
			text += string(c.Type) + "=" + string(c.Status) + " " + c.Reason + ";"
		}
	}
	return text
}

// TestNamesOfDefinitions: who comes first has a name; it passes on with the definition's end.
func TestNamesOfDefinitions(t *testing.T) {
	const established = "NamesAccepted=True NoConflicts;Established=True InitialNamesAccepted;"
	e := controllertest.New(t)
	r := e.Runner(1, controllers.DefinitionNames(), controllers.DefinitionFinalizer())
	e.Create(controllers.CustomResourceDefinitions, definitionOf("aaas", "aaa", "x"))
	quiet(t, r)
	e.Create(controllers.CustomResourceDefinitions, definitionOf("bbbs", "bbb", "x"))
	quiet(t, r)
	if got := conditionsOf(e, "aaas.example.com"); got != established {
		t.Errorf("the first: %s", got)
	}
	if got := conditionsOf(e, "bbbs.example.com"); got != "NamesAccepted=False ShortNamesConflict;Established=False NotAccepted;" {
		t.Errorf("the second: %s", got)
	}
	e.Delete(controllers.CustomResourceDefinitions, "", "aaas.example.com", "")
	quiet(t, r)
	if got := conditionsOf(e, "aaas.example.com"); got != "" {
		t.Errorf("the first is still there: %s", got)
	}
	if got := conditionsOf(e, "bbbs.example.com"); got != established {
		t.Errorf("the second, when the name is free: %s", got)
	}
}

func TestFlowSchemasThatDangle(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.FlowSchemaStatus())
	e.Create(controllers.FlowSchemas, &flowcontrolv1.FlowSchema{
		TypeMeta:   metav1.TypeMeta{APIVersion: "flowcontrol.apiserver.k8s.io/v1", Kind: "FlowSchema"},
		ObjectMeta: metav1.ObjectMeta{Name: "f"},
		Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: 9,
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: "p"}},
	})
	dangling := func() flowcontrolv1.ConditionStatus {
		quiet(t, r)
		f := controllertest.Get[*flowcontrolv1.FlowSchema](e, controllers.FlowSchemas, "", "f")
		if len(f.Status.Conditions) != 1 {
			t.Fatalf("conditions: %v", f.Status.Conditions)
		}
		return f.Status.Conditions[0].Status
	}
	if got := dangling(); got != flowcontrolv1.ConditionTrue {
		t.Errorf("without its level: %s", got)
	}
	e.Create(controllers.PriorityLevels, &flowcontrolv1.PriorityLevelConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "flowcontrol.apiserver.k8s.io/v1", Kind: "PriorityLevelConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{LimitResponse: flowcontrolv1.LimitResponse{Type: flowcontrolv1.LimitResponseTypeReject}}},
	})
	if got := dangling(); got != flowcontrolv1.ConditionFalse {
		t.Errorf("with its level: %s", got)
	}
}

// TestKeeper: what the cluster cannot be without comes back.
func TestKeeper(t *testing.T) {
	e := controllertest.New(t)
	kept := []controllers.Kept{{Resource: controllers.Services, Object: &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", Namespace: "default"},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.96.0.1", Ports: []corev1.ServicePort{{Port: 443}}},
	}}}
	r := e.Runner(1, controllers.Keeper(func() []controllers.Kept { return kept }))
	for _, when := range []string{"at the start", "after a deletion"} {
		quiet(t, r)
		svc := controllertest.Get[*corev1.Service](e, controllers.Services, "default", "kubernetes")
		if svc == nil || svc.Spec.ClusterIP != "10.96.0.1" {
			t.Fatalf("%s: %v", when, svc)
		}
		e.Delete(controllers.Services, "default", "kubernetes", "")
	}
}
