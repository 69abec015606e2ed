package rest

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"

	"kuberow/api/kinds"
)

// Controllers, admission plugins and kinds read and write without HTTP. A
// write passes the very stages of an HTTP request, authorization and admission
// included, in the name of the user it names; only the bytes are missing.

// Client writes in process.
func (r *REST) Client() kinds.Client { return client{rest: r} }

// Reader reads in process.
func (r *REST) Reader() kinds.Reader { return reader{r} }

type reader struct{ rest *REST }

// Get implements kinds.Reader.
func (r reader) Get(ctx context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	res := r.rest.Registry.Get(gr)
	if res == nil {
		return nil, fmt.Errorf("get %s %q: it is not served", gr, name)
	}
	current, there, err := r.rest.live(ctx, res, res.Key(namespace, name))
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, apierrors.NewNotFound(gr, name)
	}
	return current.obj, nil
}

// List implements kinds.Reader.
func (r reader) List(ctx context.Context, gr schema.GroupResource, namespace string, s labels.Selector) ([]runtime.Object, error) {
	res := r.rest.Registry.Get(gr)
	if res == nil {
		return nil, fmt.Errorf("list %s: it is not served", gr)
	}
	l := &lister{rest: r.rest, res: res, selector: selector{labels: s}}
	l.from, l.to = l.selector.reach(res, namespace)
	var out []runtime.Object
	for {
		rows, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			obj, err := r.rest.objects.Object(&rows[i], res.Hub.New)
			if err != nil {
				return nil, err
			}
			out = append(out, obj)
		}
		if l.done() {
			return out, nil
		}
	}
}

type client struct {
	rest *REST
	// part marks the client that an op hands to kinds and plugins: what they write is part of a
	// request that was authorized as a whole (a binding updates the pod that it binds).
	part bool
}

// op makes the op of a write and asks whether the user may.
func (c client) op(ctx context.Context, verb string, w *kinds.Write) (*op, error) {
	res := c.rest.Registry.Get(w.Resource)
	if res == nil {
		return nil, fmt.Errorf("%s %s: it is not served", verb, w.Resource)
	}
	var sub *kinds.Subresource
	if w.Subresource != "" {
		if sub = res.Subresource(w.Subresource); sub == nil {
			return nil, fmt.Errorf("%s %s/%s: there is no such subresource", verb, w.Resource, w.Subresource)
		}
	}
	o := c.rest.newOp(ctx, who{user: w.User, agent: w.Agent, path: WritePath(res, w)}, verb, res, hubVersion(res), sub, w.Namespace, w.Name)
	o.manager, o.unmanaged, o.Cause, o.DryRun = managerOf(cmp.Or(w.Manager, w.Agent)), w.Unmanaged, w.Cause, w.DryRun
	if c.part || system(w.User) {
		return o, nil
	}
	return o, o.authorize(verb)
}

// system tells whether the authorizer need not be asked: it allows system:masters everything.
func system(u user.Info) bool {
	if u == nil {
		return false
	}
	for _, g := range u.GetGroups() {
		if g == user.SystemPrivilegedGroup {
			return true
		}
	}
	return false
}

// hubVersion is the served version that is stored, or the preferred one when that is served by another group.
func hubVersion(res *kinds.Resource) *kinds.Version {
	for _, v := range res.Versions {
		if v.GVK == res.Hub.GVK {
			return v
		}
	}
	return res.Versions[0]
}

// WritePath is the path that the same request would have over HTTP; it stands in the request row.
func WritePath(res *kinds.Resource, w *kinds.Write) string {
	path := "/api/" + hubVersion(res).GVK.Version
	if res.Group != "" {
		path = "/apis/" + res.Group + "/" + hubVersion(res).GVK.Version
	}
	if res.Namespaced && w.Namespace != "" {
		path += "/namespaces/" + w.Namespace
	}
	path += "/" + res.Name
	if w.Name != "" {
		path += "/" + w.Name
	}
	if w.Subresource != "" {
		path += "/" + w.Subresource
	}
	return path
}

// Create implements kinds.Client. The object belongs to the pipeline afterwards.
func (c client) Create(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	o, err := c.op(ctx, "create", &w)
	if err != nil {
		return nil, err
	}
	o.options = &metav1.CreateOptions{TypeMeta: optionsKind("CreateOptions"), FieldManager: o.manager}
	if w.Subresource != "" && o.sub.Create != nil {
		return o.createSub(o.sub.Create, w.Object)
	}
	if o.Resource.Create != nil {
		return o.createSub(o.Resource.Create, w.Object)
	}
	res, err := o.create(w.Object)
	return res.obj, err
}

// createSub is a create whose object is not stored as such.
func (o *op) createSub(create kinds.CreateFunc, in runtime.Object) (runtime.Object, error) {
	if err := o.mutatingAdmission(opCreate, in, nil); err != nil {
		return nil, err
	}
	if err := o.validatingAdmission(opCreate, in, nil); err != nil {
		return nil, err
	}
	return create(&o.Context, in)
}

// Update implements kinds.Client.
func (c client) Update(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	if w.Apply {
		return c.apply(ctx, &w)
	}
	return c.change(ctx, &w, func(*row) (runtime.Object, error) { return w.Object.DeepCopyObject(), nil })
}

// Mutate implements kinds.Client.
func (c client) Mutate(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	return c.change(ctx, &w, func(current *row) (runtime.Object, error) {
		obj := current.obj.DeepCopyObject()
		return obj, w.Mutate(obj)
	})
}

func (c client) change(ctx context.Context, w *kinds.Write, apply func(*row) (runtime.Object, error)) (runtime.Object, error) {
	verb := "update"
	if w.Patch {
		verb = "patch"
	}
	o, err := c.op(ctx, verb, w)
	if err != nil {
		return nil, err
	}
	o.options = &metav1.UpdateOptions{TypeMeta: optionsKind("UpdateOptions"), FieldManager: o.manager}
	res, _, err := o.update(func(current *row) (runtime.Object, bool, error) {
		if current == nil && w.Object == nil {
			return nil, false, o.notFound()
		}
		obj, err := apply(current)
		if err == nil {
			o.defaults(obj)
		}
		return obj, false, err
	}, false, "")
	return res.obj, err
}

// apply is server-side apply to what exists.
func (c client) apply(ctx context.Context, w *kinds.Write) (runtime.Object, error) {
	config, ok := w.Object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("apply %s %q: the configuration is a %T", w.Resource, w.Name, w.Object)
	}
	o, err := c.op(ctx, "patch", w)
	if err != nil {
		return nil, err
	}
	force := true
	o.options = &metav1.PatchOptions{TypeMeta: optionsKind("PatchOptions"), FieldManager: o.manager, Force: &force}
	res, _, err := o.update(func(current *row) (runtime.Object, bool, error) {
		m, err := o.fieldManager()
		if err != nil {
			return nil, false, err
		}
		live := current.complete()
		live.GetObjectKind().SetGroupVersionKind(o.Resource.Hub.GVK)
		known := entryTimes(live)
		obj, err := m.Apply(live, config.DeepCopy(), o.manager, force)
		if err != nil {
			return nil, false, err
		}
		o.stamp(known, obj)
		o.defaults(obj)
		return obj, true, nil
	}, false, "")
	return res.obj, err
}

// Delete implements kinds.Client. It gives the object as it was, or as it is now when something still holds it.
func (c client) Delete(ctx context.Context, w kinds.Write) (runtime.Object, error) {
	o, err := c.op(ctx, "delete", &w)
	if err != nil {
		return nil, err
	}
	options := &metav1.DeleteOptions{TypeMeta: optionsKind("DeleteOptions"), GracePeriodSeconds: w.GracePeriodSeconds}
	if w.UID != "" || w.ResourceVersion != "" {
		options.Preconditions = &metav1.Preconditions{}
		if w.UID != "" {
			uid := types.UID(w.UID)
			options.Preconditions.UID = &uid
		}
		if w.ResourceVersion != "" {
			options.Preconditions.ResourceVersion = &w.ResourceVersion
		}
	}
	if w.Propagation != "" {
		policy := metav1.DeletionPropagation(w.Propagation)
		options.PropagationPolicy = &policy
	}
	o.options = options
	res, err := o.delete(options)
	return res.obj, err
}
