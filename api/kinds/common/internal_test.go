package common

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestStructsAreQuotedWithGoNames(t *testing.T) {
	path := field.NewPath("spec")
	for _, c := range []struct {
		value any
		want  string
	}{
		{appsv1.StatefulSetUpdateStrategy{Type: "X"}, `{"Type":"X","RollingUpdate":null}`},
		{&policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
			`{"MinAvailable":1,"Selector":null,"MaxUnavailable":null,"UnhealthyPodEvictionPolicy":null}`},
		{[]corev1.LocalObjectReference{{Name: "a"}}, `[{"Name":"a"}]`},
		{[]string{"a"}, `["a"]`},
		{corev1.SecretType("a"), `"a"`},
	} {
		got := field.Invalid(path, Internal(c.value), "").Error()
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("quoted %T as %s, want %s", c.value, got, c.want)
		}
	}
}
