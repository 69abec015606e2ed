package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kuberow/api/stream"
)

// What the API server asks of a node: logs, exec, attach and connections.
// Which attempt of a container is meant follows from the pod's status, as upstream.

var _ stream.Nodes = (*Kubelet)(nil)

// Logs writes the log of a container. Refusals are BadRequest errors in upstream's words.
func (k *Kubelet) Logs(ctx context.Context, pod *corev1.Pod, o *corev1.PodLogOptions, w io.Writer) error {
	id, err := loggedContainer(pod.Name, k.currentStatus(pod), o.Container, o.Previous)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	options := LogOptions{Follow: o.Follow, Timestamps: o.Timestamps, TailLines: o.TailLines, LimitBytes: o.LimitBytes}
	switch {
	case o.SinceTime != nil:
		options.Since = o.SinceTime.Time
	case o.SinceSeconds != nil:
		options.Since = k.Clock.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	stdout, stderr := w, w
	if o.Stream != nil && *o.Stream == corev1.LogStreamStdout {
		stderr = io.Discard
	}
	if o.Stream != nil && *o.Stream == corev1.LogStreamStderr {
		stdout = io.Discard
	}
	if o.Follow {
		// The client learns that there is a log before there is a line.
		if _, err := w.Write(nil); err != nil {
			return err
		}
	}
	return k.Runtime.Logs(ctx, id, options, stdout, stderr)
}

// currentStatus is the status that the pod has or is about to get.
func (k *Kubelet) currentStatus(pod *corev1.Pod) *corev1.PodStatus {
	k.mu.Lock()
	w := k.pods[pod.UID]
	k.mu.Unlock()
	if w == nil {
		return &pod.Status
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pod == nil {
		return &pod.Status
	}
	s := makeStatus(k.statusInput(w, pod, k.Clock.Now()))
	return &s
}

// loggedContainer finds the attempt whose log is meant.
func loggedContainer(pod string, s *corev1.PodStatus, name string, previous bool) (id string, err error) {
	st := findStatus(s.ContainerStatuses, name)
	if st == nil {
		st = findStatus(s.InitContainerStatuses, name)
	}
	if st == nil {
		st = findStatus(s.EphemeralContainerStatuses, name)
	}
	if st == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod)
	}
	last := ""
	if t := st.LastTerminationState.Terminated; t != nil {
		last = t.ContainerID
	}
	switch {
	case previous && last == "":
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod)
	case previous:
		return last, nil
	case st.State.Running != nil:
		return st.ContainerID, nil
	case st.State.Terminated != nil && st.State.Terminated.ContainerID != "":
		return st.State.Terminated.ContainerID, nil
	case st.State.Terminated != nil || st.LastTerminationState.Terminated != nil:
		if last == "" {
			return "", fmt.Errorf("container %q in pod %q is terminated", name, pod)
		}
		return last, nil
	case st.State.Waiting != nil:
		return "", waiting(pod, name, st.State.Waiting.Reason)
	}
	return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", name, pod)
}

func waiting(pod, name, why string) error {
	switch why {
	case reasonPull:
		why = "image can't be pulled"
	case reasonPullBackOff:
		why = "trying and failing to pull image"
	}
	return fmt.Errorf("container %q in pod %q is waiting to start: %v", name, pod, why)
}

// errNotFound is how a kubelet answers exec into what does not run.
func errNotFound(name string) error { return fmt.Errorf("container not found (%q)", name) }

// Exec runs a command in a container.
func (k *Kubelet) Exec(ctx context.Context, pod *corev1.Pod, container string, command []string, s stream.Streams) error {
	id, err := k.runningContainer(ctx, pod, container)
	if err != nil {
		return err
	}
	return k.Runtime.Exec(ctx, id, command, runtimeStreams(ctx, s))
}

// Attach connects to a container's first process.
func (k *Kubelet) Attach(ctx context.Context, pod *corev1.Pod, container string, s stream.Streams) error {
	id, err := k.runningContainer(ctx, pod, container)
	if err != nil {
		return err
	}
	return k.Runtime.Attach(ctx, id, runtimeStreams(ctx, s))
}

// runningContainer finds the attempt that runs. It asks the runtime, which
// knows also what this process has not adopted yet.
func (k *Kubelet) runningContainer(ctx context.Context, pod *corev1.Pod, name string) (string, error) {
	sandbox, _, err := k.Runtime.Sandbox(ctx, pod.UID)
	if err != nil {
		return "", err
	}
	if c := sandbox.latest(name); c != nil && c.State == StateRunning {
		return c.ID, nil
	}
	return "", errNotFound(name)
}

// runtimeStreams hands streams on, with terminal sizes in the runtime's own type.
func runtimeStreams(ctx context.Context, s stream.Streams) Streams {
	out := Streams{Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, TTY: s.TTY}
	if s.Resize == nil {
		return out
	}
	sizes := make(chan TerminalSize)
	out.Resize = sizes
	go func() {
		defer close(sizes)
		for {
			select {
			case size, ok := <-s.Resize:
				if !ok {
					return
				}
				select {
				case sizes <- TerminalSize(size):
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// errNoSandbox is the answer to a connection to a pod that has no network.
var errNoSandbox = errors.New("pod has no network: it is not running")

// Dial connects to a port inside a pod's network.
func (k *Kubelet) Dial(ctx context.Context, pod *corev1.Pod, network string, port int32) (net.Conn, error) {
	k.mu.Lock()
	w := k.pods[pod.UID]
	k.mu.Unlock()
	if w == nil {
		return nil, errNoSandbox
	}
	w.mu.Lock()
	ready := w.sandbox != nil && w.sandbox.Ready
	w.mu.Unlock()
	if !ready {
		return nil, errNoSandbox
	}
	rw, err := k.Runtime.Dial(ctx, pod.UID, network, port)
	if err != nil {
		return nil, err
	}
	return asConn(rw), nil
}
