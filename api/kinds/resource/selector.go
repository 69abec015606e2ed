// The CEL expressions that select devices. They are compiled here and thrown
// away: what matters is whether they are well-formed, and not too expensive.
package resource

import (
	"errors"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"kuberow/api/kinds/common"
)

func validateSelector(s *resourcev1.DeviceSelector, path *field.Path) field.ErrorList {
	if s.CEL == nil {
		return field.ErrorList{field.Required(path.Child("cel"), "")}
	}
	path = path.Child("cel", "expression")
	if all := common.MaxBytes(s.CEL.Expression, resourcev1.CELSelectorExpressionMaxLength, path); len(all) > 0 {
		return all
	}
	// The library makes its environment at the first call, and keeps it.
	kind := environment.NewExpressions
	compiler := dracel.GetCompiler(dracel.Features{EnableConsumableCapacity: true})
	result := compiler.CompileCELExpression(s.CEL.Expression, dracel.Options{EnvType: &kind})
	if result.Error != nil {
		return field.ErrorList{compileError(result.Error, s.CEL.Expression, path)}
	}
	if result.MaxCost > resourcev1.CELSelectorExpressionMaxCost {
		return field.ErrorList{field.Forbidden(path, "too complex, exceeds cost limit")}
	}
	return nil
}

func compileError(err error, expression string, path *field.Path) *field.Error {
	var fault *apiservercel.Error
	if !errors.As(err, &fault) {
		return field.InternalError(path, fmt.Errorf("unsupported error type: %w", err))
	}
	switch fault.Type {
	case apiservercel.ErrorTypeRequired:
		return field.Required(path, fault.Detail)
	case apiservercel.ErrorTypeInvalid:
		return field.Invalid(path, expression, fault.Detail)
	}
	return field.InternalError(path, fault)
}
