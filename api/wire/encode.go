package wire

import (
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"
)

// Answers leave through a Body: JSON is written as it comes, and compressed
// when the client accepts it and there is much of it (128 KiB, as upstream).

const gzipThreshold = 128 << 10

// EncodeJSON encodes an object as upstream does: HTML characters escaped, a newline at the end.
func EncodeJSON(obj any) ([]byte, error) {
	b, err := stdjson.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %T as JSON: %w", obj, err)
	}
	return append(b, '\n'), nil
}

// EncodeProtobuf encodes an object with the four byte prefix and the
// envelope that names its kind. Kinds without protobuf (custom resources) are 406.
func EncodeProtobuf(obj runtime.Object) ([]byte, error) {
	var b bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).EncodeWithAllocator(obj, &b, &runtime.SimpleAllocator{}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteObject answers with an object.
func WriteObject(w http.ResponseWriter, req *http.Request, code int, out Output, obj any) error {
	if out.MediaType == Protobuf {
		o, ok := obj.(runtime.Object)
		if !ok {
			return NotAcceptableText("object %T does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message", obj)
		}
		b, err := EncodeProtobuf(o)
		if err != nil {
			return err
		}
		return writeAll(w, req, code, Protobuf, b)
	}
	b, err := EncodeJSON(obj)
	if err != nil {
		return err
	}
	return WriteJSON(w, req, code, out, b)
}

// WriteJSON answers with an object that is JSON already, in the JSON or YAML that the client asked for.
func WriteJSON(w http.ResponseWriter, req *http.Request, code int, out Output, b []byte) error {
	switch {
	case out.MediaType == YAML:
		y, err := yaml.JSONToYAML(b)
		if err != nil {
			return fmt.Errorf("encode YAML: %w", err)
		}
		return writeAll(w, req, code, YAML, y)
	case out.Pretty:
		var p bytes.Buffer
		if err := stdjson.Indent(&p, bytes.TrimRight(b, "\n"), "", "  "); err != nil {
			return fmt.Errorf("indent JSON: %w", err)
		}
		return writeAll(w, req, code, JSON, p.Bytes())
	}
	return writeAll(w, req, code, JSON, b)
}

func writeAll(w http.ResponseWriter, req *http.Request, code int, mediaType string, b []byte) error {
	body := NewBody(w, req, code, mediaType)
	if _, err := body.Write(b); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return body.Close()
}

// Body is an answer of unknown length: headers go out with the first bytes,
// when it is clear whether it is long enough to be compressed.
type Body struct {
	w         http.ResponseWriter
	code      int
	mediaType string
	gzip      bool // the client accepts it

	held []byte // what came before the decision
	sent bool   // the decision is taken
	zip  *gzip.Writer
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, 1)
	return w
}}

// NewBody starts an answer.
func NewBody(w http.ResponseWriter, req *http.Request, code int, mediaType string) *Body {
	return &Body{w: w, code: code, mediaType: mediaType, gzip: acceptsGzip(req)}
}

// acceptsGzip wants the bare word, as upstream does: with a q, of whatever value, it does not count.
func acceptsGzip(req *http.Request) bool {
	for _, e := range strings.Split(req.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(e) == "gzip" {
			return true
		}
	}
	return false
}

// Write implements io.Writer.
func (b *Body) Write(p []byte) (int, error) {
	if !b.sent {
		if b.gzip && len(b.held)+len(p) <= gzipThreshold {
			b.held = append(b.held, p...)
			return len(p), nil
		}
		b.start(b.gzip)
		if err := b.out(b.held); err != nil {
			return 0, err
		}
		b.held = nil
	}
	return len(p), b.out(p)
}

func (b *Body) start(compressed bool) {
	b.sent = true
	h := b.w.Header()
	h.Set("Content-Type", b.mediaType)
	if compressed {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		b.zip = gzipWriters.Get().(*gzip.Writer)
		b.zip.Reset(b.w)
	}
	b.w.WriteHeader(b.code)
}

func (b *Body) out(p []byte) error {
	var err error
	if b.zip != nil {
		_, err = b.zip.Write(p)
	} else {
		_, err = b.w.Write(p)
	}
	return err
}

// Started tells whether headers went out: from then on an error cannot become a Status.
func (b *Body) Started() bool { return b.sent }

// Close ends the answer.
func (b *Body) Close() error {
	if !b.sent {
		b.w.Header().Set("Content-Length", strconv.Itoa(len(b.held)))
		b.start(false)
		return b.out(b.held)
	}
	if b.zip != nil {
		err := b.zip.Close()
		gzipWriters.Put(b.zip)
		b.zip = nil
		return err
	}
	return nil
}

// WriteStatus answers with a Status in the media type the client asked for, in
// JSON when it asked for something a Status cannot be.
func WriteStatus(w http.ResponseWriter, req *http.Request, s metav1.Status) {
	s.Kind, s.APIVersion = "Status", "v1"
	if d := s.Details; d != nil && d.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	out, err := NegotiatePlain(req)
	if err != nil {
		out = Output{MediaType: JSON, Pretty: true}
	}
	if err := WriteObject(w, req, int(s.Code), out, &s); err != nil {
		http.Error(w, s.Message, int(s.Code))
	}
}
