package rest

import (
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"kuberow/api/wire"
)

// POST on what is not stored as such: reviews, bindings, evictions, tokens.

// serveCreateFunc decodes the body and hands it to the kind's own function.
func (c *call) serveCreateFunc() error {
	body, mediaType, options, err := c.post()
	if err != nil {
		return err
	}
	create := c.Resource.Create
	if c.sub != nil {
		create = c.sub.Create
	}
	if create == nil {
		return methodNotAllowed(c.info.Verb)
	}
	in, err := c.decodeSub(body, mediaType, options.FieldValidation)
	if err != nil {
		return err
	}
	if c.sub != nil && c.sub.Default != nil {
		c.sub.Default(in)
	}
	if m, err := meta.Accessor(in); err == nil {
		if c.sub == nil {
			wipeSystemMeta(m)
		}
		if err := c.checkNamespace(m); err != nil {
			return err
		}
		c.trackPart(in)
	}
	if err := c.mutatingAdmission(opCreate, in, nil); err != nil {
		return err
	}
	if err := c.validatingAdmission(opCreate, in, nil); err != nil {
		return err
	}
	out, err := create(&c.Context, in)
	if err != nil {
		return err
	}
	if s, ok := out.(*metav1.Status); ok {
		if s.Code == 0 {
			s.Code = http.StatusCreated
		}
		return c.answerStatus(int(s.Code), s)
	}
	return c.answerObject(http.StatusCreated, out)
}

// trackPart records the managedFields of what is only answered: Real Kubernetes does, too.
func (c *call) trackPart(in runtime.Object) {
	part := *c.op
	if c.sub != nil {
		part.Resource = c.rest.fields.part(c.Resource, c.sub.GVK, c.emptyPart)
		part.Version, part.sub = part.Resource.Hub, nil
	}
	part.track(part.Resource.Hub.New(), in)
}

// emptyPart makes an object of the subresource's kind; decodeSub has made sure that there is one.
func (c *call) emptyPart() runtime.Object { return newPart(c.sub.GVK) }

func newPart(gvk schema.GroupVersionKind) runtime.Object {
	obj, _ := clientscheme.Scheme.New(gvk)
	return obj
}

// decodeSub reads the body as the kind of the subresource.
func (c *call) decodeSub(body []byte, mediaType, fieldValidation string) (runtime.Object, error) {
	if c.sub == nil {
		return c.decode(body, mediaType, fieldValidation)
	}
	if _, err := clientscheme.Scheme.New(c.sub.GVK); err != nil {
		return nil, fmt.Errorf("create %s: %w", c.sub.Name, err)
	}
	also := func(gvk schema.GroupVersionKind) bool { return slices.Contains(c.sub.Also, gvk) }
	t := wire.Target{GVK: c.sub.GVK, Known: c.rest.known, New: c.emptyPart, Also: also}
	obj, errs, err := wire.Decode(body, mediaType, t, fieldValidation != metav1.FieldValidationIgnore)
	if err != nil {
		return nil, err
	}
	if len(errs) > 0 {
		if fieldValidation == metav1.FieldValidationStrict {
			return nil, wire.Unreadable(runtime.NewStrictDecodingError(errs), c.sub.GVK.Kind, &c.sub.GVK, body)
		}
		c.warnStrict(errs)
	}
	return obj, c.tellDecoded(obj, c.completePart)
}
