package discovery_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/discovery"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
)

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func server(t *testing.T) (*kinds.Registry, http.Handler) {
	t.Helper()
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	return registry, discovery.Handler(registry, &kinds.Cluster{AdvertiseAddress: "10.112.0.1", SecurePort: 6443})
}

func do(h http.Handler, method, path, accept string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, nil)
	req.Header.Set("Accept", accept)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// TestAnswers: what is where, and in which words it is not.
func TestAnswers(t *testing.T) {
	_, h := server(t)
	const notFound = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`
	for _, c := range []struct {
		method, path, accept string
		code                 int
		contentType, body    string // body: what it begins with
	}{
		{"GET", "/api", "application/json", 200, "application/json", `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0"`},
		{"GET", "/api/", "application/json", 200, "application/json", `{"kind":"APIVersions"`},
		{"GET", "/apis", "application/json", 200, "application/json", `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiregistration.k8s.io"`},
		{"GET", "/apis", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json", 200, "application/json", `{"kind":"APIGroupList"`},
		{"GET", "/apis", aggregated + ",application/json", 200, aggregated, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{}`},
		{"GET", "/api/v1", "*/*", 200, "application/json", `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings"`},
		{"GET", "/apis/apps/v1", "", 200, "application/json", `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1"`},
		{"GET", "/apis/autoscaling", "", 200, "application/json", `{"kind":"APIGroup","apiVersion":"v1","name":"autoscaling","versions":[{"groupVersion":"autoscaling/v2"`},
		{"GET", "/apis/batch/v1", "application/yaml", 200, "application/yaml", "apiVersion: v1\ngroupVersion: batch/v1\nkind: APIResourceList\n"},
		{"GET", "/apis/batch/v1", "text/plain", 406, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"406: Not Acceptable`},
		{"GET", "/apis/batch", "text/plain", 406, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"only the following media types are accepted: `},
		{"GET", "/apis/", aggregated + ",application/json", 200, "application/json", `{"kind":"APIGroupList"`},
		{"POST", "/apis/batch", "", 200, "application/json", `{"kind":"APIGroup"`},
		{"POST", "/apis/apiregistration.k8s.io", "", 405, "application/json", `{"kind":"Status"`},
		{"GET", "/apis/apiregistration.k8s.io", "text/plain", 406, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"406: Not Acceptable`},
		{"GET", "/api/v2", "", 404, "application/json", notFound},
		{"GET", "/apis/apps/v2", "", 404, "application/json", notFound},
		{"GET", "/apis/nope.example.com", "", 404, "text/plain; charset=utf-8", "404 page not found\n"},
		{"POST", "/api", "", 405, "application/json", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow this method on the requested resource"`},
	} {
		w := do(h, c.method, c.path, c.accept)
		if w.Code != c.code || w.Header().Get("Content-Type") != c.contentType {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, w.Code, w.Header().Get("Content-Type"), c.code, c.contentType)
		}
		if flat := flatten(w.Body.String()); !strings.HasPrefix(flat, c.body) {
			t.Errorf("%s %s: body %.200s, want %s", c.method, c.path, flat, c.body)
		}
	}
}

// flatten takes the indentation out of JSON.
func flatten(s string) string {
	var raw json.RawMessage
	if json.Unmarshal([]byte(s), &raw) != nil {
		return s
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return s
	}
	return string(b)
}

// TestETag: a client that has the aggregated document is told so, until the registry changes.
func TestETag(t *testing.T) {
	registry, h := server(t)
	etag := do(h, "GET", "/apis", aggregated).Header().Get("ETag")
	if w := do(h, "GET", "/apis", aggregated, "If-None-Match", etag); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("own ETag: %d with %d bytes, want 304 with none", w.Code, w.Body.Len())
	}
	gvk := schema.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "CronTab"}
	hub := &kinds.Version{GVK: gvk}
	err := registry.Add(&kinds.Resource{
		Group: gvk.Group, Name: "crontabs", Singular: "crontab", Kind: gvk.Kind, Namespaced: true, Custom: true,
		Verbs: []string{"get", "list"}, Versions: []*kinds.Version{hub}, Hub: hub, Prefix: "/registry/stable.example.com/crontabs",
	})
	if err != nil {
		t.Fatal(err)
	}
	w := do(h, "GET", "/apis", aggregated, "If-None-Match", etag)
	if w.Code != http.StatusOK {
		t.Fatalf("after a change: %d, want 200", w.Code)
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	last := list.Items[len(list.Items)-1]
	want := apidiscoveryv2.APIResourceDiscovery{
		Resource: "crontabs", SingularResource: "crontab", Scope: apidiscoveryv2.ScopeNamespace, Verbs: []string{"get", "list"},
		ResponseKind: &metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
	}
	if d := cmp.Diff(want, last.Versions[0].Resources[0]); last.Name != gvk.Group || d != "" {
		t.Errorf("last group is %s (-want +got):\n%s", last.Name, d)
	}
	var legacy metav1.APIResourceList
	if err := json.Unmarshal(do(h, "GET", "/apis/stable.example.com/v1", "").Body.Bytes(), &legacy); err != nil {
		t.Fatal(err)
	}
	if got, want := legacy.APIResources[0].StorageVersionHash, "EdX2FP+L0js="; got != want {
		t.Errorf("storageVersionHash is %s, want %s", got, want)
	}
}

// TestProtobuf: both forms are there in protobuf too.
func TestProtobuf(t *testing.T) {
	_, h := server(t)
	decode := func(path, accept string, into interface{ Unmarshal([]byte) error }) {
		t.Helper()
		b, found := bytes.CutPrefix(do(h, "GET", path, accept).Body.Bytes(), []byte("k8s\x00"))
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(b); err != nil || !found {
			t.Fatalf("decode envelope of %s (magic %v): %v", path, found, err)
		}
		if err := into.Unmarshal(envelope.Raw); err != nil {
			t.Fatalf("decode %s: %v", path, err)
		}
	}
	var resources metav1.APIResourceList
	decode("/apis/apps/v1", "application/vnd.kubernetes.protobuf", &resources)
	if n := len(resources.APIResources); n != 12 {
		t.Errorf("apps/v1 has %d resources, want 12", n)
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	decode("/apis", strings.Replace(aggregated, "json", "vnd.kubernetes.protobuf", 1), &list)
	if n := len(list.Items); n != 21 {
		t.Errorf("%d groups, want 21", n)
	}
}
