package api_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
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
