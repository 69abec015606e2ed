package stream

import (
	"bufio"
	"net"
	"net/http"
)

// hijackable gives the framing libraries the http.Hijacker that they ask a
// ResponseWriter for, wherever in the chain of wrappers the connection is.
type hijackable struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(h.ResponseWriter).Hijack()
}

// Flush implements http.Flusher.
func (h hijackable) Flush() { _ = http.NewResponseController(h.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController see through.
func (h hijackable) Unwrap() http.ResponseWriter { return h.ResponseWriter }
