package stream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	corev1 "k8s.io/api/core/v1"
)

// command serves pods/exec and pods/attach.
func (h *Handler) command(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) error {
	q := r.URL.Query()
	options := &remotecommand.Options{Stdin: isTrue(q, "stdin"), Stdout: isTrue(q, "stdout"), Stderr: isTrue(q, "stderr"), TTY: isTrue(q, "tty")}
	if info.Subresource == "attach" && len(q["stdout"])+len(q["stderr"])+len(q["stdin"]) == 0 {
		options.Stdout, options.Stderr = true, true // the API's defaults
	}
	if options.TTY {
		options.Stderr = false // a terminal has one output
	}
	if r.Method == http.MethodGet {
		if err := h.mayCreate(r, info); err != nil {
			return err
		}
	}
	pod, container, err := h.placed(r, info, q.Get("container"))
	if err != nil {
		return err
	}
	if !options.Stdin && !options.Stdout && !options.Stderr {
		return apierrors.NewBadRequest("you must specify at least 1 of stdin, stdout, stderr")
	}
	session := &session{nodes: h.Nodes, pod: pod, container: container, command: q["command"], attach: info.Subresource == "attach"}
	spdy := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { session.serve(w, r, options) })
	if !wsstream.IsWebSocketRequestWithStreamCloseProtocol(r) {
		spdy.ServeHTTP(w, r)
		return nil
	}
	location, transport, done := h.local.serve(spdy)
	defer done()
	proxy.NewStreamTranslatorHandler(location, transport, 0, proxy.Options{
		Stdin: options.Stdin, Stdout: options.Stdout, Stderr: options.Stderr, Tty: options.TTY,
	}).ServeHTTP(w, r)
	return nil
}

// session is one exec or attach; it is what cri-streaming calls once the
// streams stand.
type session struct {
	nodes     Nodes
	pod       *corev1.Pod
	container string
	command   []string
	attach    bool
}

func (s *session) serve(w http.ResponseWriter, r *http.Request, o *remotecommand.Options) {
	protocols := []string{constants.StreamProtocolV4Name, constants.StreamProtocolV3Name, constants.StreamProtocolV2Name, constants.StreamProtocolV1Name}
	if s.attach {
		remotecommand.ServeAttach(w, r, s, s.pod.Name, string(s.pod.UID), s.container, o, idleTimeout, creationTimeout, protocols)
		return
	}
	remotecommand.ServeExec(w, r, s, s.pod.Name, string(s.pod.UID), s.container, s.command, o, idleTimeout, creationTimeout, protocols)
}

// ExecInContainer runs the command on the pod's node.
func (s *session) ExecInContainer(ctx context.Context, _, _, container string, command []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	err := s.nodes.Exec(ctx, s.pod, container, command, streams(ctx, in, out, errOut, tty, resize))
	var exit ExitError
	if errors.As(err, &exit) {
		return exited{exit}
	}
	return err
}

// AttachContainer joins the streams of the container's first process.
func (s *session) AttachContainer(ctx context.Context, _, _, container string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return s.nodes.Attach(ctx, s.pod, container, streams(ctx, in, out, errOut, tty, resize))
}

// exited is an ExitError in k8s.io/utils/exec's shape, which cri-streaming
// turns into the status that kubectl exits with.
type exited struct{ ExitError }

func (exited) Exited() bool     { return true }
func (e exited) String() string { return e.Error() }

func streams(ctx context.Context, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) Streams {
	s := Streams{TTY: tty}
	// An interface that holds a nil stream is not nil: only set what is there.
	if in != nil {
		s.Stdin = in
	}
	if out != nil {
		s.Stdout = out
	}
	if errOut != nil {
		s.Stderr = errOut
	}
	if resize != nil {
		sizes := make(chan TerminalSize)
		s.Resize = sizes
		go func() {
			defer close(sizes)
			for size := range resize {
				select {
				case sizes <- TerminalSize{Width: size.Width, Height: size.Height}:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return s
}
