package api

import (
	"net/http"
	"sort"

	"github.com/julienschmidt/httprouter"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/wire"
)

// Routing. One catch-all per method; what is behind it is decided here.

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

func (s *Server) routes() *httprouter.Router {
	r := httprouter.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleMethodNotAllowed, r.HandleOPTIONS = false, false
	all := s.allRoutes()
	for _, m := range methods {
		r.Handle(m, "/*path", func(w http.ResponseWriter, req *http.Request, _ httprouter.Params) { all(w, req) })
	}
	r.NotFound = all // a method that is not among them: who answers the path says so
	return r
}

// allRoutes finds the handler of a path: a resource, discovery, one of the
// server's own pages, or the longest prefix that somebody registered.
func (s *Server) allRoutes() http.HandlerFunc {
	own := s.ownPages()
	prefixes := make([]string, 0, len(s.Prefixes))
	for p := range s.Prefixes {
		prefixes = append(prefixes, p)
	}
	sort.Slice(prefixes, func(i, j int) bool { return len(prefixes[i]) > len(prefixes[j]) })
	return func(w http.ResponseWriter, req *http.Request) {
		path := req.URL.Path
		for _, p := range prefixes {
			if isUnder(path, p) {
				s.Prefixes[p].ServeHTTP(w, req)
				return
			}
		}
		if isUnder(path, "/api") || isUnder(path, "/apis") {
			s.serveAPI(w, req)
			return
		}
		if page := own[path]; page != nil {
			page(w, req)
			return
		}
		if s.serveCheck(w, req) {
			return
		}
		notFound(w, req)
	}
}

// serveAPI is everything below /api and /apis.
func (s *Server) serveAPI(w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	if info != nil && info.IsResourceRequest {
		if s.Unserved != nil && !s.served(info) {
			s.Unserved.ServeHTTP(w, req)
			return
		}
		if s.groupServed(info.APIGroup) {
			s.rest.ServeHTTP(w, req)
			return
		}
		notFound(w, req)
		return
	}
	if s.Discovery != nil {
		s.Discovery.ServeHTTP(w, req)
		return
	}
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, req.Method, schema.GroupResource{}, "", "", 0, false)
	wire.WriteStatus(w, req, err.Status())
}

func (s *Server) served(info *request.RequestInfo) bool {
	for _, r := range s.Registry.All() {
		if r.Group == info.APIGroup && r.Version(info.APIVersion) != nil {
			return true
		}
	}
	return false
}

func (s *Server) groupServed(group string) bool {
	for _, r := range s.Registry.All() {
		if r.Group == group {
			return true
		}
	}
	return false
}

// notFound is the answer for a path that is nobody's.
func notFound(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte("404 page not found\n"))
}

// ownPages are the paths that this package answers itself.
func (s *Server) ownPages() map[string]http.HandlerFunc {
	pages := map[string]http.HandlerFunc{
		"/version":  wire.Route(s.serveVersion, wire.JSON),
		"/version/": wire.Route(s.serveVersion, wire.JSON),
		"/metrics":  s.metrics.serve,
		"/":         s.servePaths,

		"/index.html": s.servePaths,
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		pages["/"+name] = func(w http.ResponseWriter, req *http.Request) { s.serveHealth(w, req, name) }
	}
	return pages
}
