package common

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestDeclaredFaultsComeLastAndOnce(t *testing.T) {
	name, size := field.NewPath("name"), field.NewPath("size")
	found := field.ErrorList{
		field.Required(name, "in written words"),
		field.Invalid(size, 3, "is odd"),
		field.Invalid(size, 3, "field is immutable").WithOrigin(originImmutable),
	}
	got := Declared(found, append(Wanted("", name), Frozen(3, 2, size)...)).ToAggregate().Error()
	if want := "[size: Invalid value: 3: is odd, name: Required value, size: Invalid value: null: field is immutable]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDeclaredRules(t *testing.T) {
	path := field.NewPath("f")
	type item struct{ Name, Note string }
	for _, c := range []struct {
		got  field.ErrorList
		want string
	}{
		{Wanted("Example.com", path, validate.LongNameCaseless, MaxLength[string](5)), "f: Too long: may not be more than 5 characters"},
		{AtMost([]int{1, 2, 3}, 2, path), "f: Too many: 3: must have at most 2 items"},
		{Unique([]item{{"a", "x"}, {"b", ""}, {"a", "y"}}, path, func(a, b *item) bool { return a.Name == b.Name }), `f[2]: Duplicate value: {"Name":"a","Note":"y"}`},
		{Among("", path, "a", "b"), `f: Unsupported value: "": supported values: "a", "b"`},
		{OneOf("", path, "a", "b"), "f: Required value"},
	} {
		if got := c.got.ToAggregate().Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
