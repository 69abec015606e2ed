package openapi_test

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
	"kuberow/api/openapi"
)

var update = flag.Bool("update", false, "write testdata anew")

// crontabs is the schema of the custom resource that some tests add.
func crontabs(*kinds.Resource, string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"spec":{"type":"object","properties":{"cronSpec":{"type":"string"}}}}}`)
}

func server(t *testing.T) (*kinds.Registry, http.Handler) {
	t.Helper()
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	return registry, openapi.Handler(registry, openapi.Options{Version: "1.37", CustomSchema: crontabs})
}

// get asks for a document and unpacks it. headers are name, value, name, value.
func get(t *testing.T, h http.Handler, path string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	resp := w.Result()
	var body io.Reader = resp.Body
	if resp.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	}
	b, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, b
}

type object = map[string]any

// TestV2Definitions compares every definition with testdata/definitions.txt: fields, types, what is required,
// list types and keys, patch strategies, enums.
func TestV2Definitions(t *testing.T) {
	_, h := server(t)
	_, b := get(t, h, "/openapi/v2")
	var doc struct {
		Definitions map[string]object
		Paths       map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for name, d := range doc.Definitions {
		lines = append(lines, name+" "+facts(d))
	}
	golden(t, "definitions.txt", lines)

	lines = nil
	ids := map[string]bool{}
	for path, operations := range doc.Paths {
		for method, text := range operations {
			if method == "parameters" {
				continue
			}
			var o struct {
				OperationID string
				Action      string `json:"x-kubernetes-action"`
			}
			if err := json.Unmarshal(text, &o); err != nil {
				t.Fatal(err)
			}
			if ids[o.OperationID] {
				t.Errorf("operation %s is there twice", o.OperationID)
			}
			ids[o.OperationID] = true
			lines = append(lines, fmt.Sprintf("%s %s %s %s", path, method, o.OperationID, o.Action))
		}
	}
	golden(t, "paths.txt", lines)
}

// facts says on one line what clients act on.
func facts(d object) string {
	var parts []string
	properties, _ := d["properties"].(object)
	for name, p := range properties {
		p := p.(object)
		s := name + ":" + typeOfSchema(p)
		for _, k := range []string{"enum", "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type",
			"x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key"} {
			if v, there := p[k]; there {
				s += fmt.Sprintf(",%s=%v", strings.TrimPrefix(k, "x-kubernetes-"), v)
			}
		}
		parts = append(parts, s)
	}
	sort.Strings(parts)
	if len(properties) == 0 {
		parts = append(parts, typeOfSchema(d))
	}
	for _, k := range []string{"required", "x-kubernetes-map-type", "x-kubernetes-unions"} {
		if v, there := d[k]; there {
			parts = append(parts, fmt.Sprintf("%s=%v", k, v))
		}
	}
	gvks, _ := d["x-kubernetes-group-version-kind"].([]any)
	for _, g := range gvks {
		g := g.(object)
		parts = append(parts, fmt.Sprintf("%v/%v.%v", g["group"], g["version"], g["kind"]))
	}
	return strings.Join(parts, " ")
}

func typeOfSchema(p object) string {
	if ref, ok := p["$ref"].(string); ok {
		return ref[strings.LastIndex(ref, ".")+1:]
	}
	t, _ := p["type"].(string)
	if f, ok := p["format"].(string); ok {
		t += ":" + f
	}
	if items, ok := p["items"].(object); ok {
		return "[]" + typeOfSchema(items) + fmt.Sprint(append([]any{}, enumOf(items)...))
	}
	if values, ok := p["additionalProperties"].(object); ok {
		return "map:" + typeOfSchema(values)
	}
	return t
}

func enumOf(p object) []any {
	e, _ := p["enum"].([]any)
	return e
}

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	sort.Strings(lines)
	got := strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, d)
	}
}

// TestV3 reads the index as client-go does and every document that it names.
func TestV3(t *testing.T) {
	_, h := server(t)
	_, b := get(t, h, "/openapi/v3")
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		}
	}
	if err := json.Unmarshal(b, &index); err != nil {
		t.Fatal(err)
	}
	if len(index.Paths) < 40 || index.Paths["apis/apps/v1"].ServerRelativeURL == "" {
		t.Fatalf("index has %d documents: %s", len(index.Paths), b)
	}
	for name, p := range index.Paths {
		resp, b := get(t, h, p.ServerRelativeURL, "Accept-Encoding", "gzip")
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "public, immutable" || resp.Header.Get("Expires") == "" {
			t.Errorf("%s: status %d, headers %v", name, resp.StatusCode, resp.Header)
		}
		var doc object
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		danglingRefs(t, name, doc)
		if resp, _ := get(t, h, p.ServerRelativeURL, "If-None-Match", resp.Header.Get("Etag")); resp.StatusCode != http.StatusNotModified {
			t.Errorf("%s: status %d for the client's own ETag, want 304", name, resp.StatusCode)
		}
	}
	resp, _ := get(t, h, "/openapi/v3/apis/apps/v1?hash=OLD")
	if got, want := resp.Header.Get("Location"), index.Paths["apis/apps/v1"].ServerRelativeURL; resp.StatusCode != http.StatusMovedPermanently || got != want {
		t.Errorf("an old hash is answered %d to %q, want 301 to %q", resp.StatusCode, got, want)
	}
}

// danglingRefs: whatever a document refers to is in it.
func danglingRefs(t *testing.T, name string, doc object) {
	t.Helper()
	schemas, _ := doc["components"].(object)["schemas"].(object)
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("%s refers to %s, which it lacks", name, ref)
			}
			for _, w := range v {
				visit(w)
			}
		case []any:
			for _, w := range v {
				visit(w)
			}
		}
	}
	visit(doc)
}

// TestV3Details checks what version 3 says more than version 2: defaults, and the types behind IntOrString.
func TestV3Details(t *testing.T) {
	_, h := server(t)
	_, b := get(t, h, "/openapi/v3/api/v1")
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				OneOf      any
			}
		}
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	port := doc.Components.Schemas["io.k8s.api.core.v1.ServicePort"].Properties
	if got := port["protocol"].(object)["default"]; got != "TCP" {
		t.Errorf("default of ServicePort.protocol is %v, want TCP", got)
	}
	if got := port["port"].(object)["default"]; got != 0.0 {
		t.Errorf("default of ServicePort.port is %v, want 0", got)
	}
	metadata := doc.Components.Schemas["io.k8s.api.core.v1.Pod"].Properties["metadata"].(object)
	if d := cmp.Diff(object{}, metadata["default"]); d != "" || metadata["allOf"] == nil {
		t.Errorf("Pod.metadata is %v, want allOf and the default {}", metadata)
	}
	want := []any{object{"type": "integer"}, object{"type": "string"}}
	if d := cmp.Diff(any(want), doc.Components.Schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"].OneOf); d != "" {
		t.Errorf("IntOrString (-want +got):\n%s", d)
	}
}

// TestProtobuf reads version 2 as kubectl does.
func TestProtobuf(t *testing.T) {
	_, h := server(t)
	resp, b := get(t, h, "/openapi/v2", "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	if got := resp.Header.Get("Content-Type"); got != "application/com.github.proto-openapi.spec.v2.v1.0+protobuf" {
		t.Errorf("Content-Type is %q", got)
	}
	doc := &openapi_v2.Document{}
	if err := proto.Unmarshal(b, doc); err != nil {
		t.Fatal(err)
	}
	if n := len(doc.GetDefinitions().GetAdditionalProperties()); n < 600 {
		t.Errorf("%d definitions, want more than 600", n)
	}
	if resp, _ := get(t, h, "/openapi/v2", "Accept", "text/plain"); resp.StatusCode != http.StatusNotAcceptable {
		t.Errorf("text/plain is answered %d, want 406", resp.StatusCode)
	}
}

// TestCustom: a definition that comes and goes changes the documents and their hashes.
func TestCustom(t *testing.T) {
	registry, h := server(t)
	r := &kinds.Resource{
		Group: "stable.example.com", Name: "crontabs", Singular: "crontab", Kind: "CronTab", Namespaced: true, Custom: true,
		Verbs:    []string{"get", "list", "create", "patch", "watch"},
		Versions: []*kinds.Version{{GVK: schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}}},
	}
	before, _ := get(t, h, "/openapi/v2")
	if err := registry.Add(r); err != nil {
		t.Fatal(err)
	}
	after, _ := get(t, h, "/openapi/v2")
	if before.Header.Get("Etag") == after.Header.Get("Etag") {
		t.Error("the document of version 2 did not change with a new definition")
	}
	_, b := get(t, h, "/openapi/v3/apis/stable.example.com/v1")
	var doc object
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	danglingRefs(t, "stable.example.com/v1", doc)
	for _, want := range []string{"listStableExampleComV1NamespacedCronTab", "cronSpec", "com.example.stable.v1.CronTabList", `"kind":"CronTab"`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the document lacks %s", want)
		}
	}
	registry.Remove(r.GroupResource())
	if resp, _ := get(t, h, "/openapi/v3/apis/stable.example.com/v1"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the document of a definition that is gone is answered %d, want 404", resp.StatusCode)
	}
}

// TestTypeConverter: list types of definitions reach server-side apply.
func TestTypeConverter(t *testing.T) {
	registry, _ := server(t)
	converter, err := openapi.TypeConverter([]*kinds.Resource{
		registry.Get(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}),
		registry.Get(schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "x"},
		"status": object{"conditions": []any{object{"type": "Established", "status": "True"}}},
	}}
	typed, err := converter.ObjectToTyped(crd)
	if err != nil {
		t.Fatal(err)
	}
	set, err := typed.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	b, err := set.ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	if want := `k:{\"type\":\"Established\"}`; !strings.Contains(string(b), want) {
		t.Errorf("field set %s has no %s", b, want)
	}
}

// TestMarkers: markers.jsonl is what the sources say.
func TestMarkers(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the generator")
	}
	path := filepath.Join(t.TempDir(), "markers.jsonl")
	if out, err := exec.Command("go", "run", "./generate", path).CombinedOutput(); err != nil {
		t.Fatalf("go run ./generate: %v\n%s", err, out)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("markers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("markers.jsonl is stale; run go generate ./api/openapi")
	}
}
