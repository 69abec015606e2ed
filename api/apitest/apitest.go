// Package apitest starts an API server for a test: a real store with its log,
// the kinds that the test names, and a door that lets everybody in.
//
// Why this shape: tests of verbs, kinds, admission and controllers need the
// whole pipeline and nothing else of a cluster. The hardest part is the order
// of the ends: server, log, store, and then the check of the file, each a
// Cleanup. Nothing can be lost: the files are the test's.
package apitest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kuberow/api"
	"kuberow/api/kinds"
	"kuberow/raftlog"
	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
	"kuberow/tables"
)

// Server is an API server that lasts as long as its test.
type Server struct {
	*api.Server
	URL   string
	Store *sqlstore.Store
	t     testing.TB
}

// Start starts a server for resources. change may alter its configuration; nil leaves it.
func Start(t testing.TB, resources []*kinds.Resource, change func(*api.Config)) *Server {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	store := storetest.Open(t)
	node, err := raftlog.Start(t.Context(), store, raftlog.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(); err != nil {
			t.Errorf("stop log: %v", err)
		}
	})
	err = store.WithWriter(t.Context(), func(ctx context.Context, db *sqlx.Conn) error { return tables.Install(ctx, db) })
	if err != nil {
		t.Fatal(err)
	}
	registry, err := kinds.NewRegistry(resources...)
	if err != nil {
		t.Fatal(err)
	}
	c := api.Config{
		Store: store, Proposer: node, Registry: registry, Logger: quiet,
		Cluster:       &kinds.Cluster{EventTTL: time.Hour, ServiceCIDRs: []string{"10.96.0.0/16"}, NodePortFirst: 30000, NodePortLast: 32767},
		Authenticator: Everybody{}, Authorizer: Anything{},
	}
	if change != nil {
		change(&c)
	}
	s, err := api.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.SetReady()
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		h.Close()
	})
	return &Server{Server: s, URL: h.URL, Store: store, t: t}
}

// Everybody authenticates every request, as the user that its bearer token names, admin when there is none.
type Everybody struct{}

// AuthenticateRequest implements authenticator.Request.
func (Everybody) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	name := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if name == "" {
		name = "admin"
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}}, true, nil
}

// Anything authorizes every request.
type Anything struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (Anything) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// Do sends a request and gives the status and the body of the answer. headers are name, value, name, value.
func (s *Server) Do(method, path, body string, headers ...string) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("User-Agent", "test")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}
