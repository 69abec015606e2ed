package rest

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"kuberow/sqlstore"
)

// DELETE of a collection: a list, then a DELETE of each item, and the list as
// the answer. It is no transaction: an item that came meanwhile stays, one
// that went meanwhile is no error.

func (c *call) serveDeleteCollection() error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	c.warnDefaultPropagation(options)
	l, err := c.newLister(o)
	if err != nil {
		return err
	}
	var all []sqlstore.KV
	for {
		rows, err := l.next(c.Ctx)
		if err != nil {
			return c.listError(err, l, o)
		}
		for i := range rows {
			obj, err := c.rest.objects.Object(&rows[i], c.Resource.Hub.New)
			if err != nil {
				return err
			}
			m, err := meta.Accessor(obj)
			if err != nil {
				return err
			}
			item := *c.op
			item.Name, item.Namespace = m.GetName(), m.GetNamespace()
			if _, err := item.delete(options); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		all = append(all, rows...)
		if l.done() {
			break
		}
	}
	if c.out.As != nil && c.out.As.Kind == "PartialObjectMetadata" {
		return c.listAsObject()
	}
	return c.answerList(l, c.listMeta(l, o), all)
}

// ended tells whether an error only says that the client went away.
func ended(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, http.ErrAbortHandler)
}
