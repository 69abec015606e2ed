package rest_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"kuberow/api/apitest"
)

// many makes config maps c00, c01, ... with the labels tier=t0..t2 and, for every other one, odd.
func many(t *testing.T, s *apitest.Server, n int) {
	t.Helper()
	for i := range n {
		labels := fmt.Sprintf(`"labels":{"tier":"t%d"}`, i%3)
		if i%2 == 1 {
			labels = fmt.Sprintf(`"labels":{"tier":"t%d","odd":"yes"}`, i%3)
		}
		want(t, s, 201, "POST", configmaps, configMap(fmt.Sprintf("c%02d", i), labels, fmt.Sprintf(`"i":"%d"`, i)))
	}
}

func TestListSelectors(t *testing.T) {
	s := start(t)
	many(t, s, 6)
	for query, names := range map[string]string{
		"":                                   "[c00 c01 c02 c03 c04 c05]",
		"labelSelector=tier=t1":              "[c01 c04]",
		"labelSelector=tier!=t1":             "[c00 c02 c03 c05]",
		"labelSelector=odd":                  "[c01 c03 c05]",
		"labelSelector=!odd,tier in (t0,t2)": "[c00 c02]",
		"labelSelector=nope":                 "[]",
		"fieldSelector=metadata.name=c02":    "[c02]",
		"fieldSelector=metadata.name!=c02":   "[c00 c01 c03 c04 c05]",
		"fieldSelector=metadata.name=c02,metadata.namespace=elsewhere": "[]",
		"fieldSelector=metadata.namespace=default&labelSelector=odd":   "[c01 c03 c05]",
	} {
		t.Run(query, func(t *testing.T) {
			key, value, _ := strings.Cut(query, "=")
			value, rest, _ := strings.Cut(value, "&")
			path := configmaps + "?" + key + "=" + url.QueryEscape(value) + "&" + rest
			if got := fmt.Sprint(want(t, s, 200, "GET", path, "").names()); got != names {
				t.Errorf("got %s, want %s", got, names)
			}
		})
	}
	want(t, s, 400, "GET", configmaps+"?labelSelector=%3D%3D", "")
	want(t, s, 400, "GET", configmaps+"?fieldSelector=data.x%3D1", "")
}

// TestPagesAreOneRevision reads a list in pages while it changes: the pages
// together are the list as it was at the first.
func TestPagesAreOneRevision(t *testing.T) {
	s := start(t)
	many(t, s, 7)
	var names []string
	next := ""
	for page := 0; ; page++ {
		o := want(t, s, 200, "GET", configmaps+"?limit=3&continue="+next, "")
		names = append(names, o.names()...)
		if next = o.text("metadata", "continue"); next == "" {
			break
		}
		if left := o.at("metadata", "remainingItemCount"); left != float64(7-len(names)) {
			t.Errorf("page %d says %v are left, want %d", page, left, 7-len(names))
		}
		want(t, s, 200, "DELETE", configmaps+"/c06", "")
		want(t, s, 201, "POST", configmaps, configMap("c06", "", ""))
		want(t, s, 201, "POST", configmaps, configMap(fmt.Sprintf("c05x%d", page), "", ""))
	}
	if got := fmt.Sprint(names); got != "[c00 c01 c02 c03 c04 c05 c06]" {
		t.Errorf("pages give %s", got)
	}
}

func TestListVersions(t *testing.T) {
	s := start(t)
	many(t, s, 2)
	old := want(t, s, 200, "GET", configmaps, "").version()
	want(t, s, 200, "DELETE", configmaps+"/c00", "")
	o := want(t, s, 200, "GET", configmaps+"?resourceVersionMatch=Exact&resourceVersion="+old, "")
	if fmt.Sprint(o.names()) != "[c00 c01]" || o.version() != old {
		t.Errorf("at %s: %v at %s", old, o.names(), o.version())
	}
	o = want(t, s, 200, "GET", configmaps+"?resourceVersionMatch=Exact&labelSelector=odd&resourceVersion="+old, "")
	if fmt.Sprint(o.names()) != "[c01]" {
		t.Errorf("selected at %s: %v", old, o.names())
	}
	o = want(t, s, 200, "GET", configmaps+"?resourceVersionMatch=NotOlderThan&resourceVersion="+old, "")
	if fmt.Sprint(o.names()) != "[c01]" {
		t.Errorf("not older than %s: %v", old, o.names())
	}
	want(t, s, 422, "GET", configmaps+"?resourceVersionMatch=Exact", "")
	want(t, s, 400, "GET", configmaps+"?resourceVersion=x", "")
	want(t, s, 400, "GET", configmaps+"?continue=x", "")
}

func TestRepresentations(t *testing.T) {
	s := start(t)
	many(t, s, 2)
	table := want(t, s, 200, "GET", configmaps, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	rows, _ := table.at("rows").([]any)
	if table.text("kind") != "Table" || len(rows) != 2 || table.at("columnDefinitions") == nil {
		t.Errorf("table %v", table)
	}
	meta := want(t, s, 200, "GET", configmaps+"/c00", "", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	if meta.text("kind") != "PartialObjectMetadata" || meta.at("data") != nil || meta.version() == "" {
		t.Errorf("metadata %v", meta)
	}
	if code, text := s.Do("GET", configmaps+"/c00", "", "Accept", "application/yaml"); code != 200 || !strings.HasPrefix(text, "apiVersion: v1\ndata:\n  i: \"0\"\nkind: ConfigMap\n") {
		t.Errorf("YAML: %d %s", code, text)
	}
	if code, text := s.Do("GET", configmaps+"/c00", "", "Accept", "application/vnd.kubernetes.protobuf"); code != 200 || !strings.HasPrefix(text, "k8s\x00") {
		t.Errorf("protobuf: %d %q", code, text)
	}
	if code, text := s.Do("GET", configmaps, "", "Accept", "application/vnd.kubernetes.protobuf"); code != 200 || !strings.Contains(text, "ConfigMapList") {
		t.Errorf("protobuf list: %d %q", code, text)
	}
	if code, text := s.Do("GET", configmaps+"/c00?pretty=true", ""); code != 200 || !strings.Contains(text, "\n  \"metadata\": {\n") {
		t.Errorf("pretty: %d %s", code, text)
	}
	want(t, s, 406, "GET", configmaps, "", "Accept", "text/html")
}

func TestEmptyTables(t *testing.T) {
	s := start(t)
	const none = "?labelSelector=no%3Dsuch"
	for path, rows := range map[string]string{
		configmaps: "[]", "/api/v1/namespaces/default/pods": "[]",
		"/api/v1/limitranges": "null",
	} {
		code, text := s.Do("GET", path+none, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
		if code != 200 || !strings.HasSuffix(text, `"rows":`+rows+"}\n") {
			t.Errorf("%s: %d, want rows %s: ...%s", path, code, rows, text[max(0, len(text)-40):])
		}
	}
}

func TestWhatIsAccepted(t *testing.T) {
	s := start(t)
	const pods, table = "/api/v1/namespaces/default/pods", "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		path, accept string
		code         int
		message      string
	}{
		{pods + "/none/log", "application/json, */*", 503, "no connection to nodes"},
		{pods + "/none/log", "image/png", 406, "Available representations: text/plain, application/json, "},
		{pods + "/none/log", "text/plain", 406, "only the following media types are accepted"},
		{pods + "/none/status", table, 404, "not found"},
		{configmaps + "?watch=1&fieldSelector=metadata.name%3Da", "image/png", 406, "application/json;stream=watch"},
		{"/api/v1/watch/namespaces/default/configmaps?sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "*/*", 422, "sendInitialEvents is forbidden"},
	} {
		if got := want(t, s, c.code, "GET", c.path, "", "Accept", c.accept).text("message"); !strings.Contains(got, c.message) {
			t.Errorf("%s as %s: %q, want %q in it", c.path, c.accept, got, c.message)
		}
	}
}

// watch opens a watch and gives a function that reads its next event.
func watch(t *testing.T, s *apitest.Server, query string, headers ...string) (next func() (kind string, o object)) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+configmaps+"?watch=true&"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		t.Fatalf("watch: status %d", resp.StatusCode)
	}
	lines := bufio.NewReader(resp.Body)
	return func() (string, object) {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return "", nil
		}
		var e struct {
			Type   string
			Object object
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("event %s: %v", line, err)
		}
		return e.Type, e.Object
	}
}

func expect(t *testing.T, next func() (string, object), kind, name string) object {
	t.Helper()
	k, o := next()
	if k != kind || o.text("metadata", "name") != name {
		t.Fatalf("event %s %s, want %s %s", k, o.text("metadata", "name"), kind, name)
	}
	return o
}

func TestWatch(t *testing.T) {
	s := start(t)
	many(t, s, 2)
	base := want(t, s, 200, "GET", configmaps, "").version()
	next := watch(t, s, "resourceVersion="+base)
	want(t, s, 201, "POST", configmaps, configMap("x", "", ""))
	want(t, s, 200, "PUT", configmaps+"/x", configMap("x", "", `"k":"v"`))
	want(t, s, 200, "DELETE", configmaps+"/x", "")
	added := expect(t, next, "ADDED", "x")
	changed := expect(t, next, "MODIFIED", "x")
	gone := expect(t, next, "DELETED", "x")
	if added.version() >= changed.version() || changed.version() >= gone.version() {
		t.Errorf("versions %s, %s, %s do not grow", added.version(), changed.version(), gone.version())
	}
	if gone.text("data", "k") != "v" {
		t.Errorf("a deletion shows %v, want the last object", gone)
	}
}

// TestWatchSelector: what begins to match is ADDED, what ceases to is DELETED.
func TestWatchSelector(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("x", `"labels":{"a":"1"}`, ""))
	base := want(t, s, 200, "GET", configmaps, "").version()
	next := watch(t, s, "labelSelector=a%3D2&resourceVersion="+base)
	label := func(v string) {
		want(t, s, 200, "PATCH", configmaps+"/x", `{"metadata":{"labels":{"a":"`+v+`"}}}`, "Content-Type", "application/merge-patch+json")
	}
	label("2")
	expect(t, next, "ADDED", "x")
	want(t, s, 200, "PATCH", configmaps+"/x", `{"data":{"k":"v"}}`, "Content-Type", "application/merge-patch+json")
	expect(t, next, "MODIFIED", "x")
	label("3")
	o := expect(t, next, "DELETED", "x")
	if o.text("metadata", "labels", "a") != "2" {
		t.Errorf("shown with label %s, want the one that matched", o.text("metadata", "labels", "a"))
	}
}

func TestWatchInitialEvents(t *testing.T) {
	s := start(t)
	many(t, s, 2)
	next := watch(t, s, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
	expect(t, next, "ADDED", "c00")
	expect(t, next, "ADDED", "c01")
	k, o := next()
	if k != "BOOKMARK" || o.text("metadata", "annotations", "k8s.io/initial-events-end") != "true" || o.version() == "" {
		t.Errorf("event %s %v, want the bookmark that ends the initial events", k, o)
	}
	want(t, s, 200, "DELETE", configmaps+"/c01", "")
	expect(t, next, "DELETED", "c01")
}

func TestWatchTable(t *testing.T) {
	s := start(t)
	many(t, s, 2)
	next := watch(t, s, "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	_, first := next()
	_, second := next()
	if first.at("columnDefinitions") == nil || second.at("columnDefinitions") != nil {
		t.Error("column definitions belong into the first event only")
	}
}

// TestWatchEndsWithTheServer: a graceful shutdown does not wait for watches.
func TestWatchEndsWithTheServer(t *testing.T) {
	s := start(t)
	next := watch(t, s, "resourceVersion=0&timeoutSeconds=600")
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if k, o := next(); k != "" {
		t.Errorf("event %s %v after the shutdown", k, o)
	}
}
