package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"kuberow/controllers/kubelet"
)

// Exec runs a command in a running container and waits for its end. What the
// client still types has no reader then and is dropped.
func (r *Runtime) Exec(ctx context.Context, id string, command []string, s kubelet.Streams) error {
	made, err := r.engine.ContainerExecCreate(ctx, engineID(id), container.ExecOptions{
		Cmd: command, Tty: s.TTY, AttachStdin: s.Stdin != nil, AttachStdout: s.Stdout != nil, AttachStderr: s.Stderr != nil,
	})
	if err != nil {
		return fmt.Errorf("create exec in container %s: %w", id, err)
	}
	stream, err := r.engine.ContainerExecAttach(ctx, made.ID, container.ExecAttachOptions{Tty: s.TTY})
	if err != nil {
		return fmt.Errorf("start exec in container %s: %w", id, err)
	}
	defer stream.Close()
	resizing, stop := context.WithCancel(ctx)
	defer stop()
	go resize(resizing, s.Resize, func(o container.ResizeOptions) error { return r.engine.ContainerExecResize(ctx, made.ID, o) })
	if err := join(ctx, stream, s); err != nil {
		return err
	}
	ended, err := r.engine.ContainerExecInspect(ctx, made.ID)
	if err != nil {
		return fmt.Errorf("ask for the exit status: %w", err)
	}
	if ended.ExitCode != 0 {
		return &kubelet.ExitError{Code: ended.ExitCode}
	}
	return nil
}

// Attach joins the streams of a container's first process.
func (r *Runtime) Attach(ctx context.Context, id string, s kubelet.Streams) error {
	stream, err := r.engine.ContainerAttach(ctx, engineID(id), container.AttachOptions{
		Stream: true, Stdin: s.Stdin != nil, Stdout: s.Stdout != nil, Stderr: s.Stderr != nil,
	})
	if err != nil {
		return fmt.Errorf("attach to container %s: %w", id, err)
	}
	defer stream.Close()
	resizing, stop := context.WithCancel(ctx)
	defer stop()
	go resize(resizing, s.Resize, func(o container.ResizeOptions) error { return r.engine.ContainerResize(ctx, engineID(id), o) })
	return join(ctx, stream, s)
}

func resize(ctx context.Context, sizes <-chan kubelet.TerminalSize, set func(container.ResizeOptions) error) {
	for sizes != nil {
		select {
		case size, more := <-sizes:
			if !more || set(container.ResizeOptions{Width: uint(size.Width), Height: uint(size.Height)}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// join copies until the container's side ends. Without a terminal the engine
// frames stdout and stderr in one stream; with one there is only output.
func join(ctx context.Context, stream types.HijackedResponse, s kubelet.Streams) error {
	if s.Stdin != nil {
		go func() {
			io.Copy(stream.Conn, s.Stdin) // ends with the client's input, or when the stream closes below
			stream.CloseWrite()
		}()
	}
	stdout, stderr := s.Stdout, s.Stderr
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	done := make(chan error, 1)
	go func() {
		var err error
		if s.TTY {
			_, err = io.Copy(stdout, stream.Reader)
		} else {
			_, err = stdcopy.StdCopy(stdout, stderr, stream.Reader)
		}
		done <- err
	}()
	select {
	case err := <-done:
		if errors.Is(err, net.ErrClosed) {
			err = nil
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
