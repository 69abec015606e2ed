package wire

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestStreamIsCompressedWhereTheClientAcceptsIt(t *testing.T) {
	for _, c := range []struct{ accepts, encoding, vary string }{
		{"gzip", "gzip", "Accept-Encoding"},
		{"deflate, gzip", "gzip", "Accept-Encoding"},
		{"", "", ""},
		{"identity", "", ""},
		{"gzip;q=0.5", "", ""}, // upstream looks for the bare word
	} {
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Accept-Encoding", c.accepts)
		s := NewStream(w, JSON)
		s.Compress(req)
		s.Start()
		var r io.Reader = w.Body
		for _, event := range []string{"one", "two"} {
			if _, err := s.Write([]byte(event)); err != nil {
				t.Fatal(err)
			}
			if err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.Header().Get("Content-Encoding"); got != c.encoding {
			t.Errorf("%q: Content-Encoding is %q, want %q", c.accepts, got, c.encoding)
		}
		if got := w.Header().Get("Vary"); got != c.vary {
			t.Errorf("%q: Vary is %q, want %q", c.accepts, got, c.vary)
		}
		if c.encoding != "" {
			z, err := gzip.NewReader(r)
			if err != nil {
				t.Fatal(err)
			}
			r = z
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != "onetwo" {
			t.Errorf("%q: reads %q, %v", c.accepts, got, err)
		}
	}
}

// TestStreamIsReadAtOnce: what is flushed can be read while the stream goes on.
func TestStreamIsReadAtOnce(t *testing.T) {
	goOn := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s := NewStream(w, JSON)
		s.Compress(req)
		s.Start()
		for _, event := range []string{"one", "two"} {
			_, _ = s.Write([]byte(event))
			_ = s.Flush()
			select {
			case <-goOn:
			case <-req.Context().Done():
			}
		}
	}))
	defer server.Close()
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if !resp.Uncompressed {
		t.Error("it came without compression")
	}
	for _, event := range []string{"one", "two"} {
		got := make([]byte, len(event))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != event {
			t.Errorf("reads %q, %v, want %q", got, err, event)
		}
		goOn <- struct{}{}
	}
}
