package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"kuberow/controllers/kubelet"
)

// Logs writes a container's log. The engine keeps times to the nanosecond and
// prints them as Kubernetes does (RFC3339Nano).
func (r *Runtime) Logs(ctx context.Context, id string, o kubelet.LogOptions, stdout, stderr io.Writer) error {
	c, err := r.engine.ContainerInspect(ctx, engineID(id))
	if err != nil {
		return fmt.Errorf("inspect container %s: %w", id, err)
	}
	options := container.LogsOptions{ShowStdout: true, ShowStderr: true, Follow: o.Follow, Timestamps: o.Timestamps, Tail: "all"}
	if !o.Since.IsZero() {
		options.Since = fmt.Sprintf("%d.%09d", o.Since.Unix(), o.Since.Nanosecond())
	}
	if o.TailLines != nil {
		options.Tail = strconv.FormatInt(*o.TailLines, 10)
	}
	if o.LimitBytes != nil {
		left := *o.LimitBytes
		stdout, stderr = &limited{w: stdout, left: &left}, &limited{w: stderr, left: &left}
	}
	log, err := r.engine.ContainerLogs(ctx, engineID(id), options)
	if err != nil {
		return fmt.Errorf("read the log of container %s: %w", id, err)
	}
	defer log.Close()
	if c.Config.Tty {
		_, err = io.Copy(stdout, log)
	} else {
		_, err = stdcopy.StdCopy(stdout, stderr, log)
	}
	if errors.Is(err, errLimit) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// errLimit ends the copy at limitBytes.
var errLimit = errors.New("the limit of the log is reached")

// limited lets left bytes through, counted over both outputs.
type limited struct {
	w    io.Writer
	left *int64
}

func (l *limited) Write(p []byte) (int, error) {
	if *l.left <= 0 {
		return 0, errLimit
	}
	cut := p[:min(int64(len(p)), *l.left)]
	n, err := l.w.Write(cut)
	*l.left -= int64(n)
	if err == nil && len(cut) < len(p) {
		err = errLimit
	}
	return n, err
}
