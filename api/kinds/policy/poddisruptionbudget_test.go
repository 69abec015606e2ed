package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"kuberow/api/kinds/common/kindtest"
)

func TestBudgets(t *testing.T) {
	for _, c := range []struct {
		name     string
		min, max *intstr.IntOrString
		want     []string
	}{
		{"a number", new(intstr.FromInt32(2)), nil, nil},
		{"a share", nil, new(intstr.FromString("50%")), nil},
		{"more than all", new(intstr.FromString("101%")), nil,
			[]string{`spec.minAvailable: Invalid value: "101%": must not be greater than 100%`}},
		{"negative", nil, new(intstr.FromInt32(-1)),
			[]string{"spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: c.min, MaxUnavailable: c.max}}
			faults := kindtest.Create(new(kindtest.Cluster).Context(), Resources()[0].Strategy, b)
			if d := cmp.Diff(c.want, faults); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
