package core

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// faults collects what is wrong, in the order in which it is found: clients see that order.
type faults struct{ all field.ErrorList }

func (f *faults) add(more field.ErrorList) { f.all = append(f.all, more...) }

func (f *faults) invalid(path *field.Path, value any, detail string) {
	f.all = append(f.all, field.Invalid(path, common.Internal(value), detail))
}

// invalids says each of the messages of a validator about one value.
func (f *faults) invalids(path *field.Path, value any, details []string) {
	for _, d := range details {
		f.invalid(path, value, d)
	}
}

func (f *faults) required(path *field.Path, detail string) {
	f.all = append(f.all, field.Required(path, detail))
}

func (f *faults) forbidden(path *field.Path, detail string) {
	f.all = append(f.all, field.Forbidden(path, detail))
}

func (f *faults) duplicate(path *field.Path, value any) {
	f.all = append(f.all, field.Duplicate(path, value))
}

func (f *faults) missing(path *field.Path, value any) {
	f.all = append(f.all, field.NotFound(path, value))
}

func (f *faults) nonNegative(path *field.Path, n int64) { f.add(common.NonNegative(n, path)) }

// oneOf refuses a value outside a set; the set is printed sorted, as upstream's sets are.
func oneOf[E ~string](f *faults, path *field.Path, value E, allowed ...E) bool {
	for _, a := range allowed {
		if a == value {
			return true
		}
	}
	f.all = append(f.all, field.NotSupported(path, value, allowed))
	return false
}

// needed is oneOf that calls an empty value missing.
func needed[E ~string](f *faults, path *field.Path, value E, allowed ...E) {
	if value == "" {
		f.required(path, "")
		return
	}
	oneOf(f, path, value, allowed...)
}
