package openapi_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestSharedParameters: version 2 says a parameter once, under the name that upstream's generator gives it.
func TestSharedParameters(t *testing.T) {
	_, h := server(t)
	_, b := get(t, h, "/openapi/v2")
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Parameters map[string]object
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Parameters) != 47 {
		t.Errorf("%d parameters are shared, want 47", len(doc.Parameters))
	}
	for _, name := range []string{"namespace-vgWSWtn3", "body-2Y1dVQaQ", "body-78PwaGsr", "allowWatchBookmarks-HC2hJt-J", "stdout--EZLRwV1"} {
		if doc.Parameters[name] == nil {
			t.Errorf("no parameter %s", name)
		}
	}
	var log []object
	if err := json.Unmarshal(doc.Paths["/api/v1/namespaces/{namespace}/pods/{name}/log"]["parameters"], &log); err != nil {
		t.Fatal(err)
	}
	var create struct{ Parameters []object }
	if err := json.Unmarshal(doc.Paths["/api/v1/namespaces"]["post"], &create); err != nil {
		t.Fatal(err)
	}
	if len(log) != 12 {
		t.Errorf("a log has %d parameters, want 12: its time is none", len(log))
	}
	for _, p := range create.Parameters { // kubectl looks for two by name
		if ref, shared := p["$ref"].(string); shared && doc.Parameters[strings.TrimPrefix(ref, "#/parameters/")] == nil {
			t.Errorf("%s leads nowhere", ref)
		} else if name := p["name"]; !shared && name != "body" && name != "dryRun" && name != "fieldValidation" {
			t.Errorf("parameter %v is not shared", name)
		}
	}
}
