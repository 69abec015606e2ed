package common

import (
	"cmp"
	"maps"
	"slices"

	"kuberow/sqlstore"
)

// Pairs makes field selector values from name, value, name, value; the names must stand sorted.
func Pairs(nameValue ...string) []sqlstore.Pair {
	out := make([]sqlstore.Pair, 0, len(nameValue)/2)
	for i := 0; i+1 < len(nameValue); i += 2 {
		out = append(out, sqlstore.Pair{Name: nameValue[i], Value: nameValue[i+1]})
	}
	return out
}

// Keys lists the keys of a map in order, so that what is said about them has one order.
func Keys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
