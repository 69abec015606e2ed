package rest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// What upstream's router and its handlers check of a request before a verb begins: whether a route
// has that form, its methods, media types, and the name in the URL.

// find looks the resource up that a URL names.
func (r *REST) find(info *request.RequestInfo) (*kinds.Resource, *kinds.Version, *kinds.Subresource, error) {
	res := r.Registry.Get(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	if res == nil {
		return nil, nil, nil, noSuchResource(info.Verb)
	}
	version := res.Version(info.APIVersion)
	if version == nil || !res.Namespaced && info.Namespace != "" && res.Name != "namespaces" || unrouted(res, info) {
		return nil, nil, nil, noSuchResource(info.Verb)
	}
	if info.Subresource == "" {
		return res, version, nil, nil
	}
	sub := res.Subresource(info.Subresource)
	if sub == nil || len(info.Parts) > 3 && !sub.Connect {
		return nil, nil, nil, noSuchResource(info.Verb)
	}
	return res, version, sub, nil
}

// unrouted tells whether no method at all has a route of that form: a name
// without its namespace, a name of what has none (reviews), the old prefixes
// proxy and, but for what can be watched, watch.
func unrouted(res *kinds.Resource, info *request.RequestInfo) bool {
	if len(info.Parts) > 1 { // not by info.Name, which a field selector can set
		if res.Namespaced && info.Namespace == "" {
			return true
		}
		named := func(verb string) bool {
			return verb == "get" || verb == "update" || verb == "patch" || verb == "delete"
		}
		if info.Subresource == "" && !slices.ContainsFunc(res.Verbs, named) {
			return true
		}
	}
	switch prefix := oldPrefix(info); prefix {
	case "":
		return false
	case "watch":
		return info.Subresource != "" || !slices.Contains(res.Verbs, "watch")
	}
	return true
}

// oldPrefix is what stands between version and resource in the URLs of old: watch or proxy.
func oldPrefix(info *request.RequestInfo) string {
	parts := strings.Split(strings.Trim(info.Path, "/"), "/")
	if info.APIGroup != "" {
		parts = parts[1:]
	}
	if len(parts) > 2 && (parts[2] == "watch" || parts[2] == "proxy") {
		return parts[2]
	}
	return ""
}

// allowed checks the verb against the resource, and the method against the
// URL: a method has no route on a collection, say, whatever the verb.
func allowed(res *kinds.Resource, sub *kinds.Subresource, info *request.RequestInfo, req *http.Request) error {
	verbs := res.Verbs
	if sub != nil {
		verbs = sub.Verbs
	}
	if sub != nil && sub.Connect {
		routed := req.Method != http.MethodHead && slices.Contains(verbs, info.Verb)
		if sub.Name == "proxy" { // it hands on any method that it knows
			routed = slices.Contains(verbs, info.Verb) || req.Method == http.MethodOptions
		}
		if !routed {
			return methodNotAllowed(info.Verb)
		}
		if sub.Name != "log" && req.URL.Query().Has("dryRun") {
			return apierrors.NewBadRequest("dryRun is not supported")
		}
		return nil
	}
	named := len(info.Parts) > 1 // not by info.Name, as above
	if named && sub == nil && res.Create != nil {
		return noSuchResource(info.Verb) // a review has no name to find it by
	}
	if res.Namespaced && info.Namespace == "" && res.Create != nil {
		return noSuchResource(info.Verb) // and none is made outside of its namespace
	}
	routed := true
	switch req.Method {
	case http.MethodGet:
	case http.MethodPost:
		routed = !named || sub != nil
	case http.MethodPut, http.MethodPatch:
		routed = named
	case http.MethodDelete:
	default:
		routed = false
	}
	// All-namespaces URLs of namespaced resources can only be read; reviews have no namespace to be in.
	if res.Namespaced && info.Namespace == "" && req.Method != http.MethodGet || oldPrefix(info) != "" && req.Method != http.MethodGet {
		routed = false
	}
	verb := info.Verb
	if verb == "watch" && !slices.Contains(verbs, "watch") || !routed || !slices.Contains(verbs, verb) {
		return methodNotAllowed(verb)
	}
	return nil
}

// patchTypes are the media types that a PATCH may have.
var patchTypes = []string{
	"application/json-patch+json", "application/merge-patch+json", strategicPatch, "application/apply-patch+yaml",
}

const strategicPatch = "application/strategic-merge-patch+json" // needs a Go type: not for custom resources

// acceptable is the check of the route itself, before any handler: can it
// produce what is accepted, and read what is sent.
func acceptable(info *request.RequestInfo, custom bool, req *http.Request) error {
	list := len(info.Parts) < 2 && (info.Verb == "list" || info.Verb == "watch")
	if err := produced(wire.Representations(list), req); err != nil {
		return err
	}
	if req.Method == http.MethodPatch {
		t, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
		if custom && t == strategicPatch || custom && !slices.Contains(patchTypes, t) {
			return wire.UnsupportedMediaType(slices.DeleteFunc(slices.Clone(patchTypes), func(t string) bool { return t == strategicPatch }))
		}
		if !slices.Contains(patchTypes, t) {
			return routeError(http.StatusUnsupportedMediaType, "415: Unsupported Media Type")
		}
	}
	return nil
}

// produced refuses a request that accepts none of what its route answers with.
func produced(types []string, req *http.Request) error {
	if wire.Acceptable(req, types) {
		return nil
	}
	return routeError(http.StatusNotAcceptable, "406: Not Acceptable\n\nAvailable representations: "+strings.Join(types, ", "))
}

// connectable is what is checked before a stream is handed on. A log is the one that upstream
// serves as it does objects: it negotiates, though its answer is plain text in any case.
func connectable(info *request.RequestInfo, req *http.Request) error {
	if info.Subresource == "log" {
		if err := produced(append([]string{"text/plain"}, wire.Representations(false)...), req); err != nil {
			return err
		}
		if _, err := wire.NegotiateMetadata(req); err != nil {
			return err
		}
	}
	return usableName(info)
}

// usableName refuses a name in a URL that could be no part of a key.
func usableName(info *request.RequestInfo) error {
	if len(info.Parts) < 2 {
		return nil
	}
	if faults := pathvalidation.IsValidPathSegmentName(info.Name); len(faults) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", info.Name, strings.Join(faults, ";")))
	}
	return nil
}

func routeError(code int, text string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", text, 0, false)
}
