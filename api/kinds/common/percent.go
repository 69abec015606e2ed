package common

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Counts that may be a number of pods or a percentage of them.

// IntOrPercent wants a number that is not negative, or a percentage.
func IntOrPercent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if v.Type == intstr.String {
		return Invalid(validation.IsValidPercent(v.StrVal), v, path)
	}
	return NonNegative(int64(v.IntValue()), path)
}

// AtMost100Percent refuses a larger percentage; numbers pass.
func AtMost100Percent(v intstr.IntOrString, path *field.Path) field.ErrorList {
	if n, percent := percentOf(v); percent && n > 100 {
		return field.ErrorList{field.Invalid(path, v, "must not be greater than 100%")}
	}
	return nil
}

// PercentOrInt gives the number in front of the percent sign, or the number.
func PercentOrInt(v intstr.IntOrString) int {
	if n, percent := percentOf(v); percent {
		return n
	}
	return v.IntValue()
}

func percentOf(v intstr.IntOrString) (int, bool) {
	if v.Type != intstr.String || len(validation.IsValidPercent(v.StrVal)) != 0 {
		return 0, false
	}
	n, err := strconv.Atoi(v.StrVal[:len(v.StrVal)-1])
	return n, err == nil
}

// Decremented tells whether an optional counter went down.
func Decremented(value, old *int32) bool {
	if old == nil {
		return false
	}
	return value == nil || *value < *old
}

// NotDecremented refuses an optional counter that went down.
func NotDecremented(value, old *int32, path *field.Path) field.ErrorList {
	if !Decremented(value, old) {
		return nil
	}
	var now int32
	if value != nil {
		now = *value
	}
	return field.ErrorList{field.Invalid(path, now, "cannot be decremented")}
}
