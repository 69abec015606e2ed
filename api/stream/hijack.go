package stream

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// hijackable gives the framing libraries the http.Hijacker that they ask a
// ResponseWriter for, wherever in the chain of wrappers the connection is.
type hijackable struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return lingering{conn}, buffered, nil
}

// Flush implements http.Flusher.
func (h hijackable) Flush() { _ = http.NewResponseController(h.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController see through.
func (h hijackable) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// lingering is a connection that is closed when the client has had its say. The
// client of an exec may be sending (input, a ping) while the server answers that it is over. Were the connection closed
// at once, the system would answer what comes late with a reset, and who reads
// at the other end, or a proxy between, may lose the answer that is still under way.
type lingering struct{ net.Conn }

// lingerTime bounds how long a client is waited for that does not close its side.
const lingerTime = 2 * time.Second

// Close says that nothing more comes, and lets go when the client has read that.
func (c lingering) Close() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return c.Conn.Close()
	}
	go func() {
		defer c.Conn.Close()
		if c.SetDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.Copy(io.Discard, c.Conn)
		}
	}()
	return nil
}
