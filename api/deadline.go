package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Requests end. Every request that is not long-running has a deadline: the
// client's ?timeout=, at most --request-timeout. It holds for reading the body
// and for writing the answer too, so that a client which stops in the middle is let go.

// defaultRequestTimeout is --request-timeout of kube-apiserver.
const defaultRequestTimeout = time.Minute

var (
	longVerbs        = []string{"watch", "proxy"}
	longSubresources = []string{"attach", "exec", "proxy", "log", "portforward"}
)

// longRunning tells whether a request may last as long as it likes.
func longRunning(info *request.RequestInfo) bool {
	if !info.IsResourceRequest {
		return strings.HasPrefix(info.Path, "/debug/pprof/")
	}
	return slices.Contains(longVerbs, info.Verb) || slices.Contains(longSubresources, info.Subresource)
}

// bound gives the request its deadline. end must be called when it is answered.
func (s *Server) bound(w http.ResponseWriter, req *http.Request, start time.Time) (bounded *http.Request, end func(), err error) {
	timeout := s.RequestTimeout
	if text := req.URL.Query().Get("timeout"); text != "" {
		asked, err := time.ParseDuration(text)
		if err != nil {
			return req, func() {}, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %v", err))
		}
		if asked > 0 && asked < timeout {
			timeout = asked
		}
	}
	deadline := start.Add(timeout)
	ctx, cancel := context.WithDeadline(req.Context(), deadline)
	// What is no connection (a test's recorder) has no deadlines. The grace is for the 504 itself.
	const grace = 2 * time.Second
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(deadline)
	_ = conn.SetWriteDeadline(deadline.Add(grace))
	return req.WithContext(ctx), func() {
		cancel()
		_ = conn.SetWriteDeadline(time.Time{}) // the connection outlives the request
	}, nil
}
