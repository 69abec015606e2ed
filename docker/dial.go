package docker

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
	apitypes "k8s.io/apimachinery/pkg/types"
)

// dialTimeout bounds the direct attempt: the bridge answers at once or not at all.
const dialTimeout = 2 * time.Second

// Dial connects to a port of a pod. The pod's address is tried first (on Linux
// the host has a route to it). What listens on the pod's own loopback only, or a
// pod behind a virtual machine, is reached through a short-lived container of
// this binary that joins the pod's network and copies its standard streams.
func (r *Runtime) Dial(ctx context.Context, uid apitypes.UID, network string, port int32) (io.ReadWriteCloser, error) {
	pod, there, err := r.Sandbox(ctx, uid)
	if err != nil {
		return nil, err
	}
	if !there || !pod.Ready {
		return nil, fmt.Errorf("dial port %d: the sandbox of pod %s does not run", port, uid)
	}
	number := strconv.Itoa(int(port))
	host := "127.0.0.1" // a pod on the host's network
	if len(pod.IPs) > 0 {
		host = pod.IPs[0]
	}
	conn, direct := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, net.JoinHostPort(host, number))
	if direct == nil {
		return conn, nil
	}
	if network != "tcp" {
		return nil, fmt.Errorf("dial port %d: %w", port, direct)
	}
	return r.dialInside(ctx, uid, number)
}

// dialInside runs "kuberow dial 127.0.0.1:PORT" in the pod's network.
func (r *Runtime) dialInside(ctx context.Context, uid apitypes.UID, port string) (io.ReadWriteCloser, error) {
	image, err := r.ensureSelf(ctx)
	if err != nil {
		return nil, err
	}
	made, err := r.engine.ContainerCreate(ctx, &container.Config{
		Image: image, Cmd: []string{"dial", net.JoinHostPort("127.0.0.1", port)}, OpenStdin: true, StdinOnce: true,
		AttachStdin: true, AttachStdout: true, AttachStderr: true, Labels: map[string]string{LabelCluster: r.Cluster, labelRole: "dial"},
	}, &container.HostConfig{NetworkMode: container.NetworkMode("container:" + r.sandboxName(uid)), AutoRemove: true}, nil, nil, "")
	if err != nil {
		return nil, fmt.Errorf("create a container to dial from: %w", err)
	}
	stream, err := r.engine.ContainerAttach(ctx, made.ID, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("attach to the container to dial from: %w", err)
	}
	if err := r.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		stream.Close()
		return nil, fmt.Errorf("start the container to dial from: %w", err)
	}
	return newInside(ctx, stream)
}

// inside is the connection through the container: its stdin and stdout.
type inside struct {
	stream types.HijackedResponse
	out    *io.PipeReader
}

// connectedMark is what "kuberow dial" says on stderr once it is connected.
const connectedMark = "connected\n"

// insideTimeout bounds how long the container may take to start and to connect.
const insideTimeout = 30 * time.Second

// newInside waits for the word that the port answered.
func newInside(ctx context.Context, stream types.HijackedResponse) (*inside, error) {
	ctx, cancel := context.WithTimeout(ctx, insideTimeout)
	defer cancel()
	out, fill := io.Pipe()
	said := &firstLine{line: make(chan string, 1)}
	go func() {
		_, err := stdcopy.StdCopy(fill, said, stream.Reader)
		said.end()
		fill.CloseWithError(err) // nil is io.EOF
	}()
	var err error
	select {
	case line := <-said.line:
		if line == connectedMark {
			return &inside{stream: stream, out: out}, nil
		}
		err = fmt.Errorf("dial inside the pod: %s", line)
	case <-ctx.Done():
		err = fmt.Errorf("dial inside the pod: %w", ctx.Err())
	}
	stream.Close()
	out.Close()
	return nil, err
}

func (c *inside) Read(p []byte) (int, error)  { return c.out.Read(p) }
func (c *inside) Write(p []byte) (int, error) { return c.stream.Conn.Write(p) }
func (c *inside) CloseWrite() error           { return c.stream.CloseWrite() }

// Close ends the container too: its stdin is gone.
func (c *inside) Close() error {
	c.stream.Close()
	return c.out.Close()
}

// firstLine gives the first line that is written, and drops the rest.
type firstLine struct {
	line chan string
	got  []byte
	done bool
}

func (f *firstLine) Write(p []byte) (int, error) {
	if !f.done {
		f.got = append(f.got, p...)
		if f.got[len(f.got)-1] == '\n' {
			f.done = true
			f.line <- string(f.got)
		}
	}
	return len(p), nil
}

func (f *firstLine) end() {
	if !f.done {
		f.done = true
		f.line <- string(f.got)
	}
}

// DialStdio is the other end of dialInside, run in the pod's network: it says
// "connected" on errOut, then copies both ways.
func DialStdio(ctx context.Context, address string, in io.Reader, out, errOut io.Writer) error {
	conn, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("dial %s: %w", address, err)
	}
	defer conn.Close()
	if _, err := io.WriteString(errOut, connectedMark); err != nil {
		return fmt.Errorf("say that it is connected: %w", err)
	}
	go func() {
		io.Copy(conn, in)
		conn.(*net.TCPConn).CloseWrite()
	}()
	if _, err := io.Copy(out, conn); err != nil {
		return fmt.Errorf("copy from %s: %w", address, err)
	}
	return nil
}
