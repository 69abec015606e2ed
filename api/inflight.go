package api

import (
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Requests at a time. More than --max-requests-inflight that read, or
// --max-mutating-requests-inflight that write, are answered with 429 and asked
// to come again. Long-running requests do not count, and whoever administers the cluster always gets in.

// inflight is a slot for each request under way; a nil channel has no limit.
type inflight struct{ reading, writing chan struct{} }

func newInflight(reading, writing int) inflight {
	var f inflight
	if reading > 0 {
		f.reading = make(chan struct{}, reading)
	}
	if writing > 0 {
		f.writing = make(chan struct{}, writing)
	}
	return f
}

// of gives the slots that a request needs one of.
func (f inflight) of(info *request.RequestInfo) chan struct{} {
	switch info.Verb {
	case "get", "list", "watch":
		return f.reading
	}
	return f.writing
}

// enter takes a slot; leave gives it back. ok is false when there is none.
func (f inflight) enter(u user.Info, info *request.RequestInfo) (leave func(), ok bool) {
	slots := f.of(info)
	if slots == nil {
		return func() {}, true
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, true
	default:
		return func() {}, u != nil && slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup)
	}
}

// tooMany is the 429; it is no Status, as upstream's is none.
func tooMany(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
