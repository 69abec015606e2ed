package wire

import (
	"compress/gzip"
	"errors"
	"fmt"
	"net/http"
)

// Stream is an answer that goes on until the client or the server ends it. When
// it is compressed, each flush ends a member of the gzip stream: what was written
// can be read at once, and a stream that waits holds no compressor.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	compressed bool
	zip        *gzip.Writer // nil when nothing was written since the last flush
}

// NewStream prepares a stream; Start sends its headers.
func NewStream(w http.ResponseWriter, mediaType string) *Stream {
	w.Header().Set("Content-Type", mediaType)
	return &Stream{w: w, control: http.NewResponseController(w)}
}

// Compress compresses the stream if the client accepts that.
func (s *Stream) Compress(req *http.Request) {
	if !acceptsGzip(req) {
		return
	}
	s.compressed = true
	s.w.Header().Set("Content-Encoding", "gzip")
	s.w.Header().Add("Vary", "Accept-Encoding")
}

// Start sends the headers: the client sees that the stream is open.
func (s *Stream) Start() {
	s.w.WriteHeader(http.StatusOK)
	_ = s.control.Flush()
}

// Write implements io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	if !s.compressed {
		return s.w.Write(p)
	}
	if s.zip == nil {
		s.zip = gzipWriters.Get().(*gzip.Writer)
		s.zip.Reset(s.w)
	}
	return s.zip.Write(p)
}

// Flush sends what was written.
func (s *Stream) Flush() error {
	if s.zip != nil {
		// A block of its own first: a reader gives its bytes out before it looks for the next member.
		err := errors.Join(s.zip.Flush(), s.zip.Close())
		gzipWriters.Put(s.zip)
		s.zip = nil
		if err != nil {
			return fmt.Errorf("compress stream: %w", err)
		}
	}
	return s.control.Flush()
}
