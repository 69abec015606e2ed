package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/rest"
	"kuberow/api/wire"
)

// The chain: what every request passes before a handler sees it. Each link
// either lets it on, with more in its context, or answers.

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	s.running.Add(1)
	defer s.running.Done()
	w := &writer{ResponseWriter: rw}
	start := time.Now()
	id := auditID(req)
	h := w.Header()
	h.Set("Audit-Id", id)
	h.Set("Cache-Control", "no-cache, private")
	info, err := s.resolver.NewRequestInfo(req)
	if err != nil {
		wire.WriteStatus(w, req, apierrors.NewInternalError(fmt.Errorf("failed to create RequestInfo: %w", err)).Status())
		return
	}
	defer func() {
		s.recovered(recover(), w, req, id)
		s.metrics.observe(info, w.code, time.Since(start))
	}()
	req = req.WithContext(request.WithRequestInfo(req.Context(), info))
	if req, err = s.admit(w, req, info); err != nil {
		s.refuse(w, req, err)
		return
	}
	s.router.ServeHTTP(w, req)
}

// recovered turns a panic into one log line and, when nothing was sent yet, a 500.
func (s *Server) recovered(p any, w *writer, req *http.Request, id string) {
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p) // net/http cuts the connection, as the handler wants
	}
	s.Logger.Error("request panicked", "method", req.Method, "path", req.URL.Path, "audit", id,
		"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
	if w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	err := apierrors.NewInternalError(fmt.Errorf("the server could not handle the request; its log says why at audit id %s", id))
	wire.WriteStatus(w, req, err.Status())
}

// auditID is the client's, or a new one.
func auditID(req *http.Request) string {
	if id := req.Header.Get("Audit-Id"); id != "" {
		return id
	}
	return uuid.NewString()
}

// admit finds out who asks, as whom, and whether he may.
func (s *Server) admit(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) (*http.Request, error) {
	u, err := s.authenticate(req)
	if err != nil {
		return req, err
	}
	a := attributes(u, req, info)
	if s.Impersonate != nil {
		as, err := s.Impersonate(req.Context(), s.Authorizer, req.Header, a)
		if err != nil {
			return req, err
		}
		if as != nil {
			u, a.User = as, as
		}
	}
	req = req.WithContext(request.WithUser(req.Context(), u))
	return req, s.authorize(req.Context(), a)
}

func (s *Server) authenticate(req *http.Request) (user.Info, error) {
	if u, ok := trusted(req.Context()); ok {
		return u, nil
	}
	if s.Authenticator == nil {
		return nil, apierrors.NewUnauthorized("Unauthorized")
	}
	resp, ok, err := s.Authenticator.AuthenticateRequest(req)
	if err != nil || !ok {
		s.Logger.Debug("not authenticated", "path", req.URL.Path, "error", err)
		return nil, apierrors.NewUnauthorized("Unauthorized")
	}
	req.Header.Del("Authorization")
	return resp.User, nil
}

// attributes are what the authorizer decides by.
func attributes(u user.Info, req *http.Request, info *request.RequestInfo) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: u, Verb: info.Verb, Path: req.URL.Path, ResourceRequest: info.IsResourceRequest,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
}

// refusal marks the 403 of authorization: its answer has one more header.
type refusal struct{ error }

// Unwrap gives the error to answer with.
func (r refusal) Unwrap() error { return r.error }

func (s *Server) authorize(ctx context.Context, a authorizer.AttributesRecord) error {
	if s.Authorizer == nil {
		return refusal{rest.Forbidden(a, "no authorizer is set")}
	}
	decision, reason, err := s.Authorizer.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil && !apierrors.IsForbidden(err):
		s.Logger.Warn("authorization failed", "user", a.User.GetName(), "path", a.Path, "error", err)
		return apierrors.NewInternalError(err)
	}
	return refusal{rest.Forbidden(a, reason)}
}

// refuse answers with the error of a link.
func (s *Server) refuse(w http.ResponseWriter, req *http.Request, err error) {
	var r refusal
	if errors.As(err, &r) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
	}
	wire.WriteStatus(w, req, rest.StatusOf(err))
}

// writer remembers the status, and passes on what http.ResponseController needs.
type writer struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	if w.code == 0 && code >= 200 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Started tells whether headers went out: then an error can no longer become a Status.
func (w *writer) Started() bool { return w.code != 0 }

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *writer) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// isUnder tells whether path is prefix or below it.
func isUnder(path, prefix string) bool {
	prefix = strings.TrimSuffix(prefix, "/")
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
