package rest_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/apitest"
	"kuberow/api/kinds/apps"
	"kuberow/api/kinds/core"
)

const configmaps = "/api/v1/namespaces/default/configmaps"

// start starts a server with the core and apps kinds.
func start(t testing.TB) *apitest.Server {
	return apitest.Start(t, append(core.Resources(), apps.Resources()...), nil)
}

// object is an answer's body.
type object map[string]any

// at gives the value at a path, nil when there is none.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

func (o object) text(path ...string) string {
	s, _ := o.at(path...).(string)
	return s
}

func (o object) version() string { return o.text("metadata", "resourceVersion") }

// names are those of a list's items.
func (o object) names() (names []string) {
	items, _ := o.at("items").([]any)
	for _, i := range items {
		names = append(names, object(i.(map[string]any)).text("metadata", "name"))
	}
	return names
}

// want sends a request and fails the test unless it is answered with the status.
func want(t testing.TB, s *apitest.Server, status int, method, path, body string, headers ...string) object {
	t.Helper()
	code, text := s.Do(method, path, body, headers...)
	if code != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, code, status, text)
	}
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%s %s: %v in %q", method, path, err, text)
	}
	return o
}

func configMap(name, meta, data string) string {
	if meta != "" {
		meta = "," + meta
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q%s},"data":{%s}}`, name, meta, data)
}

func TestCreate(t *testing.T) {
	s := start(t)
	o := want(t, s, 201, "POST", configmaps, configMap("a", `"labels":{"x":"1"}`, `"k":"v"`))
	if o.text("kind") != "ConfigMap" || o.text("metadata", "namespace") != "default" || o.text("metadata", "uid") == "" || o.version() == "" {
		t.Errorf("incomplete answer: %v", o)
	}
	for name, c := range map[string]struct {
		path, body string
		code       int
		message    string
	}{
		"taken":             {configmaps, configMap("a", "", ""), 409, `configmaps "a" already exists`},
		"no name":           {configmaps, `{"apiVersion":"v1","kind":"ConfigMap"}`, 422, "name or generateName is required"},
		"bad name":          {configmaps, configMap("A_b", "", ""), 422, "a lowercase RFC 1123 subdomain must consist of"},
		"other namespace":   {configmaps, configMap("b", `"namespace":"x"`, ""), 400, "the namespace of the provided object does not match"},
		"other kind":        {configmaps, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b"}}`, 400, "cannot be handled as a ConfigMap"},
		"unknown kind":      {configmaps, `{"apiVersion":"v1","kind":"Nope","metadata":{"name":"b"}}`, 400, `no kind "Nope" is registered for version "v1"`},
		"resourceVersion":   {configmaps, configMap("b", `"resourceVersion":"5"`, ""), 500, "resourceVersion should not be set"},
		"bad finalizer":     {configmaps, configMap("b", `"finalizers":["x"]`, ""), 422, "nor is it fully qualified"},
		"strict":            {configmaps + "?fieldValidation=Strict", `{"metadata":{"name":"b"},"dta":{}}`, 400, `strict decoding error: unknown field "dta"`},
		"bad dry run":       {configmaps + "?dryRun=Some", configMap("b", "", ""), 422, "Unsupported value"},
		"no JSON":           {configmaps, `{`, 400, "couldn't get version/kind"},
		"no such resource":  {"/api/v1/namespaces/default/nopes", `{}`, 404, "could not find the requested resource"},
		"no method":         {"/api/v1/configmaps", configMap("b", "", ""), 405, "does not allow this method"},
		"name in a wrong c": {configmaps + "/b", configMap("b", "", ""), 405, "does not allow this method"},
	} {
		t.Run(name, func(t *testing.T) {
			o := want(t, s, c.code, "POST", c.path, c.body)
			if !strings.Contains(o.text("message"), c.message) {
				t.Errorf("message %q, want %q in it", o.text("message"), c.message)
			}
		})
	}
}

func TestCreateGeneratesNames(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	for range 20 {
		o := want(t, s, 201, "POST", configmaps, `{"metadata":{"generateName":"job-"}}`)
		name := o.text("metadata", "name")
		if len(name) != len("job-")+5 || !strings.HasPrefix(name, "job-") || seen[name] {
			t.Errorf("generated name %q", name)
		}
		seen[name] = true
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	s := start(t)
	o := want(t, s, 201, "POST", configmaps+"?dryRun=All", configMap("a", "", `"k":"v"`))
	if o.version() != "" || o.text("metadata", "uid") == "" {
		t.Errorf("metadata of a dry run: %v", o.at("metadata"))
	}
	want(t, s, 404, "GET", configmaps+"/a", "")
	o = want(t, s, 201, "POST", configmaps, configMap("a", "", `"k":"v"`))
	again := want(t, s, 200, "PUT", configmaps+"/a?dryRun=All", configMap("a", "", `"k":"w"`))
	if again.text("data", "k") != "w" || again.version() != o.version() {
		t.Errorf("a dry run of an update answered %v", again)
	}
	want(t, s, 200, "DELETE", configmaps+"/a?dryRun=All", "")
	if now := want(t, s, 200, "GET", configmaps+"/a", ""); now.text("data", "k") != "v" {
		t.Errorf("a dry run wrote: %v", now)
	}
}

func TestUpdate(t *testing.T) {
	s := start(t)
	first := want(t, s, 201, "POST", configmaps, configMap("a", "", `"k":"1"`))
	second := want(t, s, 200, "PUT", configmaps+"/a", configMap("a", fmt.Sprintf(`"resourceVersion":%q`, first.version()), `"k":"2"`))
	if second.version() == first.version() || second.text("metadata", "uid") != first.text("metadata", "uid") {
		t.Errorf("after an update: %v", second.at("metadata"))
	}
	stale := want(t, s, 409, "PUT", configmaps+"/a", configMap("a", fmt.Sprintf(`"resourceVersion":%q`, first.version()), `"k":"3"`))
	if !strings.HasPrefix(stale.text("message"), `Operation cannot be fulfilled on configmaps "a": the object has been modified`) {
		t.Errorf("message %q", stale.text("message"))
	}
	third := want(t, s, 200, "PUT", configmaps+"/a", configMap("a", "", `"k":"3"`))
	same := want(t, s, 200, "PUT", configmaps+"/a", configMap("a", "", `"k":"3"`))
	if same.version() != third.version() {
		t.Errorf("an update that changes nothing moved the version from %s to %s", third.version(), same.version())
	}
	want(t, s, 409, "PUT", configmaps+"/a", configMap("a", `"uid":"11111111-1111-1111-1111-111111111111"`, ""))
	want(t, s, 400, "PUT", configmaps+"/a", configMap("b", "", ""))
	want(t, s, 404, "PUT", configmaps+"/b", configMap("b", "", ""))
}

func TestPatches(t *testing.T) {
	const path = configmaps + "/a"
	for name, c := range map[string]struct {
		kind, patch string
		code        int
		want        string // data, or the message
	}{
		"merge":            {"application/merge-patch+json", `{"data":{"x":null,"z":"3"}}`, 200, `{"y":"2","z":"3"}`},
		"json":             {"application/json-patch+json", `[{"op":"replace","path":"/data/x","value":"9"},{"op":"remove","path":"/data/y"}]`, 200, `{"x":"9"}`},
		"json test fails":  {"application/json-patch+json", `[{"op":"test","path":"/data/x","value":"no"}]`, 422, "the server rejected our request"},
		"strategic":        {"application/strategic-merge-patch+json", `{"data":{"$patch":"replace","q":"1"}}`, 200, `{"q":"1"}`},
		"no patch":         {"application/merge-patch+json", `[`, 400, "invalid JSON patch"},
		"not a list":       {"application/json-patch+json", `{}`, 400, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"},
		"unknown type":     {"application/json", `{}`, 415, "415: Unsupported Media Type"},
		"another name":     {"application/merge-patch+json", `{"metadata":{"name":"b"}}`, 400, "does not match the name on the URL"},
		"an old version":   {"application/merge-patch+json", `{"metadata":{"resourceVersion":"1"},"data":{"x":"5"}}`, 409, "the object has been modified"},
		"unknown field":    {"application/merge-patch+json", `{"dta":1}`, 422, `unknown field "dta"`},
		"another kind":     {"application/merge-patch+json", `{"kind":"Secret"}`, 422, "converting (v1.Secret) to (core.ConfigMap): unknown conversion"},
		"no kind at all":   {"application/merge-patch+json", `{"kind":"X"}`, 422, `no kind "X" is registered for version "v1"`},
		"a group's kind":   {"application/json-patch+json", `[{"op":"replace","path":"/apiVersion","value":"a/b/c"}]`, 422, "unexpected GroupVersion string: a/b/c"},
		"no apiVersion":    {"application/merge-patch+json", `{"apiVersion":null}`, 422, `strict decoding error: unknown field "data", unknown field "metadata"`},
		"no version":       {"application/merge-patch+json", `{"metadata":{"resourceVersion":"x"}}`, 500, `strconv.ParseUint: parsing "x": invalid syntax`},
		"said once":        {"application/merge-patch+json", `{"metadata":{"annotations":{"a b":""},"finalizers":["x"]}}`, 422, "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'), metadata.finalizers[0]: Invalid"},
		"a wrong type":     {"application/merge-patch+json", `{"data":{"x":5}}`, 422, "cannot unmarshal number"},
		"too many":         {"application/json-patch+json", "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, 10000) + `{"op":"test","path":"/kind","value":"ConfigMap"}]`, 413, "The allowed maximum operations in a JSON patch is 10000, got 10001"},
		"force is apply's": {"application/merge-patch+json", `{}`, 422, "may not be specified for non-apply patch"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			want(t, s, 201, "POST", configmaps, configMap("a", "", `"x":"1","y":"2"`))
			query := "?fieldValidation=Strict"
			if name == "force is apply's" {
				query = "?force=true"
			}
			o := want(t, s, c.code, "PATCH", path+query, c.patch, "Content-Type", c.kind)
			got := o.text("message")
			if c.code == 200 {
				b, _ := json.Marshal(o.at("data"))
				got = string(b)
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestApply(t *testing.T) {
	s := start(t)
	apply := func(code int, manager, query, data string) object {
		t.Helper()
		return want(t, s, code, "PATCH", configmaps+"/a?fieldManager="+manager+query, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {"+data+"}\n",
			"Content-Type", "application/apply-patch+yaml")
	}
	apply(201, "one", "", `x: "1", q: "1"`)
	o := apply(409, "two", "", `x: "2"`)
	if o.text("message") != `Apply failed with 1 conflict: conflict with "one": .data.x` {
		t.Errorf("message %q", o.text("message"))
	}
	o = apply(200, "two", "&force=true", `x: "2"`)
	if o.text("data", "x") != "2" {
		t.Errorf("forced: %v", o.at("data"))
	}
	o = apply(200, "one", "", `q: "1"`)
	if o.text("data", "x") != "2" || o.text("data", "q") != "1" {
		t.Errorf("x is two's now and must stay: %v", o.at("data"))
	}
	before := o.version()
	if o = apply(200, "one", "", `q: "1"`); o.version() != before {
		t.Error("applying the same again wrote")
	}
	o = apply(200, "one", "", "")
	if o.at("data", "q") != nil {
		t.Errorf("a field that nobody applies any more stayed: %v", o.at("data"))
	}
	want(t, s, 422, "PATCH", configmaps+"/a", "{}", "Content-Type", "application/apply-patch+yaml")
}

func TestDelete(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("a", "", ""))
	o := want(t, s, 200, "DELETE", configmaps+"/a", "")
	if o.text("kind") != "Status" || o.text("status") != "Success" || o.text("details", "name") != "a" || o.text("details", "kind") != "configmaps" {
		t.Errorf("answer %v", o)
	}
	want(t, s, 404, "DELETE", configmaps+"/a", "")

	// Typed clients send the options as their own group's version's, in protobuf.
	for _, version := range []string{"v1", "meta.k8s.io/v1", "apps/v1"} {
		asJSON := fmt.Sprintf(`{"apiVersion":%q,"kind":"DeleteOptions","propagationPolicy":"Background"}`, version)
		raw, err := (&metav1.DeleteOptions{}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: "DeleteOptions"}, Raw: raw}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		for mediaType, body := range map[string]string{"application/json": asJSON, "application/vnd.kubernetes.protobuf": "k8s\x00" + string(envelope)} {
			want(t, s, 201, "POST", configmaps, configMap("o", "", ""))
			want(t, s, 200, "DELETE", configmaps+"/o", body, "Content-Type", mediaType)
		}
	}

	want(t, s, 201, "POST", configmaps, configMap("f", `"finalizers":["example.com/f"]`, ""))
	o = want(t, s, 200, "DELETE", configmaps+"/f", "")
	if o.text("metadata", "deletionTimestamp") == "" {
		t.Errorf("a finalizer does not hold: %v", o)
	}
	o = want(t, s, 409, "POST", configmaps, configMap("f", "", ""))
	if !strings.HasPrefix(o.text("message"), "object is being deleted: ") {
		t.Errorf("message %q", o.text("message"))
	}
	want(t, s, 200, "PATCH", configmaps+"/f", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
	want(t, s, 404, "GET", configmaps+"/f", "")

	o = want(t, s, 201, "POST", configmaps, configMap("p", "", ""))
	want(t, s, 409, "DELETE", configmaps+"/p", `{"preconditions":{"uid":"other"}}`)
	want(t, s, 409, "DELETE", configmaps+"/p", `{"preconditions":{"resourceVersion":"1"}}`)
	want(t, s, 201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
	if got := want(t, s, 409, "DELETE", "/api/v1/namespaces/other", `{"preconditions":{"resourceVersion":"1"}}`).text("message"); !strings.HasPrefix(got, `Operation cannot be fulfilled on namespaces "other": Precondition failed: ResourceVersion in precondition: 1,`) {
		t.Errorf("namespace of another version: %q", got)
	}
	want(t, s, 422, "DELETE", configmaps, `{"ignoreStoreReadErrorWithClusterBreakingPotential":true}`)
	want(t, s, 400, "GET", configmaps+"/p?export=true", "")
	want(t, s, 200, "GET", configmaps+"/p?export=false", "")
	o = want(t, s, 200, "DELETE", configmaps+"/p", fmt.Sprintf(`{"propagationPolicy":"Foreground","preconditions":{"uid":%q}}`, o.text("metadata", "uid")))
	if fmt.Sprint(o.at("metadata", "finalizers")) != "[foregroundDeletion]" {
		t.Errorf("finalizers %v", o.at("metadata", "finalizers"))
	}
}

func TestDeleteCollection(t *testing.T) {
	s := start(t)
	for i := range 5 {
		want(t, s, 201, "POST", configmaps, configMap(fmt.Sprint("c", i), fmt.Sprintf(`"labels":{"odd":"%d"}`, i%2), ""))
	}
	o := want(t, s, 200, "DELETE", configmaps+"?labelSelector=odd%3D1", "")
	if fmt.Sprint(o.names()) != "[c1 c3]" {
		t.Errorf("deleted %v", o.names())
	}
	if left := want(t, s, 200, "GET", configmaps, ""); fmt.Sprint(left.names()) != "[c0 c2 c4]" {
		t.Errorf("left %v", left.names())
	}
}

// TestScale changes one number of a Deployment through its scale.
func TestScale(t *testing.T) {
	s := start(t)
	const path = "/apis/apps/v1/namespaces/default/deployments"
	want(t, s, 201, "POST", path, `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	o := want(t, s, 200, "PUT", path+"/d/scale", `{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d","namespace":"default"},"spec":{"replicas":4}}`)
	if o.text("kind") != "Scale" || o.at("spec", "replicas") != 4.0 || o.text("status", "selector") != "a=b" {
		t.Errorf("scale %v", o)
	}
	o = want(t, s, 200, "GET", path+"/d", "")
	if o.at("spec", "replicas") != 4.0 || o.at("metadata", "generation") != 2.0 {
		t.Errorf("replicas %v, generation %v", o.at("spec", "replicas"), o.at("metadata", "generation"))
	}
	b, _ := json.Marshal(o.at("metadata", "managedFields"))
	if !strings.Contains(string(b), `"subresource":"scale"`) {
		t.Errorf("nobody manages replicas through scale: %s", b)
	}
	want(t, s, 422, "PATCH", path+"/d/scale", `{"spec":{"replicas":-1}}`, "Content-Type", "application/merge-patch+json")
	o = want(t, s, 409, "PUT", path+"/d/scale", `{"metadata":{"name":"d","namespace":"default","uid":"x"},"spec":{"replicas":4}}`)
	if got := o.text("message"); !strings.Contains(got, `on deployments.apps "d": StorageError: invalid object, Code: 4`) {
		t.Errorf("PUT of another object's Scale: %q", got)
	}
}

func TestNamesThatAreNoPartOfAKey(t *testing.T) {
	s := start(t)
	const deployments = "/apis/apps/v1/namespaces/default/deployments"
	for _, c := range []struct {
		method, path, body string
		code               int
		message            string
	}{
		{"GET", configmaps + "/a%25b", "", 400, `Name parameter invalid: "a%b": may not contain '%'`},
		{"GET", deployments + "/../status", "", 400, `Name parameter invalid: "..": may not be '..'`},
		{"GET", deployments + "/./scale", "", 400, `Name parameter invalid: ".": may not be '.'`},
		{"DELETE", configmaps + "/..", "", 400, "may not be '..'"},
		{"PUT", configmaps + "/a%25b", configMap("a%b", "", ""), 400, "may not contain '%'"},
		{"PUT", configmaps + "/a%25b", configMap("b", "", ""), 400, "does not match the name on the URL"},
		{"GET", "/api/v1/namespaces/default/bindings?fieldSelector=metadata.name%3Da", "", 405, "does not allow this method"},
	} {
		if got := want(t, s, c.code, c.method, c.path, c.body).text("message"); !strings.Contains(got, c.message) {
			t.Errorf("%s %s: %q, want %q in it", c.method, c.path, got, c.message)
		}
	}
}
