package rest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The audit log tells the object of a request as the server read it: whatever
// its form on the wire was, with the defaults of its kind, in the version of
// the URL. Only the pipeline knows that, right after decoding.

type decodedKey struct{}

// WithDecoded has f called with the object, or the options of a delete, that the body of a request under ctx was read as.
// The object belongs to f. A body that cannot be read is not told.
func WithDecoded(ctx context.Context, f func(obj runtime.Object)) context.Context {
	return context.WithValue(ctx, decodedKey{}, f)
}

// tellDecoded tells an object that the request's body was read as, after the rest of its reading: complete makes that of a copy.
func (c *call) tellDecoded(obj runtime.Object, complete func(obj runtime.Object) (runtime.Object, error)) error {
	tell, _ := c.Ctx.Value(decodedKey{}).(func(runtime.Object))
	if tell == nil {
		return nil
	}
	obj, err := complete(obj.DeepCopyObject())
	if err != nil {
		return err
	}
	tell(obj)
	return nil
}

// completeHub gives a hub object as a client of the URL's version would write it in full.
func (c *call) completeHub(hub runtime.Object) (runtime.Object, error) {
	c.defaults(hub)
	return c.encoder().fromHub(hub)
}

// completePart does the same for a subresource's own kind.
func (c *call) completePart(obj runtime.Object) (runtime.Object, error) {
	if c.sub.Default != nil {
		c.sub.Default(obj)
	}
	return obj, nil
}

// completeDelete names the options of a delete as upstream's log does: there they are of no version.
func completeDelete(o runtime.Object) (runtime.Object, error) {
	o.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("DeleteOptions").GroupKind().WithVersion(runtime.APIVersionInternal))
	return o, nil
}
