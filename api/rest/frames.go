package rest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// A frame is one event as it goes over the wire. Many watchers want the same
// frame of the same change, so the newest ones are kept: in two generations of
// bounded size, like the decoded objects.
type frames struct {
	mu         sync.Mutex
	young, old map[frameKey][]byte
	size       int
}

const frameBytes = 2 << 20 // of one generation

type frameKey struct {
	id      int64 // kv.id of the change
	event   string
	variant string // media type, version, and what was asked for instead of the object
}

func newFrames() *frames { return &frames{young: map[frameKey][]byte{}} }

func (f *frames) get(k frameKey) []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	b := f.young[k]
	if b == nil {
		if b = f.old[k]; b != nil {
			f.put(k, b)
		}
	}
	return b
}

func (f *frames) add(k frameKey, b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(k, b)
}

func (f *frames) put(k frameKey, b []byte) {
	if f.size > frameBytes {
		f.old, f.young, f.size = f.young, make(map[frameKey][]byte, len(f.young)), 0
	}
	f.young[k] = b
	f.size += len(b)
}

// framer makes the frames of one watch.
type framer struct {
	encoder
	out     wire.Output
	table   *tableWriter // nil unless a Table was asked for
	headed  bool         // the column definitions were sent
	variant string
}

// newFramer prepares the frames of a watch.
func (c *call) newFramer() (*framer, error) {
	f := &framer{encoder: c.encoder(), out: c.out}
	f.variant = c.out.MediaType + " " + c.Version.GVK.String()
	if c.out.As != nil {
		f.variant += " " + c.out.As.String()
	}
	if c.out.IsTable() {
		var err error
		if f.table, err = c.newTable(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// errNoFrame ends a watch that asked for its objects as lists: upstream finds out
// at the first event that an object is none, and says nothing more.
var errNoFrame = errors.New("an event has no list of metadata")

func (f *framer) wantsLists() bool {
	return f.out.As != nil && f.out.As.Kind == "PartialObjectMetadataList"
}

// frame gives the frame of an event. id is the kv row that the event is
// about, shown the row whose object it carries.
func (f *framer) frame(event string, id int64, shown *sqlstore.KV, cells []any) ([]byte, error) {
	if f.wantsLists() {
		return nil, errNoFrame
	}
	if f.table != nil {
		return f.tableFrame(event, shown, cells)
	}
	k := frameKey{id: id, event: event, variant: f.variant}
	if b := f.rest.frames.get(k); b != nil {
		return b, nil
	}
	b, err := f.encode(event, shown)
	if err == nil {
		f.rest.frames.add(k, b)
	}
	return b, err
}

func (f *framer) encode(event string, shown *sqlstore.KV) ([]byte, error) {
	if f.out.MediaType == wire.Protobuf {
		var obj runtime.Object
		var err error
		if f.out.IsMetadata() {
			var p *metav1.PartialObjectMetadata
			if p, err = f.partialObject(shown, f.out.As.Version); err == nil {
				p.SetGroupVersionKind(f.out.As.GroupVersion().WithKind("PartialObjectMetadata"))
				obj = p
			}
		} else {
			obj, err = f.object(shown)
		}
		if err != nil {
			return nil, err
		}
		return protobufFrame(event, obj)
	}
	b := eventHead(event, len(shown.Value)+len(shown.ManagedFields)+96)
	if f.out.IsMetadata() {
		p, err := f.partial(shown, f.out.As.Version)
		return append(append(b, p...), "}\n"...), err
	}
	b, err := f.appendJSON(b, shown, false)
	return append(b, "}\n"...), err
}

func eventHead(event string, size int) []byte {
	b := append(make([]byte, 0, size), `{"type":"`...)
	b = append(b, event...)
	return append(b, `","object":`...)
}

// protobufFrame is a WatchEvent behind its length.
func protobufFrame(event string, obj runtime.Object) ([]byte, error) {
	raw, err := wire.EncodeProtobuf(obj)
	if err != nil {
		return nil, err
	}
	e := metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: raw}}
	b, err := e.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...), nil
}

// tableFrame is a Table of one row; the first carries the column definitions.
func (f *framer) tableFrame(event string, shown *sqlstore.KV, cells []any) ([]byte, error) {
	columns := []byte("null")
	if !f.headed {
		var err error
		if columns, err = f.table.columns(); err != nil {
			return nil, err
		}
		f.headed = true
	}
	head, err := f.table.head(metav1.ListMeta{ResourceVersion: strconv.FormatInt(shown.ModRevision, 10)}, columns)
	if err != nil {
		return nil, err
	}
	b := append(append(eventHead(event, 512), head...), '[')
	if shown.Value != nil {
		if b, err = f.table.appendRow(b, cells, shown); err != nil {
			return nil, err
		}
	}
	return append(b, "]}}\n"...), nil
}

const initialEventsEnd = "k8s.io/initial-events-end"

// bookmark is the event that only says how far the watch is.
func (f *framer) bookmark(ctx context.Context, revision int64, endOfInitial bool) ([]byte, error) {
	if f.wantsLists() {
		return nil, errNoFrame
	}
	obj := f.version.New()
	obj.GetObjectKind().SetGroupVersionKind(f.version.GVK)
	m, ok := obj.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("bookmark of %s: it has no metadata", f.res.Name)
	}
	m.SetResourceVersion(strconv.FormatInt(revision, 10))
	if endOfInitial {
		m.SetAnnotations(map[string]string{initialEventsEnd: "true"})
	}
	if f.table != nil {
		return f.tableBookmark(ctx, m, obj)
	}
	if f.out.IsMetadata() {
		p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: m.GetResourceVersion(), Annotations: m.GetAnnotations(),
		}}
		p.SetGroupVersionKind(f.out.As.GroupVersion().WithKind("PartialObjectMetadata"))
		obj = p
	}
	if f.out.MediaType == wire.Protobuf {
		return protobufFrame("BOOKMARK", obj)
	}
	return jsonEvent("BOOKMARK", obj)
}

// tableBookmark shows an object that has nothing but its revision, as one row.
func (f *framer) tableBookmark(ctx context.Context, m metav1.Object, obj runtime.Object) ([]byte, error) {
	empty := sqlstore.KV{Value: []byte(`{"metadata":{"name":""}}`)}
	cells, err := f.table.cells(ctx, []sqlstore.KV{empty}, false)
	if err != nil {
		return nil, err
	}
	row := cells[0]
	if row == nil {
		if row, err = f.table.plainCells(&empty); err != nil {
			return nil, err
		}
	}
	if f.table.include != metav1.IncludeObject {
		p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: m.GetResourceVersion(), Annotations: m.GetAnnotations(),
		}}
		p.SetGroupVersionKind(f.out.As.GroupVersion().WithKind("PartialObjectMetadata"))
		obj = p
	}
	t := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: f.out.As.GroupVersion().String()},
		ListMeta: metav1.ListMeta{ResourceVersion: m.GetResourceVersion()},
		Rows:     []metav1.TableRow{{Cells: row, Object: runtime.RawExtension{Object: obj}}},
	}
	if !f.headed {
		t.ColumnDefinitions, f.headed = f.table.definitions(), true
	}
	return jsonEvent("BOOKMARK", &t)
}

func jsonEvent(event string, obj any) ([]byte, error) {
	b, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return append(append(eventHead(event, len(b)+40), b...), "}\n"...), nil
}

// failure is the event that ends a watch which cannot go on.
func (f *framer) failure(s metav1.Status) ([]byte, error) {
	s.Kind, s.APIVersion = "Status", "v1"
	if f.out.MediaType == wire.Protobuf {
		return protobufFrame("ERROR", &s)
	}
	return jsonEvent("ERROR", &s)
}
