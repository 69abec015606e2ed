package kubelet

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Lifecycle hooks. A container counts as started only when its postStart hook
// has run; its failure kills the container. A preStop hook runs before the stop
// signal and its time counts against the grace period; its failure is only told.

// postStart runs the hook of a container that has just started, and says whether it failed.
func (k *Kubelet) postStart(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, id string) (failed bool) {
	message, err := k.runHook(ctx, w, pod, c, id, c.Lifecycle.PostStart)
	if err == nil || ctx.Err() != nil {
		return false
	}
	// The message may hold secrets of the answer: it goes into the status, not into an event.
	k.event(pod, c.fieldPath(), corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
	w.report(c.Name, reason{reasonPostStart, message})
	if err := k.killContainer(ctx, w, c, id, "FailedPostStartHook", nil, nil); err != nil {
		k.engineFailed(ctx, w, "stop container", err)
	}
	return true
}

// preStop runs the hook for at most left, and says how long it took.
func (k *Kubelet) preStop(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, id string, left time.Duration) time.Duration {
	start := k.Clock.Now()
	hook, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := k.runHook(hook, w, pod, c, id, c.Lifecycle.PreStop)
		done <- err
	}()
	timer := k.Clock.NewTimer(left)
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil && ctx.Err() == nil {
			k.event(pod, c.fieldPath(), corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		}
	case <-timer.C():
	case <-ctx.Done():
	}
	return k.Clock.Since(start)
}

// runHook runs one hook; message is what the status may say of a failure.
func (k *Kubelet) runHook(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, id string, h *corev1.LifecycleHandler) (message string, err error) {
	switch {
	case h.Exec != nil:
		var out limitedBuffer
		if err = k.Runtime.Exec(ctx, id, h.Exec.Command, Streams{Stdout: &out, Stderr: &out}); err != nil {
			message = fmt.Sprintf("Exec lifecycle hook (%v) for Container %q in Pod %q failed - error: %v, message: %q",
				h.Exec.Command, c.Name, describe(pod), err, out.String())
		}
	case h.HTTPGet != nil:
		if err = k.hookHTTP(ctx, w, pod, c, h.HTTPGet); err != nil {
			message = fmt.Sprintf("HTTP lifecycle hook (%s) for Container %q in Pod %q failed - error: %v", h.HTTPGet.Path, c.Name, describe(pod), err)
		}
	case h.Sleep != nil:
		timer := k.Clock.NewTimer(time.Duration(h.Sleep.Seconds) * time.Second)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
			err = fmt.Errorf("container terminated before sleep hook finished")
			message = fmt.Sprintf("Sleep lifecycle hook (%d) for Container %q in Pod %q failed - error: %v", h.Sleep.Seconds, c.Name, describe(pod), err)
		}
	default:
		err = fmt.Errorf("invalid handler: %v", h)
		message = fmt.Sprintf("Cannot run handler: %v", err)
	}
	return message, err
}

// hookHTTP asks; any answer is success.
func (k *Kubelet) hookHTTP(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, a *corev1.HTTPGetAction) error {
	req, client, err := k.httpGet(ctx, w, pod, c, a, "lifecycle")
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, io.LimitReader(res.Body, maxProbeOutput))
	return err
}
