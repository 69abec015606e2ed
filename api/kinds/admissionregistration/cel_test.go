package admissionregistration

import (
	"testing"

	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestExpressionsAreCompiled(t *testing.T) {
	path := field.NewPath("expression")
	params := &v1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	variables := []v1.Variable{{Name: "n", Expression: "object.spec.replicas"}, {Name: "m", Expression: "variables.n + 1"}}
	condition := func(text string, params bool) field.ErrorList {
		return validateMatchConditions([]v1.MatchCondition{{Name: "c", Expression: text}}, params, nil)
	}
	policy := policyCompiler(variables, params)
	if all := validateVariables(variables, policy, path); len(all) > 0 {
		t.Fatal(all)
	}
	for _, c := range []struct {
		what string
		all  field.ErrorList
		well bool
	}{
		{"a condition", condition("request.userInfo.username != 'me'", false), true},
		{"a condition that is no truth", condition("'text'", false), false},
		{"a condition of a webhook has no parameters", condition("params != null", false), false},
		{"a condition of a policy has", condition("params != null", true), true},
		{"variables", policy.annotation("string(variables.m)", path), true},
		{"an unknown variable", policy.annotation("string(variables.other)", path), false},
		{"a message may not ask the authorizer", policy.message("string(authorizer.path('/').check('get').allowed())", path), false},
		{"no parameters", policyCompiler(nil, nil).message("string(params.a)", path), false},
	} {
		if (len(c.all) == 0) != c.well {
			t.Errorf("%s: %v", c.what, c.all)
		}
	}
}
