package kubelet

import (
	"io"
	"net"
	"time"
)

// asConn makes a connection that the runtime gave usable where a net.Conn is
// asked for. When it is only a stream, it has no addresses, and a deadline closes it.
func asConn(rw io.ReadWriteCloser) net.Conn {
	if c, ok := rw.(net.Conn); ok {
		return c
	}
	return &streamConn{ReadWriteCloser: rw}
}

type streamConn struct {
	io.ReadWriteCloser
	timer *time.Timer
}

func (c *streamConn) LocalAddr() net.Addr                { return streamAddr{} }
func (c *streamConn) RemoteAddr() net.Addr               { return streamAddr{} }
func (c *streamConn) SetReadDeadline(t time.Time) error  { return c.SetDeadline(t) }
func (c *streamConn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetDeadline closes the stream at t: a stream cannot do more.
func (c *streamConn) SetDeadline(t time.Time) error {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if !t.IsZero() {
		c.timer = time.AfterFunc(time.Until(t), func() { c.ReadWriteCloser.Close() })
	}
	return nil
}

type streamAddr struct{}

func (streamAddr) Network() string { return "tcp" }
func (streamAddr) String() string  { return "pod" }
