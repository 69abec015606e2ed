package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"

	"kuberow/api"
	"kuberow/api/apitest"
	"kuberow/api/kinds/core"
)

// memory is a file for a test.
type memory struct{ bytes.Buffer }

// Close implements io.Closer.
func (*memory) Close() error { return nil }

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- {level: None, nonResourceURLs: ["/readyz"]}
- {level: RequestResponse, omitManagedFields: true, omitStages: [RequestReceived], resources: [{resources: [configmaps]}]}
- {level: Request, omitStages: [RequestReceived], resources: [{resources: [secrets]}]}
- level: Metadata
`

func TestAuditTellsWhatThePolicyWants(t *testing.T) {
	p, err := policy.LoadPolicyFromBytes([]byte(auditPolicy))
	if err != nil {
		t.Fatal(err)
	}
	var out memory
	audit := &api.Audit{Policy: policy.NewPolicyRuleEvaluator(p), Sink: api.NewAuditLog(&out, slog.New(slog.DiscardHandler))}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) {
		c.Audit = audit
		c.Prefixes = map[string]http.Handler{"/boom": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}
	})
	s.Do("GET", "/readyz", "")
	s.Do("POST", configmaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"v"}}`, "Content-Type", "application/json")
	s.Do("POST", "/api/v1/namespaces/default/secrets", "kind: Secret\napiVersion: v1\nmetadata: {name: s}\n", "Content-Type", "application/yaml")
	s.Do("GET", "/api/v1/namespaces/default/pods/none", "")
	s.Do("GET", "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=1", "")
	s.Do("GET", "/boom", "")
	if err := s.Shutdown(t.Context()); err != nil { // every event is told
		t.Fatal(err)
	}
	audit.Close()

	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var e auditv1.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		text := string(e.Stage) + " " + e.Verb
		if e.ObjectRef != nil {
			text += " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Name
		}
		if e.ResponseStatus != nil {
			text += " " + http.StatusText(int(e.ResponseStatus.Code)) + " " + string(e.ResponseStatus.Reason)
		}
		if e.RequestObject != nil {
			text += " sent"
		}
		if e.ResponseObject != nil {
			text += " answered"
			if bytes.Contains(e.ResponseObject.Raw, []byte("managedFields")) {
				t.Errorf("managedFields in %s", line)
			}
		}
		got = append(got, text)
		if e.User.Username != "admin" || e.AuditID == "" || e.UserAgent != "test" {
			t.Errorf("who: %s", line)
		}
	}
	want := []string{
		"ResponseComplete create configmaps/a Created  sent answered",
		"ResponseComplete create secrets/s Created  sent",
		"RequestReceived get pods/none",
		"ResponseComplete get pods/none Not Found NotFound",
		"RequestReceived watch pods/",
		"ResponseStarted watch pods/ OK ",
		"ResponseComplete watch pods/ OK ",
		"RequestReceived get",
		"Panic get Internal Server Error InternalError",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// What the log tells of a request is what the server read: protobuf and YAML as JSON, with the defaults of the kind, in the
// version of the URL. A patch is told as it was sent, and a body that could not be read is not told.
func TestAuditTellsObjectsAsTheyWereRead(t *testing.T) {
	p, err := policy.LoadPolicyFromBytes([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: Request}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out memory
	audit := &api.Audit{Policy: policy.NewPolicyRuleEvaluator(p), Sink: api.NewAuditLog(&out, slog.New(slog.DiscardHandler))}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Audit = audit })
	requests := []struct{ verb, path, contentType, body, want string }{
		{"POST", "/api/v1/namespaces/default/secrets", "application/yaml", "metadata: {name: s}\ndata: {a: Yg==}\n",
			`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"a":"Yg=="},"type":"Opaque"}`},
		{"POST", configmaps, "application/json", `{"metadata":{"name":"c"}`, ""},
		{"POST", configmaps, "application/json", `{"metadata":{"name":"BAD"}}`, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"BAD"}}`},
		{"PATCH", "/api/v1/namespaces/default/secrets/s", "application/merge-patch+json", `{"data": {"a": null}}`, `{"data":{"a":null}}`},
		{"DELETE", "/api/v1/namespaces/default/secrets/s", "application/json", `{"gracePeriodSeconds":0}`,
			`{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/__internal","gracePeriodSeconds":0}`},
		{"DELETE", "/api/v1/namespaces/default/secrets/s", "", "", ""},
	}
	for i, r := range requests {
		s.Do(r.verb, r.path, r.body, "Content-Type", r.contentType, "Audit-Id", strconv.Itoa(i))
	}
	if err := s.Shutdown(t.Context()); err != nil { // every event is told
		t.Fatal(err)
	}
	audit.Close()
	told := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		var e auditv1.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		told[string(e.AuditID)] = ""
		if e.RequestObject != nil {
			told[string(e.AuditID)] = string(e.RequestObject.Raw)
		}
	}
	for i, r := range requests {
		if got, ok := told[strconv.Itoa(i)]; !ok || got != r.want {
			t.Errorf("%s %s with %s is told as\n%s, want\n%s", r.verb, r.path, r.body, got, r.want)
		}
	}
}
