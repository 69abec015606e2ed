// The HTTP side: which document, in which media type, compressed or not, and
// whether the client has it already.
package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/munnerz/goautoneg"
	"kuberow/api/kinds"
)

// Options of the handler.
type Options struct {
	// Version is what info.version says: major and minor, 1.37.
	Version string
	// CustomSchema gives the schemas of custom resources; nil when there are none.
	CustomSchema CustomSchema
}

// Handler serves /openapi/v2 and /openapi/v3 with what is below it.
func Handler(registry *kinds.Registry, o Options) http.Handler {
	return &handler{registry: registry, version: o.Version, customSchema: o.CustomSchema, docs: map[string]*document{}, started: time.Now()}
}

type handler struct {
	registry     *kinds.Registry
	version      string
	customSchema CustomSchema
	started      time.Time

	mu    sync.Mutex // guards the rest; held while a document is built, so that it is built once
	epoch int64      // of the registry, when docs was last looked through
	docs  map[string]*document
}

// document is one that was asked for. Only its hash is made for the index of version 3.
type document struct {
	custom bool // built again when the registry changes
	hash   string
	json   []byte // compressed; nil until it is asked for
	proto  []byte // compressed; nil until it is asked for
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	p := strings.TrimPrefix(req.URL.Path, "/openapi/")
	var err error
	switch rest, below := strings.CutPrefix(p, "v3/"); {
	case p == "v2":
		err = h.serve(w, req, v2, part{name: "v2", custom: true})
	case p == "v3":
		err = h.serveIndex(w, req)
	case below:
		err = h.servePart(w, req, rest)
	default:
		http.NotFound(w, req)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (h *handler) servePart(w http.ResponseWriter, req *http.Request, name string) error {
	for _, p := range h.parts() {
		if p.name == name {
			return h.serve(w, req, v3, p)
		}
	}
	w.WriteHeader(http.StatusNotFound)
	return nil
}

// serveIndex lists the documents of version 3 by URLs that name their content.
func (h *handler) serveIndex(w http.ResponseWriter, req *http.Request) error {
	type entry struct {
		URL string `json:"serverRelativeURL"`
	}
	index := struct {
		Paths map[string]entry `json:"paths"`
	}{map[string]entry{}}
	hashes, err := h.hashes(h.parts())
	if err != nil {
		return err
	}
	for name, hash := range hashes {
		index.Paths[name] = entry{relativeURL(name, hash)}
	}
	b, err := json.Marshal(index)
	if err != nil {
		return fmt.Errorf("encode index: %w", err)
	}
	w.Header().Set("Etag", fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(b))))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8") // upstream leaves it to be guessed
	http.ServeContent(w, req, "", h.started, bytes.NewReader(b))
	return nil
}

func relativeURL(name, hash string) string {
	return (&url.URL{Path: "/openapi/v3/" + name, RawQuery: url.Values{"hash": {hash}}.Encode()}).String()
}

// The media types of protobuf, with the mark between the name and the version that is registered and the one
// that clients used before.
var protoTypes = map[dialect][2]string{
	v2: {"com.github.proto-openapi.spec.v2.v1.0+protobuf", "com.github.proto-openapi.spec.v2@v1.0+protobuf"},
	v3: {"com.github.proto-openapi.spec.v3.v1.0+protobuf", "com.github.proto-openapi.spec.v3@v1.0+protobuf"},
}

// negotiate gives the Content-Type, "" when nothing is acceptable.
func negotiate(req *http.Request, d dialect) (contentType string, proto bool) {
	header := req.Header.Get("Accept")
	if header == "" {
		header = "*/*"
	}
	for _, c := range goautoneg.ParseAccept(header) {
		if c.Type != "application" && c.Type != "*" {
			continue
		}
		switch c.SubType {
		case "json", "*":
			return "application/json", false
		case protoTypes[d][0], protoTypes[d][1]:
			return "application/" + protoTypes[d][0], true
		}
	}
	return "", false
}

func (h *handler) serve(w http.ResponseWriter, req *http.Request, d dialect, p part) error {
	header := w.Header()
	if d == v2 {
		header.Add("Vary", "Accept-Encoding") // upstream says so of this document only
	}
	header.Add("Vary", "Accept")
	contentType, proto := negotiate(req, d)
	if contentType == "" {
		w.WriteHeader(http.StatusNotAcceptable)
		return nil
	}
	doc, err := h.document(d, p, proto)
	if err != nil {
		return err
	}
	header.Set("Content-Type", contentType)
	header.Set("Etag", fmt.Sprintf("%q", doc.hash))
	if hash := req.URL.Query().Get("hash"); d == v3 && hash != "" {
		if hash != doc.hash {
			http.Redirect(w, req, relativeURL(p.name, doc.hash), http.StatusMovedPermanently)
			return nil
		}
		header.Set("Cache-Control", "public, immutable")
		header.Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	if known := req.Header.Get("If-None-Match"); known == header.Get("Etag") || known == "*" {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	b := doc.json
	if proto {
		b = doc.proto
	}
	return send(w, req, b)
}

// send writes a compressed document to clients that take it so, and unpacks it for others.
func send(w http.ResponseWriter, req *http.Request, b []byte) error {
	header := w.Header()
	if strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") {
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", fmt.Sprint(len(b)))
		if req.Method == http.MethodHead {
			return nil
		}
		_, _ = w.Write(b) // a client that went away needs no answer
		return nil
	}
	if req.Method == http.MethodHead {
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return fmt.Errorf("unpack document: %w", err)
	}
	_, _ = io.Copy(w, z)
	return nil
}
