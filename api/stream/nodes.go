// The port of a node, as the API server needs it.

package stream

import (
	"context"
	"io"
	"net"

	corev1 "k8s.io/api/core/v1"
)

// Nodes is what the API server needs of the nodes: a real one asks the
// kubelet over HTTPS for it, here golden/cluster connects the kubelet directly.
type Nodes interface {
	Logs(ctx context.Context, pod *corev1.Pod, o *corev1.PodLogOptions, w io.Writer) error
	Exec(ctx context.Context, pod *corev1.Pod, container string, command []string, s Streams) error
	Attach(ctx context.Context, pod *corev1.Pod, container string, s Streams) error
	// Dial connects to a port of the pod, in its own network.
	Dial(ctx context.Context, pod *corev1.Pod, network string, port int32) (net.Conn, error)
}

// Streams of exec and attach; nil ones are not connected.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	TTY            bool
	Resize         <-chan TerminalSize
}

// TerminalSize in characters.
type TerminalSize struct{ Width, Height uint16 }

// ExitError is a command's exit status other than zero.
type ExitError interface {
	error
	ExitStatus() int
}
