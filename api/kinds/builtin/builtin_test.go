package builtin_test

import (
	"flag"
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
)

var update = flag.Bool("update", false, "write testdata anew")

// TestResources compares all that discovery says of every kind with testdata/resources.txt, one line a
// resource, subresources below it, groups in discovery's order.
func TestResources(t *testing.T) {
	var lines []string
	for _, r := range builtin.Resources() {
		lines = append(lines, line(r))
		subs := append([]*kinds.Subresource(nil), r.Subresources...)
		sort.Slice(subs, func(i, j int) bool { return subs[i].Name < subs[j].Name })
		for _, s := range subs {
			lines = append(lines, fmt.Sprintf("  /%s %s/%s.%s %s", s.Name, s.GVK.Group, s.GVK.Version, s.GVK.Kind, strings.Join(s.Verbs, ",")))
		}
	}
	got := strings.Join(lines, "\n") + "\n"
	const path = "testdata/resources.txt"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("resources differ (-want +got):\n%s", d)
	}
}

func line(r *kinds.Resource) string {
	var versions []string
	for _, v := range r.Versions {
		versions = append(versions, v.GVK.Version)
	}
	scope := "cluster"
	if r.Namespaced {
		scope = "namespaced"
	}
	return strings.TrimRight(fmt.Sprintf("%s/%s %s %s %s %s short=%s categories=%s hub=%s/%s prefix=%s hash=%s", r.Group, strings.Join(versions, ","),
		r.Name, r.Singular, r.Kind, scope, strings.Join(r.ShortNames, ","), strings.Join(r.Categories, ","),
		r.Hub.GVK.Group, r.Hub.GVK.Version, r.Prefix, r.StorageVersionHash)+" "+strings.Join(r.Verbs, ","), " ")
}

// TestShapes holds what the generic verbs rely on.
func TestShapes(t *testing.T) {
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range registry.All() {
		if (r.Prefix == "") == (r.Strategy != nil) {
			t.Errorf("%s: a resource has a prefix of keys and a strategy, or neither", r.GroupResource())
		}
		for _, v := range r.Versions {
			if v.GVK.Kind != r.Kind || v.GVK.Group != r.Group {
				t.Errorf("%s: a version is of %s", r.GroupResource(), v.GVK)
			}
			if (v.ToHub == nil) != (v.FromHub == nil) || v.ToHub == nil && v.GVK != r.Hub.GVK {
				t.Errorf("%s: %s is neither the hub nor converted to it and back", r.GroupResource(), v.GVK)
			}
		}
		for _, s := range r.Subresources {
			if s.Strategy == nil && s.Scale == nil && s.Create == nil && !s.Connect {
				t.Errorf("%s/%s: nothing serves it", r.GroupResource(), s.Name)
			}
		}
	}
}

// TestDefaults: a strategy's Default is idempotent and takes an empty object.
func TestDefaults(t *testing.T) {
	for _, r := range builtin.Resources() {
		if r.Strategy == nil || r.Strategy.Default == nil {
			continue
		}
		once := r.Hub.New()
		r.Strategy.Default(once)
		twice := once.DeepCopyObject()
		r.Strategy.Default(twice)
		if d := cmp.Diff(once, twice); d != "" {
			t.Errorf("%s: defaults change what they made (-once +twice):\n%s", r.GroupResource(), d)
		}
	}
}
