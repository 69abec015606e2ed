package api_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"kuberow/api/apitest"
	"kuberow/api/kinds/builtin"
)

// proposals starts a server that takes proposals, and a second connection to its file, as another process has.
func proposals(t *testing.T) (*apitest.Server, *sql.DB) {
	t.Helper()
	s := apitest.Start(t, builtin.Resources(), nil)
	s.Do("POST", "/api/v1/namespaces", `{"metadata":{"name":"default"}}`)
	other, err := sql.Open("sqlite", "file:"+s.Store.Path()+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.TakeProposals(ctx) }()
	t.Cleanup(func() { cancel(); <-done; other.Close() })
	return s, other
}

// propose inserts a wish and waits for its outcome.
func propose(t *testing.T, other *sql.DB, key string, value any) (status, reason string) {
	t.Helper()
	var id int64
	if err := other.QueryRow(`INSERT INTO proposal(key, value) VALUES (?, ?) RETURNING id`, key, value).Scan(&id); err != nil {
		t.Fatal(err)
	}
	for status = "pending"; status == "pending"; {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
		if err := other.QueryRow(`SELECT status, coalesce(error, '') FROM proposal WHERE id = ?`, id).Scan(&status, &reason); err != nil {
			t.Fatal(err)
		}
	}
	return status, reason
}

func TestAProposalIsARequestOfTheAdministrator(t *testing.T) {
	s, other := proposals(t)
	const key = "/registry/configmaps/default/x"
	for _, value := range []string{
		`{"data":{"a":"1"}}`, // the key says the rest
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"default","labels":{"l":"v"}},"data":{"a":"2"}}`,
	} {
		if status, reason := propose(t, other, key, value); status != "done" || reason != "" {
			t.Fatalf("%s: %s, %q", value, status, reason)
		}
	}
	_, body := s.Do("GET", "/api/v1/namespaces/default/configmaps/x", "")
	if !strings.Contains(body, `"a":"2"`) || !strings.Contains(body, `"manager":"proposal"`) {
		t.Errorf("the object is %s", body)
	}
	var who string
	err := other.QueryRow(`SELECT group_concat(user || ' ' || agent || ' ' || verb || ' ' || cause_revision, ', ') FROM request WHERE key = ?`, key).Scan(&who)
	if want := "system:admin proposal create 0, system:admin proposal update 0"; who != want || err != nil {
		t.Errorf("the requests are %q (%v), want %q", who, err, want)
	}
	if status, reason := propose(t, other, key, nil); status != "done" {
		t.Errorf("deleting: %s, %q", status, reason)
	}
	if code, _ := s.Do("GET", "/api/v1/namespaces/default/configmaps/x", ""); code != 404 {
		t.Errorf("the deleted object answers %d", code)
	}
}

func TestARefusedProposalSaysWhy(t *testing.T) {
	_, other := proposals(t)
	const pod = "/registry/pods/default/p"
	for _, c := range []struct {
		key   string
		value any
		why   string
	}{
		{"/registry/configmaps/default/x", `{"data":`, "value is no JSON object: "},
		{"/registry/configmaps/default/x", `{"metadata":{"name":"y"}}`, `the key says that metadata.name is "x", the object says "y"`},
		{"/registry/configmaps/default/x", `{"metadata":{"namespace":"other"}}`, `the key says that metadata.namespace is "default", the object says "other"`},
		{"/registry/configmaps/default/x", `{"dat":{"a":"1"}}`, `strict decoding error: unknown field "dat"`},
		{"/registry/configmaps/nowhere/x", nil, `configmaps "x" not found`},
		{"/registry/nosuch/x", `{}`, `key "/registry/nosuch/x" names no object`},
		{"/registry/configmaps/x", `{}`, `names no object`},
		{pod, `{"spec":{"containers":[]}}`, `Pod "p" is invalid: spec.containers: Required value`},
		{pod, `{"apiVersion":"v1","kind":"Service"}`, `Service`},
	} {
		if status, reason := propose(t, other, c.key, c.value); status != "refused" || !strings.Contains(reason, c.why) {
			t.Errorf("%s %v: %s, %q; want refused, %q", c.key, c.value, status, reason, c.why)
		}
	}
}

// Rows that were there before the server was are taken as well.
func TestProposalsWaitForAServer(t *testing.T) {
	s := apitest.Start(t, builtin.Resources(), nil)
	s.Do("POST", "/api/v1/namespaces", `{"metadata":{"name":"default"}}`)
	other, err := sql.Open("sqlite", "file:"+s.Store.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Exec(`INSERT INTO proposal(key, value) VALUES ('/registry/events/default/e',
		'{"apiVersion":"v1","kind":"Event","involvedObject":{"namespace":"default"},"message":"seen"}')`); err != nil {
		t.Fatal(err)
	}
	before := s.Store.Revision()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.TakeProposals(ctx) }()
	defer func() { cancel(); <-done }()
	if err := s.Store.Wait(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	if code, body := s.Do("GET", "/apis/events.k8s.io/v1/namespaces/default/events/e", ""); code != 200 || !strings.Contains(body, "seen") {
		t.Errorf("%d %s", code, body)
	}
}
