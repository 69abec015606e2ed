package core

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of a LimitRange: min <= defaultRequest <= default <= max, for each resource.

func validateLimitRange(_ *kinds.Context, l *corev1.LimitRange) field.ErrorList {
	var f faults
	seen := sets.New[corev1.LimitType]()
	for i := range l.Spec.Limits {
		item, at := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		f.limitType(item.Type, at.Child("type"))
		if seen.Has(item.Type) {
			f.duplicate(at.Child("type"), item.Type)
		}
		seen.Insert(item.Type)
		f.limitItem(item, at)
	}
	return f.all
}

func (f *faults) limitType(t corev1.LimitType, at *field.Path) {
	if m := validation.IsQualifiedName(string(t)); len(m) > 0 {
		f.invalids(at, t, m)
		return
	}
	switch t {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
	default:
		if !strings.Contains(string(t), "/") {
			f.invalid(at, t, "must be a standard limit type or fully qualified")
		}
	}
}

func (f *faults) limitItem(l *corev1.LimitRangeItem, at *field.Path) {
	named := func(list corev1.ResourceList, at *field.Path) {
		for _, name := range common.Keys(list) {
			if l.Type == corev1.LimitTypePod || l.Type == corev1.LimitTypeContainer {
				f.add(ValidateContainerResourceName(name, at.Key(string(name))))
			} else {
				f.add(resourceName(name, at.Key(string(name))))
			}
		}
	}
	named(l.Max, at.Child("max"))
	named(l.Min, at.Child("min"))
	def, req := l.Default, l.DefaultRequest
	if l.Type == corev1.LimitTypePod {
		if len(def) > 0 {
			f.forbidden(at.Child("default"), "may not be specified when `type` is 'Pod'")
		}
		if len(req) > 0 {
			f.forbidden(at.Child("defaultRequest"), "may not be specified when `type` is 'Pod'")
		}
		def, req = nil, nil
	} else {
		named(def, at.Child("default"))
		named(req, at.Child("defaultRequest"))
	}
	if l.Type == corev1.LimitTypePersistentVolumeClaim {
		_, min := l.Min[corev1.ResourceStorage]
		_, max := l.Max[corev1.ResourceStorage]
		if !min && !max {
			f.required(at.Child("limits"), "either minimum or maximum storage value is required, but neither was provided")
		}
	}
	named(l.MaxLimitRequestRatio, at.Child("maxLimitRequestRatio"))
	all := corev1.ResourceList{}
	for _, list := range []corev1.ResourceList{l.Max, l.Min, def, req, l.MaxLimitRequestRatio} {
		maps.Copy(all, list)
	}
	for _, name := range common.Keys(all) {
		f.limitOrder(limits{
			min: amountOf(l.Min, name), max: amountOf(l.Max, name), def: amountOf(def, name), req: amountOf(req, name), ratio: amountOf(l.MaxLimitRequestRatio, name),
		}, name, at)
	}
}

// limits are the amounts for one resource; nil where not given.
type limits struct{ min, max, def, req, ratio *resource.Quantity }

func amountOf(list corev1.ResourceList, name corev1.ResourceName) *resource.Quantity {
	if q, has := list[name]; has {
		return &q
	}
	return nil
}

func (f *faults) limitOrder(l limits, name corev1.ResourceName, at *field.Path) {
	key := string(name)
	above := func(a, b *resource.Quantity) bool { return a != nil && b != nil && a.Cmp(*b) > 0 }
	say := func(child string, bad *resource.Quantity, format string, args ...any) {
		f.invalid(at.Child(child).Key(key), *bad, fmt.Sprintf(format, args...))
	}
	if above(l.min, l.max) {
		say("min", l.min, "min value %s is greater than max value %s", l.min, l.max)
	}
	if above(l.min, l.req) {
		say("defaultRequest", l.req, "min value %s is greater than default request value %s", l.min, l.req)
	}
	if above(l.req, l.max) {
		say("defaultRequest", l.req, "default request value %s is greater than max value %s", l.req, l.max)
	}
	if above(l.req, l.def) {
		say("defaultRequest", l.req, "default request value %s is greater than default limit value %s", l.req, l.def)
	}
	if above(l.min, l.def) {
		say("default", l.min, "min value %s is greater than default value %s", l.min, l.def)
	}
	if above(l.def, l.max) {
		say("default", l.max, "default value %s is greater than max value %s", l.def, l.max)
	}
	if l.ratio != nil {
		if l.ratio.Cmp(*resource.NewQuantity(1, resource.DecimalSI)) < 0 {
			say("maxLimitRequestRatio", l.ratio, "ratio %s is less than 1", l.ratio)
		}
		if l.min != nil && l.max != nil {
			if limit := l.max.AsApproximateFloat64() / l.min.AsApproximateFloat64(); l.ratio.AsApproximateFloat64() > limit {
				say("maxLimitRequestRatio", l.ratio, "ratio %s is greater than max/min = %f", l.ratio, limit)
			}
		}
	}
	if !canOvercommit(name) && l.def != nil && l.req != nil && l.def.Cmp(*l.req) != 0 {
		say("defaultRequest", l.req, "default value %s must equal to defaultRequest value %s in %s", l.def, l.req, key)
	}
}
