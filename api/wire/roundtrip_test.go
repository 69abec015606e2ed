package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"kuberow/api/wire"
)

// TestEveryKindSurvivesTheStore takes every kind of k8s.io/api, each with all
// fields set, through what a stored object goes through: JSON in, split into
// value and managedFields, spliced out, and decoded for protobuf and YAML.
func TestEveryKindSurvivesTheStore(t *testing.T) {
	dir := testdata(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		gvk, ok := kindOf(file)
		if !ok || !clientscheme.Scheme.Recognizes(gvk) {
			continue
		}
		n++
		t.Run(filepath.Base(file), func(t *testing.T) { survives(t, strings.TrimSuffix(file, ".json"), gvk) })
	}
	if n < 100 {
		t.Errorf("%d kinds of %d files, want at least 100", n, len(files))
	}
}

func testdata(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatalf("find k8s.io/api: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "testdata", "HEAD")
}

// kindOf reads group.version.Kind off a file's name; the group may have dots.
func kindOf(file string) (schema.GroupVersionKind, bool) {
	parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".json"), ".")
	if len(parts) < 3 {
		return schema.GroupVersionKind{}, false
	}
	n := len(parts)
	group := strings.Join(parts[:n-2], ".")
	if group == "core" {
		group = ""
	}
	return schema.GroupVersionKind{Group: group, Version: parts[n-2], Kind: parts[n-1]}, true
}

func survives(t *testing.T, base string, gvk schema.GroupVersionKind) {
	original := compact(t, read(t, base+".json"))
	obj := decode(t, original, wire.JSON, gvk)
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Skip("it has no metadata and is not stored")
	}
	m.SetResourceVersion("7")
	whole, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	managed, err := json.Marshal(m.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	m.SetManagedFields(nil)
	m.SetResourceVersion("")
	value, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	spliced, err := wire.Splice{Revision: 7, ManagedFields: managed}.Append(nil, value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(whole), string(spliced)); diff != "" {
		t.Errorf("the spliced object is not the original, byte for byte:\n%s", diff)
	}

	again := decode(t, spliced, wire.JSON, gvk)
	pb, err := wire.EncodeProtobuf(again)
	if err != nil {
		t.Fatal(err)
	}
	fromPB := decode(t, pb, wire.Protobuf, gvk)
	if diff := cmp.Diff(marshal(t, again), marshal(t, fromPB)); diff != "" {
		t.Errorf("protobuf changed it:\n%s", diff)
	}
	if b, err := os.ReadFile(base + ".pb"); err == nil {
		if diff := cmp.Diff(marshal(t, decode(t, original, wire.JSON, gvk)), marshal(t, decode(t, b, wire.Protobuf, gvk))); diff != "" {
			t.Errorf("upstream's protobuf reads differently from its JSON:\n%s", diff)
		}
	}
	y, err := yaml.JSONToYAML(spliced)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(marshal(t, again), marshal(t, decode(t, y, wire.YAML, gvk))); diff != "" {
		t.Errorf("YAML changed it:\n%s", diff)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func compact(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func marshal(t *testing.T, obj any) string {
	t.Helper()
	b, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decode(t *testing.T, b []byte, mediaType string, gvk schema.GroupVersionKind) runtime.Object {
	t.Helper()
	target := wire.Target{GVK: gvk, New: func() runtime.Object {
		obj, err := clientscheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}}
	obj, strict, err := wire.Decode(b, mediaType, target, true)
	if err != nil || len(strict) > 0 {
		t.Fatalf("decode %s: %v %v", gvk, err, strict)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj
}
