package simulated

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

// What would need a process: logs say that there is none, all else refuses.

// Refusal is the answer to what a simulated pod cannot do.
type Refusal struct{ What string }

func (e *Refusal) Error() string {
	return e.What + ": this pod is simulated, no process runs in it; start kuberow with --container-runtime docker for real containers"
}

// Exec refuses.
func (r *Runtime) Exec(context.Context, string, []string, kubelet.Streams) error {
	return &Refusal{"cannot exec"}
}

// Attach refuses.
func (r *Runtime) Attach(context.Context, string, kubelet.Streams) error {
	return &Refusal{"cannot attach"}
}

// Dial refuses.
func (r *Runtime) Dial(_ context.Context, _ types.UID, _ string, port int32) (io.ReadWriteCloser, error) {
	return nil, &Refusal{fmt.Sprintf("cannot connect to port %d", port)}
}

// line of a log.
type line struct {
	at   time.Time
	text string
}

// Logs writes what a simulated container has to say: that it started, and how it ended.
func (r *Runtime) Logs(ctx context.Context, id string, o kubelet.LogOptions, stdout, _ io.Writer) error {
	lines, end, found := r.lines(id)
	if !found {
		return fmt.Errorf("no logs of container %s", id)
	}
	w := logWriter{o: o, out: stdout}
	if err := w.write(tail(lines, o.TailLines)); err != nil || !o.Follow {
		return err
	}
	for sent := len(lines); !end; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPoll):
		}
		if lines, end, found = r.lines(id); !found {
			return nil
		}
		if err := w.write(lines[sent:]); err != nil {
			return err
		}
		sent = len(lines)
	}
	return nil
}

// followPoll is how often a followed log is looked at.
const followPoll = 200 * time.Millisecond

// lines are the log of a container, and whether it has ended.
func (r *Runtime) lines(id string) (lines []line, end, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, c := r.find(id)
	if c == nil {
		return nil, true, false
	}
	lines = append(lines, line{c.Started, fmt.Sprintf("simulated: container %s of pod %s/%s, image %s: nothing runs, this line is all there is",
		c.Name, p.spec.Namespace, p.spec.Name, c.Image)})
	if c.State == kubelet.StateExited {
		lines = append(lines, line{c.Finished, fmt.Sprintf("simulated: ended with status %d (%s)", c.ExitCode, c.Reason)})
	}
	return lines, c.State == kubelet.StateExited, true
}

func tail(lines []line, n *int64) []line {
	if n != nil && *n >= 0 && int(*n) < len(lines) {
		return lines[len(lines)-int(*n):]
	}
	return lines
}

// logWriter writes lines as the options say.
type logWriter struct {
	o       kubelet.LogOptions
	out     io.Writer
	written int64
}

func (w *logWriter) write(lines []line) error {
	for _, l := range lines {
		if !w.o.Since.IsZero() && l.at.Before(w.o.Since) {
			continue
		}
		text := l.text + "\n"
		if w.o.Timestamps {
			text = l.at.UTC().Format("2006-01-02T15:04:05.000000000Z07:00") + " " + text
		}
		if limit := w.o.LimitBytes; limit != nil {
			left := *limit - w.written
			if left <= 0 {
				return nil
			}
			text = text[:min(int64(len(text)), left)]
		}
		n, err := io.WriteString(w.out, text)
		w.written += int64(n)
		if err != nil {
			return err
		}
	}
	return nil
}
