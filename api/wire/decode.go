package wire

import (
	"encoding/hex"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	kjson "sigs.k8s.io/json"
)

// Decode reads a request's body. The steps are upstream's, since each has an
// error text of its own: find kind and apiVersion, create an object of that
// kind, fill it, complain about what was left over.

// Target is what a body should hold.
type Target struct {
	GVK schema.GroupVersionKind
	New func() runtime.Object
	// Known tells whether a kind is served at all, to tell "not here" from "nowhere".
	Known func(schema.GroupVersionKind) bool
	// Also tells of other names of the same kind: every group version has its
	// DeleteOptions, and all are one type.
	Also func(schema.GroupVersionKind) bool
	// Bare: an error is answered as it is, without saying what the body should have been.
	Bare bool
}

// Decode reads body into a new object of the target's kind. With strict it
// lists unknown and duplicate fields in strictErrs beside the object; an
// error is ready to be sent.
func Decode(body []byte, mediaType string, t Target, strict bool) (obj runtime.Object, strictErrs []error, err error) {
	var d runtime.Decoder
	c := creater{t}
	switch mediaType {
	case Protobuf:
		d = protobuf.NewSerializer(c, nil)
	default:
		d = json.NewSerializerWithOptions(json.DefaultMetaFactory, c, nil,
			json.SerializerOptions{Yaml: mediaType == YAML, Strict: strict})
	}
	obj, gvk, strictErrs, err := decode(d, body, t)
	if other, ok := err.(*otherVersion); ok {
		return nil, nil, apierrors.NewBadRequest(other.Error())
	}
	switch {
	case err != nil && t.Bare:
		return nil, nil, apierrors.NewBadRequest(err.Error())
	case err != nil:
		return nil, nil, Unreadable(err, t.GVK.Kind, gvk, body)
	}
	return obj, strictErrs, nil
}

// DecodeJSON is Decode for a text that the server made (a patched object): its error is the decoder's own.
func DecodeJSON(text []byte, t Target, strict bool) (obj runtime.Object, strictErrs []error, err error) {
	d := json.NewSerializerWithOptions(json.DefaultMetaFactory, creater{t}, nil, json.SerializerOptions{Strict: strict})
	obj, _, strictErrs, err = decode(d, text, t)
	return obj, strictErrs, err
}

func decode(d runtime.Decoder, body []byte, t Target) (obj runtime.Object, gvk *schema.GroupVersionKind, strictErrs []error, err error) {
	obj, gvk, err = d.Decode(body, &t.GVK, nil)
	if s, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		return obj, gvk, s.Errors(), nil
	}
	return obj, gvk, nil, err
}

// Unreadable is the 400 for a body that cannot be an object of the kind.
func Unreadable(err error, kind string, gvk *schema.GroupVersionKind, body []byte) error {
	if gvk != nil && gvk.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", gvk.Kind, gvk.Version, kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)", kind, err, summary(body)))
}

// summary shows the first 30 bytes: as they are when it looks like JSON, else in hexadecimal.
func summary(body []byte) string {
	const most = 30
	more := ""
	if len(body) == 0 {
		return "<empty>"
	}
	if len(body) > most {
		body, more = body[:most], " ..."
	}
	if body[0] == '{' {
		return string(body) + more
	}
	return hex.EncodeToString(body) + more
}

// creater gives serializers an empty object of the target's kind, and the
// reason when the body names another one.
type creater struct{ t Target }

// New implements runtime.ObjectCreater.
func (c creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	switch {
	case gvk == c.t.GVK, c.t.Also != nil && c.t.Also(gvk):
		return c.t.New(), nil
	case c.t.Known == nil || !c.t.Known(gvk):
		return nil, runtime.NewNotRegisteredErrForKind("pkg/api/legacyscheme/scheme.go:30", gvk)
	case gvk.GroupKind() == c.t.GVK.GroupKind():
		return nil, &otherVersion{got: gvk.GroupVersion(), want: c.t.GVK.GroupVersion()}
	}
	return nil, fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion",
		gvk.Version, gvk.Kind, InternalPackage(c.t.GVK.Group), c.t.GVK.Kind)
}

type otherVersion struct{ got, want schema.GroupVersion }

// Error is the text for a body in another version than the URL's.
func (e *otherVersion) Error() string {
	return fmt.Sprintf("the API version in the data (%s) does not match the expected API version (%s)", e.got, e.want)
}

// InternalPackage is the Go package that upstream's internal types of a group live in; its error texts show it.
func InternalPackage(group string) string {
	if group == "" {
		return "core"
	}
	name, _, _ := strings.Cut(group, ".")
	return name
}

// DecodeStored fills obj from a stored value. Stored values are our own
// encoder's, so there is nothing to be strict about.
func DecodeStored(value []byte, obj runtime.Object) error {
	if u, ok := obj.(runtime.Unstructured); ok {
		if v, ok := u.(interface{ UnmarshalJSON([]byte) error }); ok {
			return v.UnmarshalJSON(value)
		}
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(value, obj)
}
