package api_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/warning"

	"kuberow/api"
	"kuberow/api/apitest"
	"kuberow/api/kinds/core"
)

const configmaps = "/api/v1/namespaces/default/configmaps"

// nobody authenticates no request.
type nobody struct{}

func (nobody) AuthenticateRequest(*http.Request) (*authenticator.Response, bool, error) {
	return nil, false, nil
}

// nothing authorizes no request.
type nothing struct{}

func (nothing) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

func get(t *testing.T, s *apitest.Server, path string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestPages(t *testing.T) {
	s := apitest.Start(t, core.Resources(), nil)
	for path, want := range map[string]struct {
		code int
		body string
	}{
		"/healthz":                  {200, "ok"},
		"/livez":                    {200, "ok"},
		"/readyz":                   {200, "ok"},
		"/readyz/etcd":              {200, "ok"},
		"/readyz?verbose":           {200, "[+]ping ok\n"},
		"/readyz?verbose&exclude=x": {200, "warn: some health checks cannot be excluded"},
		"/readyz/nope":              {404, "404 page not found\n"},
		"/version":                  {200, `"gitVersion": "v1.37.2+kuberow"`},
		"/":                         {200, `"/api/v1"`},
		"/nope":                     {404, "404 page not found\n"},
		"/api/v1/nopes":             {404, "the server could not find the requested resource"},
		"/apis/none/v1/things":      {404, "404 page not found\n"},
	} {
		code, body := s.Do("GET", path, "")
		if code != want.code || !strings.Contains(body, want.body) {
			t.Errorf("GET %s: %d %q, want %d and %q in it", path, code, body, want.code, want.body)
		}
	}
	s.Do("GET", configmaps, "")
	_, body := s.Do("GET", "/metrics", "")
	for _, line := range []string{
		`apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"} 1`,
		`apiserver_request_sli_duration_seconds_count{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="LIST",version="v1"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("%s is not in:\n%s", line, body)
		}
	}
}

func TestNotReadyUntilSaid(t *testing.T) {
	s := apitest.Start(t, core.Resources(), nil)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if code, body := s.Do("GET", "/readyz", ""); code != 500 || !strings.Contains(body, "[-]shutdown failed: reason withheld") {
		t.Errorf("/readyz while shutting down: %d %q", code, body)
	}
	if code, _ := s.Do("GET", "/livez", ""); code != 200 {
		t.Errorf("/livez while shutting down: %d", code)
	}
}

func TestTheDoor(t *testing.T) {
	closed := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Authenticator = nobody{} })
	code, body := closed.Do("GET", configmaps, "")
	if code != 401 || !strings.Contains(body, `"reason":"Unauthorized"`) {
		t.Errorf("nobody: %d %s", code, body)
	}
	guarded := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Authorizer = nothing{} })
	resp := get(t, guarded, configmaps, "Authorization", "Bearer alice")
	b, _ := io.ReadAll(resp.Body)
	var status struct{ Message string }
	_ = json.Unmarshal(b, &status)
	if want := `configmaps is forbidden: User "alice" cannot list resource "configmaps" in API group "" in the namespace "default"`; resp.StatusCode != 403 || status.Message != want {
		t.Errorf("%d %s, want %s", resp.StatusCode, status.Message, want)
	}
	if resp.Header.Get("Audit-Id") == "" || resp.Header.Get("Cache-Control") != "no-cache, private" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", resp.Header)
	}
}

// TestPanic: a handler that panics costs its own request a 500, and no other.
func TestPanic(t *testing.T) {
	s := apitest.Start(t, core.Resources(), func(c *api.Config) {
		c.Prefixes = map[string]http.Handler{"/boom": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("boom") })}
	})
	code, body := s.Do("GET", "/boom", "")
	if code != 500 || !strings.Contains(body, `"reason":"InternalError"`) || strings.Contains(body, "boom") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := s.Do("GET", "/healthz", ""); code != 200 {
		t.Errorf("after the panic: %d", code)
	}
}

func TestLargeBodies(t *testing.T) {
	s := apitest.Start(t, core.Resources(), nil)
	secret := func(n int) string {
		return `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"type":"x/y","stringData":{"k":"` + strings.Repeat("x", n) + `"}}`
	}
	code, body := s.Do("POST", "/api/v1/namespaces/default/secrets", secret(3<<20))
	if code != 413 || !strings.Contains(body, "Request entity too large: limit is 3145728") {
		t.Errorf("3 MiB: %d %.200s", code, body)
	}
	if code, body = s.Do("POST", "/api/v1/namespaces/default/secrets", secret(2<<20)); code != 422 && code != 413 {
		t.Errorf("2 MiB: %d %.200s", code, body)
	}
	if code, body = s.Do("POST", "/api/v1/namespaces/default/secrets", secret(200<<10)); code != 201 {
		t.Fatalf("200 KiB: %d %.200s", code, body)
	}
	resp := get(t, s, "/api/v1/namespaces/default/secrets", "Accept-Encoding", "gzip")
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("a large list is not compressed: %v", resp.Header)
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []any }
	if err := json.NewDecoder(z).Decode(&list); err != nil || len(list.Items) != 1 {
		t.Errorf("the compressed list: %v, %d items", err, len(list.Items))
	}
	if resp := get(t, s, configmaps, "Accept-Encoding", "gzip"); resp.Header.Get("Content-Encoding") != "" {
		t.Error("a small list is compressed")
	}
}

// talkative is a door that has something to say about whom it lets in.
type talkative struct{ apitest.Everybody }

func (d talkative) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	for range 2 {
		warning.AddWarning(req.Context(), "", "take another token")
	}
	audit.AddAuditAnnotation(req.Context(), "door", "opened")
	return d.Everybody.AuthenticateRequest(req)
}

// What is known before there is a handler reaches the client and the audit log all the same.
func TestTheDoorSpeaks(t *testing.T) {
	p, err := policy.LoadPolicyFromBytes([]byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var out memory
	log := &api.Audit{Policy: policy.NewPolicyRuleEvaluator(p), Sink: api.NewAuditLog(&out, slog.New(slog.DiscardHandler))}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Audit, c.Authenticator = log, talkative{} })
	resp := get(t, s, configmaps)
	if got := resp.Header.Values("Warning"); len(got) != 1 || got[0] != `299 - "take another token"` {
		t.Errorf("warnings %q", got)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	log.Close()
	if text := out.String(); !strings.Contains(text, `"door":"opened"`) || !strings.Contains(text, `"authorization.k8s.io/decision":"allow"`) {
		t.Errorf("audit log %s", text)
	}
}
