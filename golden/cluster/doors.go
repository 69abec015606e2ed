package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strconv"
	"time"

	"kuberow/api"
	"kuberow/api/auth"
)

// doors are the listeners.
type doors struct {
	secure   *http.Server
	insecure *http.Server
	listener net.Listener // of the secure one, from bindPort to openDoors
	port     int          // of the secure one
}

// Bounds of a connection: a client that sends its header slowly, or nothing, is let go.
const (
	headerTimeout = 32 * time.Second
	idleTimeout   = 90 * time.Second
	pingAfter     = 30 * time.Second // of silence on an HTTP/2 connection
	pingTimeout   = 15 * time.Second // until a peer that does not answer is taken for gone
	drainTimeout  = 5 * time.Second  // at shutdown, for requests under way
)

// bindPort takes the port, so that the Service kubernetes can name it. Nobody
// is answered before openDoors.
func (c *Cluster) bindPort(ctx, _ context.Context) (err error) {
	c.doors.listener, err = listen(ctx, c.config.BindAddress, c.config.SecurePort, "--secure-port")
	if err != nil {
		return err
	}
	c.doors.port = c.doors.listener.Addr().(*net.TCPAddr).Port
	c.settings.SecurePort = c.doors.port
	return nil
}

// openDoors answers.
func (c *Cluster) openDoors(ctx, background context.Context) error {
	c.doors.secure = &http.Server{
		Handler: c.api, TLSConfig: c.pki.TLSConfig(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		HTTP2:    &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
		ErrorLog: log.New(quiet{c}, "", 0),
	}
	c.serve(c.doors.secure, tls.NewListener(c.doors.listener, c.doors.secure.TLSConfig))
	if c.config.InsecurePort >= 0 {
		listener, err := listen(ctx, "127.0.0.1", c.config.InsecurePort, "--insecure-port")
		if err != nil {
			return err
		}
		c.doors.insecure = &http.Server{Handler: c.api.AsAdmin(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, ErrorLog: log.New(quiet{c}, "", 0)}
		c.serve(c.doors.insecure, listener)
	}
	c.api.SetReady()
	return nil
}

func (c *Cluster) serve(server *http.Server, listener net.Listener) {
	c.work.Go(func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			c.fail("the API server stopped listening", err)
		}
	})
}

// listen says what to do when the port is taken.
func listen(ctx context.Context, address string, port int, flag string) (net.Listener, error) {
	at := net.JoinHostPort(address, strconv.Itoa(port))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w; is another cluster running? Choose another port with %s (0 takes any free one)", at, err, flag)
	}
	return listener, nil
}

// openToPods also listens at the gateway of the pods' network, once it is
// there: pods cannot reach the loopback of the host.
func (d *doors) openToPods(ctx context.Context, c *Cluster) {
	const retry = 2 * time.Second
	for said := false; ; {
		err := c.docker.EnsureNetwork(ctx)
		if err == nil {
			var listener net.Listener
			if listener, err = listen(ctx, c.config.ClusterGateway, d.port, "--secure-port"); err == nil {
				c.serve(d.secure, tls.NewListener(listener, d.secure.TLSConfig))
				return
			}
		}
		if !said {
			said = true
			c.log.Warn("pods cannot reach the API server yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

// close ends watches, waits a moment for other requests, and shuts.
func (d *doors) close(server *api.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if server != nil {
		server.Shutdown(ctx)
	}
	if d.secure == nil && d.listener != nil {
		d.listener.Close()
	}
	for _, s := range []*http.Server{d.secure, d.insecure} {
		if s != nil {
			s.Close()
		}
	}
}

// writeKubeconfig is the last step: whoever finds the file can use it.
func (c *Cluster) writeKubeconfig(context.Context, context.Context) error {
	host := c.config.BindAddress
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "https://" + net.JoinHostPort(host, strconv.Itoa(c.doors.port))
	return auth.WriteKubeconfig(c.config.kubeconfig(), url, c.pki.CA.CertPEM, c.pki.Admin)
}

// quiet passes net/http's complaints about clients on as debug lines.
type quiet struct{ c *Cluster }

// Write implements io.Writer.
func (q quiet) Write(p []byte) (int, error) {
	q.c.log.Debug("http", "said", string(p))
	return len(p), nil
}
