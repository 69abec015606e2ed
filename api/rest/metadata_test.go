package rest_test

import (
	"fmt"
	"net/http"
	"testing"
)

// What upstream answers to metadata that only a hand-written request has.
func TestMetadataOfWrites(t *testing.T) {
	s := start(t)
	const event = `{"apiVersion":"v1","kind":"Event","metadata":{"name":"Bogus!","finalizers":["x"]},"involvedObject":{"namespace":%q}}`
	want(t, s, http.StatusCreated, "POST", configmaps, configMap("a", "", ""))
	for _, c := range []struct {
		name, method, path, body string
		status, causes           int
		message                  string
	}{
		{"create with a version", "POST", configmaps, configMap("b", `"resourceVersion":"7"`, ""),
			500, 0, "resourceVersion should not be set on objects to be created"},
		{"dry run with a version", "POST", configmaps + "?dryRun=All", configMap("b", `"resourceVersion":"7"`, ""), 201, 0, ""},
		{"create with what is no version", "POST", configmaps, configMap("b", `"resourceVersion":"x"`, ""), 201, 0, ""},
		{"invalid before versioned", "POST", configmaps, configMap("c", `"resourceVersion":"7","generation":-1`, ""), 422, 1, ""},
		{"update with what is no version", "PUT", configmaps + "/a", configMap("a", `"resourceVersion":"x"`, ""),
			500, 0, `strconv.ParseUint: parsing "x": invalid syntax`},
		{"an update says once what is wrong", "PUT", configmaps + "/a", configMap("a", `"ownerReferences":[{"apiVersion":"v1"}]`, ""), 422, 3, ""},
		{"selfLink is kept at update", "PUT", configmaps + "/a", configMap("a", `"selfLink":"x"`, ""), 200, 0, ""},
		{"finalizers name a domain", "PUT", configmaps + "/a", configMap("a", `"finalizers":["x"]`, ""), 422, 1, ""},
		{"a kind that is held to its name rule again", "PUT", configmaps + "/a", configMap("a", `"generateName":"Bad_"`, ""), 422, 1, ""},
		{"an event's metadata comes last", "POST", "/api/v1/namespaces/default/events", fmt.Sprintf(event, "other"), 422, 1, ""},
		{"an event's metadata may be anything", "POST", "/api/v1/namespaces/default/events", fmt.Sprintf(event, "default"), 201, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := want(t, s, c.status, c.method, c.path, c.body)
			causes, _ := o.at("details", "causes").([]any)
			if len(causes) != c.causes || c.message != "" && o.text("message") != c.message {
				t.Errorf("%d causes, %q; want %d, %q", len(causes), o.text("message"), c.causes, c.message)
			}
		})
	}
}
