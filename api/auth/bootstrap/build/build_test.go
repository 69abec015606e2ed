package build

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What the product embeds is what its data says.
func TestPreparedFilesAreCurrent(t *testing.T) {
	objects, managed, err := Files("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"../objects.txt": objects, "../managed.txt": managed} {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is stale, run go generate:\n%s", name, diff)
		}
	}
}
