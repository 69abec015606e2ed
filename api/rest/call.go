package rest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// call is an op that came over HTTP.
type call struct {
	*op
	w    http.ResponseWriter
	req  *http.Request
	out  wire.Output
	info *request.RequestInfo
}

const (
	maxBody        = 3 << 20          // bytes of a request's body
	requestTimeout = 34 * time.Second // of everything but watches and streams; Real Kubernetes does the same
)

// ServeHTTP serves a request for a resource. Authentication and authorization
// are behind it; the context carries user and RequestInfo. Every error ends
// here as a Status.
func (r *REST) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := r.serve(w, req); err != nil {
		if started, ok := w.(interface{ Started() bool }); ok && started.Started() {
			r.Logger.Warn("answer ended early", "path", req.URL.Path, "error", err)
			panic(http.ErrAbortHandler) // a cut connection is the only way left to say that it failed
		}
		wire.WriteStatus(w, req, StatusOf(err))
	}
}

func (r *REST) serve(w http.ResponseWriter, req *http.Request) error {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest {
		return noSuchResource(req.Method)
	}
	res, version, sub, err := r.find(info)
	if err != nil {
		return err
	}
	if err := allowed(res, sub, info, req); err != nil {
		return err
	}
	if version.Deprecated != "" {
		Warn(w, version.Deprecated)
		audit.AddAuditAnnotation(req.Context(), "k8s.io/deprecated", "true")
	}
	if sub != nil && sub.Connect {
		if r.Connect == nil {
			return apierrors.NewServiceUnavailable("this server has no connection to nodes")
		}
		r.Connect.ServeHTTP(w, req)
		return nil
	}
	if err := acceptable(info, res.Custom, req); err != nil {
		return err
	}
	c := &call{w: w, req: req, info: info}
	ctx := req.Context()
	if info.Verb != "watch" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTimeout)
		defer cancel()
	}
	c.op = r.newOp(ctx, r.sender(w, req), info.Verb, res, version, sub, info.Namespace, info.Name)
	negotiate := wire.Negotiate
	if sub != nil && !sub.HasTable() {
		negotiate = wire.NegotiateMetadata
	}
	if c.out, err = negotiate(req); err != nil {
		return err
	}
	return c.dispatch()
}

// sender reads who asks from the request.
func (r *REST) sender(w http.ResponseWriter, req *http.Request) who {
	u, _ := request.UserFrom(req.Context())
	return who{user: u, agent: req.UserAgent(), path: req.URL.Path, warn: func(text string) { Warn(w, text) }}
}

// dispatch calls the file of the verb.
func (c *call) dispatch() error {
	switch {
	case c.sub != nil && c.sub.Scale != nil:
		return c.serveScale()
	case c.info.Verb == "create" && (c.sub != nil || c.Resource.Create != nil):
		return c.serveCreateFunc()
	case c.Resource.Read != nil:
		return c.serveRead()
	}
	switch c.info.Verb {
	case "get":
		return c.serveGet()
	case "list":
		return c.serveList()
	case "watch":
		return c.serveWatch()
	case "create":
		return c.serveCreate()
	case "update":
		return c.serveUpdate()
	case "patch":
		return c.servePatch()
	case "delete":
		return c.serveDelete()
	case "deletecollection":
		return c.serveDeleteCollection()
	}
	return methodNotAllowed(c.info.Verb)
}

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
	named := info.Name != ""
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
	list := info.Name == "" && (info.Verb == "list" || info.Verb == "watch")
	produces := wire.Representations(list)
	if !wire.Acceptable(req, produces) {
		return routeError(http.StatusNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(produces, ", "))
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

func routeError(code int, text string) error {
	return apierrors.NewGenericServerResponse(code, "", schema.GroupResource{}, "", text, 0, false)
}

// Warn adds a Warning header, once for each text.
func Warn(w http.ResponseWriter, text string) {
	const most = 256
	value := fmt.Sprintf("299 - %s", quoteWarning(text, most))
	if !slices.Contains(w.Header().Values("Warning"), value) {
		w.Header().Add("Warning", value)
	}
}

// quoteWarning makes an HTTP quoted-string of a text.
func quoteWarning(text string, _ int) string {
	text = strings.Map(func(c rune) rune {
		if c == '\n' || c == '\r' {
			return ' '
		}
		if c < ' ' || c == 0x7f {
			return -1
		}
		return c
	}, text)
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// readBody reads the request's body up to the limit.
func (c *call) readBody() ([]byte, error) {
	if c.req.Body == nil {
		return nil, nil
	}
	var body []byte
	var err error
	limited := io.LimitReader(c.req.Body, maxBody+1)
	if n := c.req.ContentLength; n > 0 && n <= maxBody {
		body = make([]byte, n)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	if err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if len(body) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return body, nil
}

func (c *call) inputType() (string, error) { return wire.InputType(c.req) }

// target is what the body of a create or an update should hold.
func (c *call) target() wire.Target {
	t := wire.Target{GVK: c.Version.GVK, New: c.Version.New, Known: c.rest.known}
	return t
}

// known tells whether any resource serves the kind or lists of it, or would in a version that is no longer served.
func (r *REST) known(gvk schema.GroupVersionKind) bool {
	if clientscheme.Scheme.Recognizes(gvk) {
		return true
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	if gvk.Kind == "" {
		return gvk.GroupVersion() == schema.GroupVersion{Version: "v1"} // a List of anything
	}
	for _, res := range r.Registry.All() {
		for _, v := range res.Versions {
			if v.GVK == gvk {
				return true
			}
		}
	}
	return false
}

// decode reads the body as the version of the URL and converts it to the hub.
func (c *call) decode(body []byte, mediaType, fieldValidation string) (runtime.Object, error) {
	strict := fieldValidation != metav1.FieldValidationIgnore
	obj, errs, err := wire.Decode(body, mediaType, c.target(), strict)
	if err != nil {
		return nil, err
	}
	if c.Version.Prune != nil {
		for _, name := range c.Version.Prune(obj) {
			errs = append(errs, fmt.Errorf("unknown field %q", name))
		}
	}
	if len(errs) > 0 && strict {
		if fieldValidation == metav1.FieldValidationStrict {
			gvk := c.Version.GVK
			return nil, wire.Unreadable(runtime.NewStrictDecodingError(errs), gvk.Kind, &gvk, body)
		}
		c.warnStrict(errs)
	}
	hub, err := c.toHub(obj)
	if err != nil {
		return nil, err
	}
	return hub, c.tellDecoded(hub, c.completeHub)
}

// warnStrict turns what strict decoding complained about into warnings.
func (c *call) warnStrict(errs []error) {
	for _, err := range errs {
		text := err.Error()
		for _, prefix := range []string{"yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"} {
			text = strings.TrimPrefix(text, prefix)
		}
		for _, line := range strings.Split(text, "\n") {
			c.Warn(strings.TrimSpace(line))
		}
	}
}

// toHub converts from the version of the URL to the one that is stored.
func (o *op) toHub(obj runtime.Object) (runtime.Object, error) {
	if o.Version.ToHub == nil {
		return obj, nil
	}
	hub, err := o.Version.ToHub(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return hub, nil
}
