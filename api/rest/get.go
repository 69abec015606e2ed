package rest

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/wire"
)

// GET of one object: a look-up of its key. resourceVersion only says how old
// the answer may be at most, so the newest row always serves.

// revisionOf reads a resourceVersion parameter.
func (c *call) revisionOf(s string) (int64, error) { return wire.ParseRevision(s) }

func (c *call) serveGet() error {
	o := &metav1.GetOptions{}
	if err := decodeQuery(c.req.URL.Query(), o); err != nil {
		return err
	}
	revision, err := c.revisionOf(o.ResourceVersion)
	if err != nil {
		return err
	}
	if err := c.waitFor(revision); err != nil {
		return err
	}
	kv, there, err := c.rest.Store.Get(c.Ctx, c.key(), 0)
	if err != nil {
		return err
	}
	if !there {
		return c.notFound()
	}
	return c.answer(http.StatusOK, row{kv: kv})
}

// serveRead answers for a resource that is computed rather than stored.
func (c *call) serveRead() error {
	var obj runtime.Object
	var err error
	switch c.info.Verb {
	case "get", "list":
		obj, err = c.Resource.Read(&c.Context, c.Name)
	default:
		return methodNotAllowed(c.info.Verb)
	}
	if err != nil {
		return err
	}
	gvk := c.Version.GVK
	if c.info.Verb == "list" {
		gvk.Kind += "List"
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	if c.out.IsTable() && c.Resource.Table != nil {
		return c.answerComputed(obj)
	}
	return c.answerObject(http.StatusOK, obj)
}
