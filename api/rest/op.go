package rest

import (
	"context"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kuberow/api/kinds"
)

// op is one request on its way through the stages. The embedded Context is
// what strategies and admission see of it.
type op struct {
	kinds.Context
	rest      *REST
	sub       *kinds.Subresource // nil for the object itself
	strategy  *kinds.Strategy    // of the object or of the subresource
	unmanaged bool               // the change belongs to no field manager
	manager   string             // field manager of the request
	path      string             // for the request row
	options   runtime.Object     // for admission
}

// who is the sender of a request.
type who struct {
	user  user.Info
	agent string
	path  string
	warn  func(string)
}

// newOp starts an op. The parent's subresource may be "".
func (r *REST) newOp(ctx context.Context, w who, verb string, res *kinds.Resource, version *kinds.Version, sub *kinds.Subresource, namespace, name string) *op {
	o := &op{
		rest: r, sub: sub, strategy: res.Strategy, path: w.path,
		Context: kinds.Context{
			Ctx: ctx, User: w.user, Agent: w.agent, Verb: verb, Resource: res, Version: version,
			Namespace: namespace, Name: name, Now: r.Clock().Truncate(time.Second),
			Reader: r.Reader(), Client: client{rest: r, part: true}, Cluster: r.Cluster, Random: r.Random, UID: r.UID, Warn: w.warn,
		},
	}
	if sub != nil {
		o.Subresource = sub.Name
		if sub.Strategy != nil {
			o.strategy = sub.Strategy
		}
	}
	if o.strategy == nil {
		o.strategy = &kinds.Strategy{}
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return o
}

// groupResource names the resource in errors.
func (o *op) groupResource() schema.GroupResource { return o.Resource.GroupResource() }

// key is the etcd key of the object that the op is about.
func (o *op) key() string { return o.Resource.Key(o.Namespace, o.Name) }

// notFound is the 404 for the op's object.
func (o *op) notFound() error { return apierrors.NewNotFound(o.groupResource(), o.Name) }

// authorize asks whether the op's user may do verb with the op's object: for
// what a request turns out to be later on (an update that creates).
func (o *op) authorize(verb string) error {
	a := authorizer.AttributesRecord{
		User: o.User, Verb: verb, Namespace: o.Namespace, APIGroup: o.Resource.Group, Resource: o.Resource.Name,
		Subresource: o.Subresource, Name: o.Name, ResourceRequest: true, Path: o.path,
	}
	if o.Version != nil {
		a.APIVersion = o.Version.GVK.Version
	}
	return o.rest.authorize(o.Ctx, a)
}

func (r *REST) authorize(ctx context.Context, a authorizer.AttributesRecord) error {
	decision, reason, err := r.Authorizer.Authorize(ctx, a)
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return kinds.Forbidden(a, reason)
}

// methodNotAllowed is the 405 of a verb that the resource does not have.
func methodNotAllowed(verb string) error {
	return apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, verb, schema.GroupResource{}, "", "", 0, false)
}

// noSuchResource is the 404 of a resource that is not served.
func noSuchResource(verb string) error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, verb, schema.GroupResource{}, "", "", 0, false)
}
