package stream

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// portForward serves pods/portforward over SPDY, over WebSocket with one pair
// of channels a port, and over SPDY tunnelled in a WebSocket (kubectl 1.31 and newer).
func (h *Handler) portForward(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) error {
	if r.Method == http.MethodGet {
		if err := h.mayCreate(r, info); err != nil {
			return err
		}
	}
	pod, err := h.pod(r, info.Namespace, info.Name)
	if err != nil {
		return err
	}
	if err := h.onNode(r, pod); err != nil {
		return err
	}
	forward := &forwarder{nodes: h.Nodes, pod: pod}
	if wsstream.IsWebSocketRequestWithTunnelingProtocol(r) {
		proxy.NewTunnelingHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			forward.serve(&rawUpgrade{ResponseWriter: w, header: http.Header{}}, r, nil)
		})).ServeHTTP(w, r)
		return nil
	}
	var options *portforward.V4Options
	if wsstream.IsWebSocketRequest(r) {
		if options, err = webSocketPorts(r); err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	forward.serve(w, r, options)
	return nil
}

// webSocketPorts reads ?ports=80,443 (or repeated).
func webSocketPorts(r *http.Request) (*portforward.V4Options, error) {
	var ports []int32
	for _, text := range strings.Split(strings.Join(r.URL.Query()["ports"], ","), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("query parameter \"ports\" is required and must hold port numbers")
		}
		ports = append(ports, int32(n))
	}
	return portforward.BuildV4Options(ports)
}

// forwarder joins the client's streams with ports of a pod.
type forwarder struct {
	nodes Nodes
	pod   *corev1.Pod
}

func (f *forwarder) serve(w http.ResponseWriter, r *http.Request, o *portforward.V4Options) {
	portforward.ServePortForward(w, r, f, f.pod.Name, string(f.pod.UID), o, idleTimeout, creationTimeout, portforward.SupportedProtocols)
}

// PortForward copies both ways until both ends have said all.
func (f *forwarder) PortForward(ctx context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	conn, err := f.nodes.Dial(ctx, f.pod, "tcp", port)
	if err != nil {
		return fmt.Errorf("failed to connect to port %d of pod %s: %w", port, f.pod.Name, err)
	}
	defer conn.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, stream)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
		sent <- err
	}()
	_, err = io.Copy(stream, conn)
	if err != nil {
		return err
	}
	select {
	case err = <-sent:
	default: // the pod closed first; what the client still sends has no reader
	}
	return err
}

// rawUpgrade lets a handler that writes its 101 through the ResponseWriter and
// hijacks afterwards run inside the tunnel, where hijacking comes first and the
// answer's head is bytes on the connection.
type rawUpgrade struct {
	http.ResponseWriter
	header http.Header
	status int
}

func (u *rawUpgrade) Header() http.Header { return u.header }

func (u *rawUpgrade) WriteHeader(status int) {
	u.status = status
	if status == http.StatusSwitchingProtocols {
		return
	}
	for name, values := range u.header {
		u.ResponseWriter.Header()[name] = values
	}
	u.ResponseWriter.WriteHeader(status)
}

func (u *rawUpgrade) Write(p []byte) (int, error) {
	if u.status == 0 {
		u.WriteHeader(http.StatusOK)
	}
	return u.ResponseWriter.Write(p)
}

// Hijack takes the tunnel's connection and sends the head that was set.
func (u *rawUpgrade) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, _, err := u.ResponseWriter.(http.Hijacker).Hijack()
	if err != nil {
		return nil, nil, err
	}
	head := &strings.Builder{}
	fmt.Fprintf(head, "HTTP/1.1 %d %s\r\n", u.status, http.StatusText(u.status))
	if err := u.header.Write(head); err != nil {
		return nil, nil, err
	}
	head.WriteString("\r\n")
	if _, err := io.WriteString(conn, head.String()); err != nil {
		return nil, nil, fmt.Errorf("write the upgrade answer: %w", err)
	}
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}
