package wire

import (
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// Upstream stores the built-in kinds as protobuf, which knows no difference between an
// empty list and none, and none between no bytes and empty ones in a map. Both are seen in
// JSON: a list that is always written reads null, a Secret's null reads "". So objects get
// this form before they are stored.

// Normalize gives obj the form that it would have after it was written as protobuf and read
// again. It changes only what is not in that form yet, so it may see parts that are shared.
func Normalize(obj runtime.Object) {
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && uneven(v.Type()) {
		normalize(v)
	}
}

func normalize(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			normalize(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			normalize(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if v.MapIndex(k).IsNil() {
				v.SetMapIndex(k, reflect.ValueOf([]byte{}))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f, part := v.Type().Field(i), v.Field(i)
			if alwaysWritten(f) && part.Len() == 0 && !part.IsNil() {
				part.SetZero()
			}
			if uneven(f.Type) {
				normalize(part)
			}
		}
	}
}

// alwaysWritten tells of a list or map that stands in JSON even when there is none.
func alwaysWritten(f reflect.StructField) bool {
	if f.Type.Kind() != reflect.Map && (f.Type.Kind() != reflect.Slice || f.Type.Elem().Kind() == reflect.Uint8) {
		return false
	}
	return !strings.Contains(f.Tag.Get("json"), "omitempty")
}

// unevenTypes remembers the answers of uneven.
var unevenTypes sync.Map // reflect.Type to bool

// uneven tells whether a value of a type may hold anything that Normalize changes. A type
// that is being asked about counts as even: what it holds of itself adds nothing.
func uneven(t reflect.Type) bool {
	if known, ok := unevenTypes.Load(t); ok {
		return known.(bool)
	}
	found := findUneven(t, map[reflect.Type]bool{})
	unevenTypes.Store(t, found)
	return found
}

func findUneven(t reflect.Type, asking map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return findUneven(t.Elem(), asking)
	case reflect.Map:
		return t.Elem().Kind() == reflect.Slice && t.Elem().Elem().Kind() == reflect.Uint8
	case reflect.Struct:
		if asking[t] || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
			return false
		}
		asking[t] = true
		defer delete(asking, t)
		for i := range t.NumField() {
			if f := t.Field(i); alwaysWritten(f) || findUneven(f.Type, asking) {
				return true
			}
		}
	}
	return false
}
