package rest_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"kuberow/api/apitest"
	"kuberow/api/kinds/batch"
	"kuberow/api/kinds/core"
)

const (
	asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"
	asList  = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	asOne   = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
)

// TestFieldSelectorsOfKinds: which fields may be asked for is the kind's, and so is the wording of the refusal.
func TestFieldSelectorsOfKinds(t *testing.T) {
	s := apitest.Start(t, append(core.Resources(), batch.Resources()...), nil)
	for _, c := range []struct{ path, selector, refusal string }{
		{"/api/v1/pods", "status.podIPs=1.2.3.4", ""},
		{"/api/v1/pods", "spec.host=n1", ""},
		{"/api/v1/pods", "spec.nope=1", "field label not supported: spec.nope"},
		{"/api/v1/nodes", "metadata.namespace=a", "field label not supported: metadata.namespace"},
		{"/api/v1/namespaces", "name=a", "field label not supported: name"},
		{"/api/v1/persistentvolumes", "metadata.namespace=a", ""},
		{"/api/v1/persistentvolumes", "name=a", `"name" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/api/v1/componentstatuses", "x=a", `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/apis/batch/v1/jobs", "x=a", `field label "x" not supported for Job`},
	} {
		code := 200
		if c.refusal != "" {
			code = 400
		}
		o := want(t, s, code, "GET", c.path+"?fieldSelector="+url.QueryEscape(c.selector), "")
		if got := o.text("message"); got != c.refusal {
			t.Errorf("%s %s: %q, want %q", c.path, c.selector, got, c.refusal)
		}
	}
}

// TestPagesOfASelection: resourceVersion=0 has no pages, and a page is followed
// by one more while any object is left, selected or not.
func TestPagesOfASelection(t *testing.T) {
	s := start(t)
	many(t, s, 6)
	for query, want := range map[string]string{
		"limit=2&resourceVersion=0":                 "[c00 c01 c02 c03 c04 c05] false",
		"limit=2&labelSelector=tier%3Dt0":           "[c00 c03] true",
		"limit=2&labelSelector=tier%3Dt2":           "[c02 c05] false",
		"limit=1&fieldSelector=metadata.name%3Dc01": "[c01] false",
	} {
		o := wantOK(t, s, configmaps+"?"+query)
		if got := fmt.Sprint(o.names(), o.text("metadata", "continue") != ""); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func wantOK(t *testing.T, s *apitest.Server, path string) object {
	t.Helper()
	return want(t, s, 200, "GET", path, "")
}

// TestRoutes: which methods and forms of URL lead anywhere.
func TestRoutes(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("a", "", ""))
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{"HEAD", configmaps + "/a", 405},
		{"FOO", configmaps, 405},
		{"DELETE", "/api/v1/watch/namespaces/default/configmaps", 405},
		{"GET", "/api/v1/configmaps/a", 404},
		{"GET", "/api/v1/configmaps?fieldSelector=metadata.name%3Da", 200},
		{"GET", "/api/v1/watch/componentstatuses", 404},
		{"GET", "/api/v1/watch/namespaces/default/pods/a/status", 404},
		{"GET", "/api/v1/proxy/nodes/a", 404},
		{"GET", "/api/v1/watch", 500},
		{"POST", "/version", 405},
		{"GET", "/healthz/", 404},
	} {
		if code, body := s.Do(c.method, c.path, ""); code != c.code {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.path, code, body, c.code)
		}
	}
}

// TestForms: a clause of Accept that cannot be served is passed over, and what nothing can serve is 406.
func TestForms(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("a", "", ""))
	const protobufTable = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io"
	for _, c := range []struct {
		path, accept string
		code         int
		text         string
	}{
		{configmaps, protobufTable, 406, "only the following media types are accepted"},
		{configmaps, protobufTable + ",application/json", 200, `"kind":"ConfigMapList"`},
		{configmaps + "/none", protobufTable + ",application/json", 404, `"kind":"Status"`},
		{configmaps + "/a", asList, 406, "the requested object is not a list (*core.ConfigMap)"},
		{configmaps, asOne, 406, "the requested object is a list (*core.ConfigMapList)"},
		{configmaps + "?fieldSelector=metadata.name%3Dnone", asList, 200, `"items":null`},
		{"/api/v1/namespaces/default/pods/none/resize", asTable, 406, "only the following media types are accepted"},
		{"/api/v1/namespaces/default/pods/none/resize", asTable + ",application/json", 404, `"kind":"Status"`},
		{"/version", "text/plain", 406, "Available representations: application/json"},
	} {
		code, text := s.Do("GET", c.path, "", "Accept", c.accept)
		if code != c.code || !strings.Contains(text, c.text) {
			t.Errorf("%s as %s: %d %s, want %d with %s", c.path, c.accept, code, text, c.code, c.text)
		}
	}
}

// TestCellsOfWhatIsNotStored: a dry run and a bookmark have the cells that the view would show.
func TestCellsOfWhatIsNotStored(t *testing.T) {
	s := start(t)
	cells := func(o object) string {
		rows, _ := o.at("rows").([]any)
		return fmt.Sprint(rows[0].(map[string]any)["cells"])
	}
	dry := want(t, s, 201, "POST", configmaps+"?dryRun=All", configMap("a", "", `"k":"v"`), "Accept", asTable)
	if got := cells(dry); !regexp.MustCompile(`^\[a 1 \d+s\]$`).MatchString(got) { // its age is however long this took
		t.Errorf("a dry run has the cells %s", got)
	}
	next := watch(t, s, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "Accept", asTable)
	kind, o := next()
	if got := cells(o); kind != "BOOKMARK" || got != "[ 0 <unknown>]" || o.at("columnDefinitions") == nil {
		t.Errorf("%s has the cells %s and columns %v", kind, got, o.at("columnDefinitions"))
	}
}
