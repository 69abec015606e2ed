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
		if err := connectable(info, req); err != nil {
			return err
		}
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
	if info.Verb != "update" { // which reads the body first
		if err := usableName(info); err != nil {
			return err
		}
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
func (o *op) toHub(obj runtime.Object) (runtime.Object, error) { return hubOf(o.Version, obj) }

// hubOf converts from a version to the one that is stored.
func hubOf(v *kinds.Version, obj runtime.Object) (runtime.Object, error) {
	if v.ToHub == nil {
		return obj, nil
	}
	hub, err := v.ToHub(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return hub, nil
}
