package stream

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/google/uuid"
)

// pipeServer is an HTTP server that listens on nothing: its connections are
// net.Pipes made inside the process. The WebSocket v5 translator wants an
// address to dial; this is one that no other process can reach.
type pipeServer struct {
	once     sync.Once
	conns    chan net.Conn
	mu       sync.Mutex
	handlers map[string]http.Handler // by the path that serve made up
}

// serve answers one handler at the URL that it gives, reached through
// transport, until done is called.
func (p *pipeServer) serve(handler http.Handler) (at *url.URL, transport *http.Transport, done func()) {
	p.once.Do(func() {
		p.conns = make(chan net.Conn)
		p.handlers = map[string]http.Handler{}
		go http.Serve(pipeListener{p.conns}, http.HandlerFunc(p.dispatch))
	})
	path := "/" + uuid.NewString()
	p.mu.Lock()
	p.handlers[path] = handler
	p.mu.Unlock()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		near, far := net.Pipe()
		select {
		case p.conns <- far:
			return near, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return &url.URL{Scheme: "http", Host: "kubelet", Path: path}, &http.Transport{DialContext: dial}, func() {
		p.mu.Lock()
		delete(p.handlers, path)
		p.mu.Unlock()
	}
}

func (p *pipeServer) dispatch(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	handler := p.handlers[r.URL.Path]
	p.mu.Unlock()
	if handler == nil {
		http.NotFound(w, r)
		return
	}
	handler.ServeHTTP(w, r)
}

// pipeListener accepts the far ends.
type pipeListener struct{ conns chan net.Conn }

func (l pipeListener) Accept() (net.Conn, error) { return <-l.conns, nil }
func (l pipeListener) Close() error              { return nil }
func (l pipeListener) Addr() net.Addr            { return &net.UnixAddr{Name: "kubelet", Net: "pipe"} }
