package common

import (
	"context"

	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Some rules of upstream's are written by hand, some are declared by tags on the Go type, and some are both. A
// declared rule has its own words, and it is reported after all that were written by hand. So a kind with declared
// rules keeps two functions, and Declared joins their answers.

// Declared joins what a kind's own rules found with what its declared rules found. A fault that both name is told once,
// in the declared words. Two values are invalid for the same reason when both name the same origin; faults of the
// other types are the same when they are of the same field.
func Declared(found, declared field.ErrorList) field.ErrorList {
	if len(declared) == 0 {
		return found
	}
	var all field.ErrorList
	for _, f := range found {
		if !toldBy(declared, f) {
			all = append(all, f)
		}
	}
	return append(all, declared...)
}

func toldBy(declared field.ErrorList, f *field.Error) bool {
	if f.Type == field.ErrorTypeInvalid && f.Origin == "" {
		return false
	}
	for _, d := range declared {
		if d.Type == f.Type && d.Field == f.Field && (f.Type != field.ErrorTypeInvalid || d.Origin == f.Origin) {
			return true
		}
	}
	return false
}

// originImmutable is what both forms of "field is immutable" have in common.
const originImmutable = "immutable"

// Frozen is the declared form of Immutable: it does not print the value.
func Frozen(value, old any, path *field.Path) field.ErrorList {
	if Equal(value, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, nil, "field is immutable").WithOrigin(originImmutable)}
}

// Holds checks a value by upstream's declared rules, in their order.
func Holds[T any](value T, path *field.Path, rules ...validate.ValidateFunc[*T]) field.ErrorList {
	var all field.ErrorList
	for _, rule := range rules {
		all = append(all, rule(context.Background(), operation.Operation{}, path, &value, nil)...)
	}
	return all
}

// Wanted is Holds for a value that must not be empty.
func Wanted[T comparable](value T, path *field.Path, rules ...validate.ValidateFunc[*T]) field.ErrorList {
	var none T
	if value == none {
		return field.ErrorList{field.Required(path, "")}
	}
	return Holds(value, path, rules...)
}

// MaxLength is the declared rule about the number of characters of a text.
func MaxLength[T ~string](max int) validate.ValidateFunc[*T] {
	return func(ctx context.Context, op operation.Operation, path *field.Path, value, old *T) field.ErrorList {
		return validate.MaxLength(ctx, op, path, value, old, max)
	}
}

// AtMost refuses a list with more than max items.
func AtMost[T any](list []T, max int, path *field.Path) field.ErrorList {
	if len(list) <= max {
		return nil
	}
	return field.ErrorList{field.TooMany(path, len(list), max)}
}

// Unique refuses every item that is the same as an earlier one. It prints the item, not its key.
func Unique[T any](list []T, path *field.Path, same func(a, b *T) bool) field.ErrorList {
	return validate.ValSliceUnique(context.Background(), operation.Operation{}, path, list, nil, same)
}

// MaxKeys refuses a map with more than max keys.
func MaxKeys[K comparable, V any](m map[K]V, max int, path *field.Path) field.ErrorList {
	if len(m) <= max {
		return nil
	}
	return field.ErrorList{field.TooMany(path, len(m), max)}
}
