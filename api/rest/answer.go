package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// Answers. A stored row becomes JSON by splicing when the version asked for is
// the stored one; otherwise it is decoded, converted and encoded.

// encoder writes rows of one resource in one version.
type encoder struct {
	rest    *REST
	res     *kinds.Resource
	version *kinds.Version
}

func (c *call) encoder() encoder { return encoder{c.rest, c.Resource, c.Version} }

// splices tells whether stored bytes can go out as they are.
func (e encoder) splices() bool { return e.version.FromHub == nil && e.version.GVK == e.res.Hub.GVK }

func (e encoder) splice(kv *sqlstore.KV, item bool) wire.Splice {
	return wire.Splice{
		Revision: kv.ModRevision, ManagedFields: kv.ManagedFields,
		Item: item && !e.res.Custom, Sorted: e.res.Custom,
	}
}

// appendJSON appends a row as JSON.
func (e encoder) appendJSON(dst []byte, kv *sqlstore.KV, item bool) ([]byte, error) {
	if e.splices() {
		return e.splice(kv, item).Append(dst, kv.Value)
	}
	obj, err := e.object(kv)
	if err != nil {
		return dst, err
	}
	if item {
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	b, err := json.Marshal(obj)
	if err != nil {
		return dst, fmt.Errorf("encode %s: %w", kv.Key, err)
	}
	return append(dst, b...), nil
}

// object gives a row as an object of the version, complete, to be encoded: only
// its type and metadata may be changed, since the rest may be the shared decoded object's. A
// conversion gets an object of its own.
func (e encoder) object(kv *sqlstore.KV) (runtime.Object, error) {
	hub, known := e.rest.objects.Find(kv.ID)
	if known = known && e.version.FromHub == nil; known {
		hub = shallow(hub)
	} else {
		var err error
		if hub, err = wire.Decoded(kv, kv.ModRevision, e.res.Hub.New); err != nil {
			return nil, err
		}
	}
	m, err := meta.Accessor(hub)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
	}
	m.SetManagedFields(managed(kv))
	m.SetResourceVersion(wire.Revision(kv.ModRevision)) // of a deleted object's last state: the deletion's
	return e.fromHub(hub)
}

// fromHub converts a hub object that belongs to the caller.
func (e encoder) fromHub(hub runtime.Object) (runtime.Object, error) {
	obj := hub
	if e.version.FromHub != nil {
		var err error
		if obj, err = e.version.FromHub(hub); err != nil {
			return nil, fmt.Errorf("convert %s to %s: %w", e.res.Name, e.version.GVK.Version, err)
		}
	}
	obj.GetObjectKind().SetGroupVersionKind(e.version.GVK)
	return obj, nil
}

// partial gives the metadata of a row in the version of meta.k8s.io that was asked for.
func (e encoder) partial(kv *sqlstore.KV, version string) ([]byte, error) {
	dst := append([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`), version...)
	dst = append(dst, `","metadata":`...)
	dst, err := e.splice(kv, false).AppendMeta(dst, kv.Value)
	if err == nil && e.res.HiddenAnnotation != "" {
		dst, err = e.hideAnnotation(dst)
	}
	return append(dst, '}'), err
}

// hideAnnotation takes out of unfinished PartialObjectMetadata the annotation
// that only the kind's own version shows.
func (e encoder) hideAnnotation(b []byte) ([]byte, error) {
	if !bytes.Contains(b, []byte(e.res.HiddenAnnotation)) {
		return b, nil
	}
	p := &metav1.PartialObjectMetadata{}
	if err := wire.DecodeStored(append(b, '}'), p); err != nil {
		return b, err
	}
	delete(p.Annotations, e.res.HiddenAnnotation)
	out, err := json.Marshal(p)
	return bytes.TrimSuffix(out, []byte("}")), err
}

// partialObject is partial for protobuf.
func (e encoder) partialObject(kv *sqlstore.KV, version string) (*metav1.PartialObjectMetadata, error) {
	b, err := e.partial(kv, version)
	if err != nil {
		return nil, err
	}
	p := &metav1.PartialObjectMetadata{}
	return p, wire.DecodeStored(b, p)
}

// answer writes one object.
func (c *call) answer(code int, r row) error {
	e := c.encoder()
	switch {
	case c.out.IsTable():
		return c.answerTable(code, metav1.ListMeta{ResourceVersion: wire.Revision(r.kv.ModRevision)}, []sqlstore.KV{r.kv}, false)
	case c.out.As != nil && c.out.As.Kind == "PartialObjectMetadataList":
		return c.notAList(r.obj)
	case c.out.IsMetadata() && c.out.MediaType == wire.Protobuf:
		p, err := e.partialObject(&r.kv, c.out.As.Version)
		if err != nil {
			return err
		}
		return wire.WriteObject(c.w, c.req, code, c.out, p)
	case c.out.IsMetadata():
		b, err := e.partial(&r.kv, c.out.As.Version)
		if err != nil {
			return err
		}
		return wire.WriteJSON(c.w, c.req, code, c.out, append(b, '\n'))
	case c.out.MediaType == wire.Protobuf:
		obj, err := e.object(&r.kv)
		if err != nil {
			return err
		}
		return wire.WriteObject(c.w, c.req, code, c.out, obj)
	}
	b, err := e.appendJSON(make([]byte, 0, len(r.kv.Value)+len(r.kv.ManagedFields)+64), &r.kv, false)
	if err != nil {
		return err
	}
	return wire.WriteJSON(c.w, c.req, code, c.out, append(b, '\n'))
}

// answerObject writes an object that is stored nowhere: a review, a Scale.
func (c *call) answerObject(code int, obj runtime.Object) error {
	if c.out.IsTable() {
		var err error
		if c.out, err = wire.NegotiateMetadata(c.req); err != nil {
			return err
		}
	}
	if c.out.As != nil {
		m, err := meta.Accessor(obj)
		if err != nil || c.out.As.Kind == "PartialObjectMetadataList" {
			return c.notAList(obj)
		}
		p := meta.AsPartialObjectMetadata(m)
		p.SetGroupVersionKind(*c.out.As)
		obj = p
	}
	return wire.WriteObject(c.w, c.req, code, c.out, obj)
}

// answerStatus writes a Status that is no failure.
func (c *call) answerStatus(code int, s *metav1.Status) error {
	s.Kind, s.APIVersion = "Status", "v1"
	out := c.out
	out.As = nil
	return wire.WriteObject(c.w, c.req, code, out, s)
}

// answerList writes the rows at hand and, when there was no limit, all that follow.
func (c *call) answerList(l *lister, m metav1.ListMeta, rows []sqlstore.KV) error {
	switch {
	case c.out.IsTable():
		return c.listTable(l, m, rows)
	case c.out.MediaType == wire.Protobuf:
		return c.listProtobuf(l, m, rows)
	case c.out.MediaType == wire.JSON && !c.out.Pretty:
		body := wire.NewBody(c.w, c.req, http.StatusOK, wire.JSON)
		if err := c.streamList(body.Write, l, m, rows); err != nil {
			return err
		}
		return body.Close()
	}
	var whole []byte
	err := c.streamList(func(b []byte) (int, error) {
		whole = append(whole, b...)
		return len(b), nil
	}, l, m, rows)
	if err != nil {
		return err
	}
	return wire.WriteJSON(c.w, c.req, http.StatusOK, c.out, whole)
}

// streamList writes a list as JSON, item by item.
func (c *call) streamList(write func([]byte) (int, error), l *lister, m metav1.ListMeta, rows []sqlstore.KV) error {
	e := c.encoder()
	head, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode list metadata: %w", err)
	}
	gvk := c.listGVK()
	buf := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, gvk.Kind, gvk.GroupVersion().String(), head)
	if c.out.IsMetadata() && len(rows) == 0 && l.done() {
		_, err := write(append(bytes.TrimSuffix(buf, []byte("[")), "null}\n"...))
		return err
	}
	if c.Resource.Custom && !c.out.IsMetadata() {
		buf = fmt.Appendf(nil, `{"apiVersion":%q,"items":[`, gvk.GroupVersion().String())
	}
	first := true
	for {
		for i := range rows {
			if !first {
				buf = append(buf, ',')
			}
			first = false
			if buf, err = c.appendItem(buf, e, &rows[i]); err != nil {
				return err
			}
			if len(buf) >= 32<<10 {
				if _, err := write(buf); err != nil {
					return err
				}
				buf = buf[:0]
			}
		}
		if l.done() {
			break
		}
		if rows, err = l.next(c.Ctx); err != nil {
			return err
		}
	}
	buf = append(buf, ']')
	if c.Resource.Custom && !c.out.IsMetadata() {
		buf = fmt.Appendf(buf, `,"kind":%q,"metadata":%s`, gvk.Kind, head)
	}
	_, err = write(append(buf, "}\n"...))
	return err
}

func (c *call) appendItem(buf []byte, e encoder, kv *sqlstore.KV) ([]byte, error) {
	if !c.out.IsMetadata() {
		return e.appendJSON(buf, kv, true)
	}
	b, err := e.partial(kv, c.out.As.Version)
	return append(buf, b...), err
}

// listGVK is the kind of the list that is answered.
func (c *call) listGVK() schema.GroupVersionKind {
	if c.out.IsMetadata() {
		return *c.out.As
	}
	gvk := c.Version.GVK
	gvk.Kind += "List"
	return gvk
}

// listProtobuf collects the whole list, since a message carries its length in front.
func (c *call) listProtobuf(l *lister, m metav1.ListMeta, rows []sqlstore.KV) error {
	e := c.encoder()
	rows, err := l.all(c.Ctx, rows)
	if err != nil {
		return err
	}
	if c.out.IsMetadata() {
		return c.listPartials(e, m, rows)
	}
	list := c.Version.NewList()
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return fmt.Errorf("list %s: %w", c.Resource.Name, err)
	}
	slice := reflect.ValueOf(items).Elem()
	slice.Set(reflect.MakeSlice(slice.Type(), len(rows), len(rows)))
	err = spread(len(rows), 50, func(from, to int) error {
		for i := from; i < to; i++ {
			obj, err := e.object(&rows[i])
			if err != nil {
				return err
			}
			obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			slice.Index(i).Set(reflect.ValueOf(obj).Elem())
		}
		return nil
	})
	if err != nil {
		return err
	}
	setListMeta(list, m)
	list.GetObjectKind().SetGroupVersionKind(c.listGVK())
	return wire.WriteObject(c.w, c.req, http.StatusOK, c.out, list)
}

func (c *call) listPartials(e encoder, m metav1.ListMeta, rows []sqlstore.KV) error {
	list := &metav1.PartialObjectMetadataList{ListMeta: m}
	for i := range rows {
		p, err := e.partialObject(&rows[i], c.out.As.Version)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, *p)
	}
	list.SetGroupVersionKind(*c.out.As)
	if c.out.As.Version == "v1beta1" {
		old := &metav1beta1.PartialObjectMetadataList{ListMeta: m, Items: list.Items}
		old.SetGroupVersionKind(*c.out.As)
		return wire.WriteObject(c.w, c.req, http.StatusOK, c.out, old)
	}
	return wire.WriteObject(c.w, c.req, http.StatusOK, c.out, list)
}

func setListMeta(list runtime.Object, m metav1.ListMeta) {
	if l, err := meta.ListAccessor(list); err == nil {
		l.SetResourceVersion(m.ResourceVersion)
		l.SetContinue(m.Continue)
		l.SetRemainingItemCount(m.RemainingItemCount)
	}
}

// listAsObject is the 406 of a list asked for as one object's metadata.
func (c *call) listAsObject() error {
	return wire.NotAcceptableText("you requested PartialObjectMetadata, but the requested object is a list (%s)", c.upstreamType(c.Resource.Kind, "List"))
}

// notAList is the 406 of one object asked for as a list's metadata.
func (c *call) notAList(obj runtime.Object) error {
	kind := c.Resource.Kind
	if obj != nil && c.sub != nil {
		kind = c.sub.GVK.Kind
	}
	return wire.NotAcceptableText("you requested PartialObjectMetadataList, but the requested object is not a list (%s)", c.upstreamType(kind, ""))
}

// upstreamType names the Go type that upstream has the kind in: its messages show it.
func (c *call) upstreamType(kind, suffix string) string {
	if c.Resource.Custom {
		return "*unstructured.Unstructured" + suffix
	}
	return "*" + wire.InternalPackage(c.Resource.Hub.GVK.Group) + "." + kind + suffix
}
