package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sort"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"kuberow/api/wire"
)

// Health. /livez says that the process is worth keeping, /readyz that it
// answers requests; /healthz is the old name of both. Each runs checks; ?verbose
// shows them, and each can be asked alone: /readyz/store.

// Check is one condition of health.
type Check struct {
	Name  string
	Ready bool // only /readyz asks it
	Run   func(ctx context.Context) error
}

// builtInChecks are those of every server.
func (s *Server) builtInChecks() []Check {
	return []Check{
		{Name: "ping", Run: func(context.Context) error { return nil }},
		{Name: "log", Run: func(context.Context) error { return nil }},
		{Name: "etcd", Run: s.checkStore},
		{Name: "etcd-readiness", Ready: true, Run: s.checkStore},
		{Name: "informer-sync", Ready: true, Run: func(context.Context) error { // upstream's name for: it has started
			if !s.ready.Load() && s.stopping.Err() == nil {
				return errors.New("the server is starting")
			}
			return nil
		}},
		{Name: "shutdown", Ready: true, Run: func(context.Context) error {
			if s.stopping.Err() != nil {
				return errors.New("process is shutting down")
			}
			return nil
		}},
	}
}

// checkStore reads a row: what can be read is there.
func (s *Server) checkStore(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, _, err := s.Store.Get(ctx, "/registry/health", 0)
	return err
}

// checksOf are the checks of one page.
func (s *Server) checksOf(page string) []Check {
	var out []Check
	for _, c := range s.checks {
		if !c.Ready || page == "readyz" {
			out = append(out, c)
		}
	}
	return out
}

// serveHealth runs the checks of a page.
func (s *Server) serveHealth(w http.ResponseWriter, req *http.Request, page string) {
	excluded := req.URL.Query()["exclude"]
	var out strings.Builder
	var failed []string
	for _, c := range s.checksOf(page) {
		if slices.Contains(excluded, c.Name) {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.Name)
			excluded = slices.DeleteFunc(excluded, func(n string) bool { return n == c.Name })
			continue
		}
		if err := c.Run(req.Context()); err != nil {
			fmt.Fprintf(&out, "[-]%s failed: reason withheld\n", c.Name)
			s.Logger.Warn("health check failed", "page", page, "check", c.Name, "error", err)
			failed = append(failed, c.Name)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.Name)
	}
	if len(excluded) > 0 {
		fmt.Fprintf(&out, "warn: some health checks cannot be excluded: no matches for %q\n", strings.Join(excluded, `", "`))
	}
	if len(failed) > 0 {
		http.Error(w, fmt.Sprintf("%s%s check failed", out.String(), page), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	if _, verbose := req.URL.Query()["verbose"]; !verbose {
		_, _ = w.Write([]byte("ok"))
		return
	}
	fmt.Fprintf(&out, "%s check passed\n", page)
	_, _ = w.Write([]byte(out.String()))
}

// serveCheck answers /readyz/NAME; false when the path is no check.
func (s *Server) serveCheck(w http.ResponseWriter, req *http.Request) bool {
	page, name, ok := strings.Cut(strings.TrimPrefix(req.URL.Path, "/"), "/")
	if !ok || page != "healthz" && page != "livez" && page != "readyz" {
		return false
	}
	for _, c := range s.checksOf(page) {
		if c.Name != name {
			continue
		}
		if err := c.Run(req.Context()); err != nil {
			http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
			return true
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok"))
		return true
	}
	return false
}

// Version is what /version says.
func Version() version.Info {
	return version.Info{
		Major: "1", Minor: "37",
		EmulationMajor: "1", EmulationMinor: "37", MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
		GitVersion: "v1.37.2+kuberow", GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

func (s *Server) serveVersion(w http.ResponseWriter, req *http.Request) {
	_ = wire.WriteObject(w, req, http.StatusOK, wire.Output{MediaType: wire.JSON, Pretty: true}, Version())
}

// servePaths lists what can be asked, at /.
func (s *Server) servePaths(w http.ResponseWriter, req *http.Request) {
	paths := []string{"/api", "/apis", "/healthz", "/livez", "/metrics", "/readyz", "/version"}
	for _, r := range s.Registry.All() {
		for _, v := range r.Versions {
			p := "/api/" + v.GVK.Version
			if r.Group != "" {
				paths = append(paths, "/apis/"+r.Group)
				p = "/apis/" + r.Group + "/" + v.GVK.Version
			}
			paths = append(paths, p)
		}
	}
	for _, c := range s.checks {
		paths = append(paths, "/readyz/"+c.Name)
		if !c.Ready {
			paths = append(paths, "/healthz/"+c.Name, "/livez/"+c.Name)
		}
	}
	for p := range s.Prefixes {
		paths = append(paths, strings.TrimSuffix(p, "/"))
	}
	sort.Strings(paths)
	_ = wire.WriteObject(w, req, http.StatusOK, wire.Output{MediaType: wire.JSON, Pretty: true},
		metav1.RootPaths{Paths: slices.Compact(paths)})
}
