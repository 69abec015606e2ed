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
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"kuberow/api/kinds"
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
		h.Del("Cache-Control")
		text := fmt.Sprintf("Internal Server Error: %q: failed to create RequestInfo: %v", req.RequestURI, err)
		http.Error(w, kinds.EscapeHTML.Replace(text), http.StatusInternalServerError)
		return
	}
	long := longRunning(info)
	defer s.metrics.begin(info, req, long)(w)
	defer func() {
		p := recover()
		w.trail.end(p)
		s.recovered(p, w, req, id)
	}()
	req = req.WithContext(request.WithRequestInfo(req.Context(), info))
	if !long {
		var end func()
		if req, end, err = s.bound(w, req, start); err != nil {
			s.refuse(w, req, err)
			return
		}
		defer end()
	}
	s.pass(w, req, info, long)
}

// pass leads a request through the links to its handler.
func (s *Server) pass(w *writer, req *http.Request, info *request.RequestInfo, long bool) {
	ctx := warning.WithWarningRecorder(req.Context(), warnings{w})
	if s.Audit != nil {
		ctx = audit.WithAuditContext(ctx) // collects annotations
	}
	req = req.WithContext(ctx)
	u, err := s.authenticate(req)
	if err != nil {
		w.trail = s.Audit.unknown(w, req, attributes(nil, req, info))
		s.refuse(w, req, err)
		return
	}
	a := attributes(u, req, info)
	w.trail, req = s.Audit.begin(w, req, a, long)
	if req, err = s.impersonate(w, req, &a); err != nil {
		s.refuse(w, req, refusal{err})
		return
	}
	if !long || info.Verb == "watch" {
		if err := s.flows.name(req.Context(), w.Header(), a.User, info); err != nil {
			s.Logger.Warn("the flow schema of a request is not known", "error", err)
		}
	}
	if !long {
		leave, ok := s.inflight.enter(a.User, info)
		if !ok {
			s.metrics.dropped(info, req)
			tooMany(w)
			return
		}
		defer leave()
	}
	reason, err := s.authorize(req.Context(), a)
	w.trail.decided(err == nil, reason)
	if err != nil {
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

// impersonate finds out as whom the request is made: a.User becomes that user.
func (s *Server) impersonate(w *writer, req *http.Request, a *authorizer.AttributesRecord) (as *http.Request, err error) {
	if s.Impersonate != nil {
		other, constraint, err := s.Impersonate(req.Context(), s.Authorizer, req.Header, *a)
		if err != nil {
			return req, err
		}
		if other != nil {
			a.User = other
			w.trail.impersonated(other, constraint)
		}
	}
	return req.WithContext(request.WithUser(req.Context(), a.User)), nil
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
	a := authorizer.AttributesRecord{
		User: u, Verb: info.Verb, Path: req.URL.Path, ResourceRequest: info.IsResourceRequest,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource,
		Subresource: info.Subresource, Namespace: info.Namespace, Name: info.Name,
	}
	if info.FieldSelector != "" {
		selector, err := fields.ParseSelector(info.FieldSelector)
		if a.FieldSelectorParsingErr = err; err == nil {
			a.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if info.LabelSelector != "" {
		selector, err := labels.Parse(info.LabelSelector)
		if a.LabelSelectorParsingErr = err; err == nil {
			a.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return a
}

// refusal marks what impersonation and authorization refuse: its answer has one more header.
type refusal struct{ error }

// Unwrap gives the error to answer with.
func (r refusal) Unwrap() error { return r.error }

func (s *Server) authorize(ctx context.Context, a authorizer.AttributesRecord) (reason string, err error) {
	if s.Authorizer == nil {
		return "", refusal{kinds.Forbidden(a, "no authorizer is set")}
	}
	decision, reason, err := s.Authorizer.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return reason, nil
	case err != nil && !apierrors.IsForbidden(err):
		s.Logger.Warn("authorization failed", "user", a.User.GetName(), "path", a.Path, "error", err)
		return reason, apierrors.NewInternalError(err)
	}
	return reason, refusal{kinds.Forbidden(a, reason)}
}

// warnings are what is said about a request where only its context is known: of the credentials, in api/auth.
type warnings struct{ w http.ResponseWriter }

// AddWarning implements warning.Recorder.
func (a warnings) AddWarning(_, text string) { rest.Warn(a.w, text) }

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
	code  int
	bytes int64
	trail *trail // of the audit log; nil when the request is not audited
}

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(code int) {
	if w.code == 0 && code >= 200 {
		w.code = code
		w.trail.started(code)
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
		w.trail.started(w.code)
	}
	w.bytes += int64(len(b))
	w.trail.answered(b)
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
