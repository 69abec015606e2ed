package rest

import (
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/wire"
)

// GET of one object: a look-up of its key. resourceVersion only says how old
// the answer may be at most, so the newest row always serves.

// revisionOf reads a resourceVersion parameter.
func (c *call) revisionOf(s string) (int64, error) { return wire.ParseRevision(s) }

func (c *call) serveGet() error {
	if err := refuseExport(c.req.URL.Query()["export"]); err != nil {
		return err
	}
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

// refuseExport: a parameter that once meant something is not ignored, but where it says no.
func refuseExport(export []string) error {
	if len(export) == 0 {
		return nil
	}
	var asked bool
	if err := runtime.Convert_Slice_string_To_bool(&export, &asked, nil); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the export parameter cannot be parsed: %v", err))
	}
	if asked {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	return nil
}

// serveRead answers for a resource that is computed rather than stored.
func (c *call) serveRead() error {
	var obj runtime.Object
	var err error
	switch c.info.Verb {
	case "get":
		obj, err = c.Resource.Read(&c.Context, c.Name)
	case "list":
		obj, err = c.readList()
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

// readList is the list of a computed resource, of which the selectors choose.
func (c *call) readList() (runtime.Object, error) {
	o, err := c.listOptions()
	if err != nil {
		return nil, err
	}
	list, err := c.Resource.Read(&c.Context, "")
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", c.Resource.Name, err)
	}
	s := selector{labels: o.LabelSelector, fields: o.FieldSelector}
	items = slices.DeleteFunc(items, func(obj runtime.Object) bool { return !s.matches(c.Resource, obj) })
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("list %s: %w", c.Resource.Name, err)
	}
	return list, nil
}
