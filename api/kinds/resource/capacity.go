// The capacity of a device that may be shared: which amounts can be asked for.
package resource

import (
	"fmt"
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

func validateCapacity(d *resourcev1.Device, path *field.Path) field.ErrorList {
	var all field.ErrorList
	many := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
	for _, name := range sorted(d.Capacity) {
		all = append(all, qualifiedName(string(name), path)...)
		c, at := d.Capacity[name], path.Key(shorten(string(name), maxQualifiedName)).Child("requestPolicy")
		switch {
		case c.RequestPolicy == nil:
		case !many:
			all = append(all, field.Forbidden(at, "allowMultipleAllocations must be true"))
		default:
			all = append(all, validatePolicy(c.Value, c.RequestPolicy, at)...)
		}
	}
	return all
}

func validatePolicy(whole resource.Quantity, p *resourcev1.CapacityRequestPolicy, path *field.Path) field.ErrorList {
	values := len(p.ValidValues) > 0
	switch {
	case values && p.ValidRange != nil:
		return field.ErrorList{field.Forbidden(path, `exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time`)}
	case values && p.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validValues is defined")}
	case values:
		return validateValues(*p.Default, whole, p.ValidValues, path.Child("validValues"))
	case p.ValidRange != nil && p.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validRange is defined")}
	case p.ValidRange != nil:
		return validateRange(*p.Default, whole, p.ValidRange, path.Child("validRange"))
	}
	return nil
}

func validateValues(standard, whole resource.Quantity, values []resource.Quantity, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for i := range len(values) - 1 {
		if values[i].Cmp(values[i+1]) > 0 {
			all = append(all, field.Invalid(path.Index(i+1), values[i+1].String(), "values must be sorted in ascending order"))
		}
	}
	const max = 10 // upstream's CapacityRequestPolicyDiscreteMaxOptions
	found := false
	all = append(all, common.AtMost(values, max, path)...)
	all = append(all, each(values, max, path, func(q *resource.Quantity, at *field.Path) field.ErrorList {
		found = found || q.Cmp(standard) == 0
		if q.Cmp(whole) > 0 {
			return field.ErrorList{field.Invalid(at, q.String(), "option is larger than capacity value: "+whole.String())}
		}
		return nil
	})...)
	if len(values) <= max {
		all = append(all, duplicates(values, path, func(q *resource.Quantity) string { return q.AsDec().String() })...)
	}
	if !found {
		all = append(all, field.Invalid(path, standard.String(), "default value is not valid according to the requestPolicy"))
	}
	return all
}

func validateRange(standard, whole resource.Quantity, r *resourcev1.CapacityRequestPolicyRange, path *field.Path) field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(path.Child("min"), "required when validRange is defined")}
	}
	var all field.ErrorList
	less := func(name string, a, b resource.Quantity, value, text string) {
		if a.Cmp(b) < 0 {
			all = append(all, field.Invalid(path.Child(name), value, text))
		}
	}
	less("min", whole, *r.Min, r.Min.String(), "min is larger than capacity value: "+whole.String())
	less("default", standard, *r.Min, standard.String(), "default is less than min: "+r.Min.String())
	if r.Max != nil {
		less("max", *r.Max, *r.Min, r.Min.String(), "min is larger than max: "+r.Max.String())
		less("max", whole, *r.Max, r.Max.String(), "max is larger than capacity value: "+whole.String())
		less("default", *r.Max, standard, standard.String(), "default is more than max: "+r.Max.String())
	}
	return append(all, validateStep(standard, whole, r, path)...)
}

// validateStep: the default and the maximum are the minimum and some steps. It is reckoned in thousandths as soon as
// one of the numbers has a fraction, and only with numbers that fit.
func validateStep(standard, whole resource.Quantity, r *resourcev1.CapacityRequestPolicyRange, path *field.Path) field.ErrorList {
	numbers := []bound{{"default", &standard}, {"min", r.Min}, {"max", r.Max}, {"step", r.Step}}
	unit, fits := (*resource.Quantity).Value, fitsInt
	if len(eachBound(numbers, path, fraction)) > 0 {
		unit, fits = (*resource.Quantity).MilliValue, fitsMilli
		if all := eachBound(numbers, path, fits); len(all) > 0 {
			return all
		}
	}
	if r.Step == nil {
		return nil
	}
	at := path.Child("step")
	if r.Step.Sign() <= 0 {
		return field.ErrorList{field.Invalid(at, r.Step.String(), "must be greater than zero")}
	}
	var all field.ErrorList
	added := r.Min.DeepCopy()
	added.Add(*r.Step)
	if added.Cmp(whole) > 0 {
		all = append(all, field.Invalid(at, r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", added.String(), whole.String())))
	}
	if unsafe := eachBound(numbers, path, fits); len(unsafe) > 0 {
		return append(all, unsafe...)
	}
	for _, q := range []*resource.Quantity{&standard, r.Max} {
		if q != nil && (unit(q)-unit(r.Min))%unit(r.Step) != 0 {
			all = append(all, field.Invalid(at, q.String(), fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String())))
		}
	}
	return all
}

// bound is one number of a range, nil when it is not given.
type bound struct {
	name string
	is   *resource.Quantity
}

func eachBound(numbers []bound, path *field.Path, fault func(*resource.Quantity) string) field.ErrorList {
	var all field.ErrorList
	for _, n := range numbers {
		if n.is == nil {
			continue
		}
		if text := fault(n.is); text != "" {
			all = append(all, field.Invalid(path.Child(n.name), n.is.String(), text))
		}
	}
	return all
}

func fraction(q *resource.Quantity) string {
	if whole := q.DeepCopy(); !whole.RoundUp(0) {
		return "has a fraction"
	}
	return ""
}

func fitsMilli(q *resource.Quantity) string {
	if q.Cmp(*resource.NewMilliQuantity(q.MilliValue(), q.Format)) != 0 {
		return "value cannot be represented as a milli value"
	}
	return ""
}

func fitsInt(q *resource.Quantity) string {
	switch {
	case q.Sign() < 0:
		return apivalidation.IsNegativeErrorMsg
	case q.CmpInt64(math.MaxInt64) > 0:
		return "must not be larger than 9223372036854775807"
	}
	return ""
}
