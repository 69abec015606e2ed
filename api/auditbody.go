package api

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"kuberow/api/rest"
	"kuberow/api/wire"
)

// The objects of an audited request. Bodies are collected as they pass by, and
// turned into JSON when the request has ended.

// maxAudited is how much of a body is collected; no body may be larger.
const maxAudited = 3<<20 + 1

// collect prepares for the bodies that the policy's level wants, and for those that say which object is meant.
// A patch is told as it was sent, an object as the handler read it.
func (t *trail) collect(req *http.Request) *http.Request {
	if t.long {
		return req
	}
	if t.event.ObjectRef == nil { // discovery is told, what is no object of the API is not
		t.answer = t.event.Level == auditv1.LevelRequestResponse && strings.HasPrefix(req.URL.Path, "/api")
		if t.answer {
			req.Header.Del("Accept-Encoding")
		}
		return req
	}
	switch req.Method {
	case http.MethodPost, http.MethodPut:
		// A Status says more than its code.
		t.answer = slices.Contains([]string{"binding", "eviction"}, t.event.ObjectRef.Subresource)
		req = req.WithContext(rest.WithDecoded(req.Context(), t.decoded))
	case http.MethodDelete:
		t.answer = true
		req = req.WithContext(rest.WithDecoded(req.Context(), t.decoded))
	case http.MethodPatch:
		if req.Body != nil && t.tells() {
			t.request, t.requestType = &bytes.Buffer{}, req.Header.Get("Content-Type")
			req.Body = teeBody{io.TeeReader(req.Body, limitedBuffer{t.request}), req.Body}
		}
	}
	if t.event.Level == auditv1.LevelRequestResponse {
		t.answer = true
	}
	if t.answer || req.Method != http.MethodGet {
		req.Header.Del("Accept-Encoding") // what is told must be readable
	}
	return req
}

// tells says whether the policy wants the request's object.
func (t *trail) tells() bool {
	return t.event.Level == auditv1.LevelRequest || t.event.Level == auditv1.LevelRequestResponse
}

type teeBody struct {
	io.Reader
	io.Closer
}

// limitedBuffer forgets what is too much.
type limitedBuffer struct{ b *bytes.Buffer }

// Write implements io.Writer.
func (l limitedBuffer) Write(p []byte) (int, error) {
	if room := maxAudited - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// answered collects what goes out.
func (t *trail) answered(b []byte) {
	if t != nil && t.answer {
		limitedBuffer{&t.response}.Write(b)
	}
}

// decoded notes the object that a create or an update was read as.
func (t *trail) decoded(obj runtime.Object) {
	if m, err := meta.Accessor(obj); err == nil {
		ref := t.event.ObjectRef
		ref.Name, ref.Namespace = first(ref.Name, m.GetName()), first(ref.Namespace, m.GetNamespace())
		ref.UID, ref.ResourceVersion = m.GetUID(), m.GetResourceVersion()
	}
	if t.tells() {
		t.addObject(&t.event.RequestObject, obj)
	}
}

// describeBody notes a body that is told as it was sent.
func (t *trail) describeBody() {
	if t.request == nil || t.request.Len() == 0 {
		return
	}
	if text := t.json(t.request.Bytes(), t.requestType); text != nil {
		t.event.RequestObject = t.unknown(text)
	}
}

// addObject tells an object in a field of the event.
func (t *trail) addObject(into **runtime.Unknown, obj runtime.Object) {
	if text, err := json.Marshal(obj); err == nil && string(text) != "null" {
		*into = t.unknown(text)
	}
}

// unknown is JSON as it stands in an event.
func (t *trail) unknown(text []byte) *runtime.Unknown {
	return &runtime.Unknown{Raw: t.withoutManaged(text), ContentType: runtime.ContentTypeJSON}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// describeResponse fills in what the answer says.
func (t *trail) describeResponse() {
	if t.response.Len() == 0 {
		return
	}
	text := t.json(t.response.Bytes(), "")
	var what metav1.TypeMeta
	if text == nil || json.Unmarshal(text, &what) != nil || what.Kind == "" {
		return
	}
	var s metav1.Status
	if what.Kind == "Status" && what.APIVersion == "v1" && json.Unmarshal(text, &s) == nil {
		code := t.event.ResponseStatus.Code
		t.event.ResponseStatus = &metav1.Status{ListMeta: s.ListMeta, Status: s.Status, Message: s.Message, Reason: s.Reason, Details: s.Details, Code: code}
	}
	if t.event.Level == auditv1.LevelRequestResponse {
		t.event.ResponseObject = t.unknown(text)
	}
}

// protobufMagic begins a protobuf message.
var protobufMagic = []byte("k8s\x00")

// json gives a body as JSON; nil when it cannot be.
func (t *trail) json(body []byte, contentType string) []byte {
	switch {
	case bytes.HasPrefix(body, protobufMagic):
		obj, gvk, err := protobuf.NewSerializer(clientscheme.Scheme, clientscheme.Scheme).Decode(body, nil, nil)
		if err != nil {
			return nil
		}
		obj.GetObjectKind().SetGroupVersionKind(*gvk)
		text, err := json.Marshal(obj)
		if err != nil {
			return nil
		}
		return text
	case strings.Contains(contentType, "yaml") || !json.Valid(body):
		if contentType == wire.JSON {
			return nil
		}
		text, err := yaml.YAMLToJSON(body)
		if err != nil {
			return nil
		}
		return text
	}
	return bytes.TrimSpace(body)
}

// withoutManaged takes managedFields out when the policy omits them.
func (t *trail) withoutManaged(text []byte) []byte {
	if !t.rule.OmitManagedFields {
		return text
	}
	obj, err := runtime.Decode(unstructured.UnstructuredJSONScheme, text)
	if err != nil {
		return text
	}
	strip := func(o runtime.Object) error {
		if m, err := meta.Accessor(o); err == nil {
			m.SetManagedFields(nil)
		}
		return nil
	}
	if meta.IsListType(obj) {
		_ = meta.EachListItem(obj, strip)
	} else {
		_ = strip(obj)
	}
	out, err := runtime.Encode(unstructured.UnstructuredJSONScheme, obj)
	if err != nil {
		return text
	}
	return bytes.TrimSpace(out)
}
