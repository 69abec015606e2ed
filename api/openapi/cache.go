// Keeping documents. What is built from the Go types never changes; what holds
// custom resources is dropped when the registry moves. Only compressed bytes
// stay in memory.
package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"fmt"
	"hash"
	"io"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
)

// entry finds a document's entry, without those that a change of the registry outdated. The caller holds mu.
func (h *handler) entry(p part) *document {
	if epoch := h.registry.Epoch(); epoch != h.epoch {
		for name, d := range h.docs {
			if d.custom {
				delete(h.docs, name)
			}
		}
		h.epoch = epoch
	}
	d := h.docs[p.name]
	if d == nil {
		d = &document{custom: p.custom}
		h.docs[p.name] = d
	}
	return d
}

// hashes gives the hashes of version 3's documents without keeping the documents.
func (h *handler) hashes(parts []part) (map[string]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := map[string]string{}
	var definitions *pool
	for _, p := range parts {
		d := h.entry(p)
		if d.hash == "" {
			var err error
			if definitions == nil {
				if definitions, err = h.newPool(); err != nil {
					return nil, err
				}
			}
			sum := sha512.New()
			if err := h.writePart(sum, p, definitions); err != nil {
				return nil, fmt.Errorf("build OpenAPI document %s: %w", p.name, err)
			}
			d.hash = hexOf(sum)
		}
		out[p.name] = d.hash
	}
	return out, nil
}

func hexOf(sum hash.Hash) string { return fmt.Sprintf("%X", sum.Sum(nil)) }

// document builds what is not there yet of a document.
func (h *handler) document(d dialect, p part, asProto bool) (*document, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	doc := h.entry(p)
	if doc.json == nil {
		definitions, err := h.newPool()
		if err != nil {
			return nil, err
		}
		sum := sha512.New()
		doc.json, err = compress(func(w io.Writer) error {
			w = io.MultiWriter(w, sum)
			if d == v2 {
				return h.writeV2(w, definitions)
			}
			return h.writePart(w, p, definitions)
		})
		if err != nil {
			return nil, fmt.Errorf("build OpenAPI document %s: %w", p.name, err)
		}
		doc.hash = hexOf(sum)
	}
	if asProto && doc.proto == nil {
		var err error
		if doc.proto, err = convert(d, doc.json); err != nil {
			return nil, fmt.Errorf("convert OpenAPI document %s to protobuf: %w", p.name, err)
		}
	}
	return doc, nil
}

func compress(write func(io.Writer) error) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	if err := write(z); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// convert makes protobuf of compressed JSON, compressed again.
func convert(d dialect, compressed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	var m proto.Message
	if d == v2 {
		m, err = openapi_v2.ParseDocument(text)
	} else {
		m, err = openapi_v3.ParseDocument(text)
	}
	if err != nil {
		return nil, err
	}
	b, err := proto.Marshal(m)
	if err != nil {
		return nil, err
	}
	return compress(func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
