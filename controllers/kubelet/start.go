package kubelet

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Starting one attempt of a container: wait out the restart back-off, have the
// image, resolve the environment and the mounts, create and start, run postStart.
// Each step that fails leaves its reason for the status and its event, in upstream's words.

// The reasons of a waiting container.
const (
	reasonCrashLoop    = "CrashLoopBackOff"
	reasonPullBackOff  = "ImagePullBackOff"
	reasonPull         = "ErrImagePull"
	reasonNeverPull    = "ErrImageNeverPull"
	reasonInspect      = "ImageInspectError"
	reasonImageName    = "InvalidImageName"
	reasonConfig       = "CreateContainerConfigError"
	reasonCreate       = "CreateContainerError"
	reasonRun          = "RunContainerError"
	reasonPostStart    = "PostStartHookError"
	reasonCreating     = "ContainerCreating"
	reasonInitializing = "PodInitializing"
)

// startContainer tries to start the next attempt of a container. started says
// that the runtime's state changed, failed that the container does not run.
func (k *Kubelet) startContainer(ctx context.Context, w *worker, c specContainer) (started, failed bool) {
	w.mu.Lock()
	pod := w.pod
	w.mu.Unlock()
	if k.inRestartBackoff(w, pod, c) || k.showsPullError(w, c) {
		return false, true
	}
	if why := k.ensureImage(ctx, w, pod, c); why.Reason != "" {
		if ctx.Err() == nil {
			if why.Reason != reasonPullBackOff || w.reasonOf(c.Name) != reasonPullBackOff {
				k.event(pod, c.fieldPath(), corev1.EventTypeWarning, "Failed", "Error: "+why.Reason)
			}
			w.report(c.Name, why)
		}
		return false, true
	}
	config, err := k.containerConfig(ctx, w, pod, c)
	if err != nil {
		return false, k.startFailed(ctx, w, pod, c, reasonConfig, err)
	}
	release := k.startSlot(ctx)
	id, err := k.Runtime.StartContainer(ctx, config)
	release()
	var notStarted *StartError
	switch {
	case errors.As(err, &notStarted):
		k.event(pod, c.fieldPath(), corev1.EventTypeNormal, "Created", "Container created")
		failed = k.startFailed(ctx, w, pod, c, reasonRun, err)
		w.mu.Lock()
		w.stale = true
		w.again(k.Clock.Now().Add(showStartError))
		w.mu.Unlock()
		k.prune(ctx, w, c.Name)
		return false, failed
	case errors.As(err, new(*ConfigError)):
		return false, k.startFailed(ctx, w, pod, c, reasonConfig, err)
	case err != nil:
		return false, k.startFailed(ctx, w, pod, c, reasonCreate, err)
	}
	k.event(pod, c.fieldPath(), corev1.EventTypeNormal, "Created", "Container created")
	k.event(pod, c.fieldPath(), corev1.EventTypeNormal, "Started", "Container started")
	w.report(c.Name, reason{})
	k.prune(ctx, w, c.Name)
	if k.sim == nil && c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		return true, k.postStart(ctx, w, pod, c, id)
	}
	return true, false
}

// retryStart is when a start that failed for its configuration is tried again.
const retryStart = 10 * time.Second

// showStartError is how long RunContainerError stands before the next attempt or CrashLoopBackOff.
const showStartError = time.Second

// startFailed records why a container did not start.
func (k *Kubelet) startFailed(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, why string, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	k.event(pod, c.fieldPath(), corev1.EventTypeWarning, "Failed", "Error: "+err.Error())
	w.report(c.Name, reason{why, err.Error()})
	w.mu.Lock()
	w.again(k.Clock.Now().Add(retryStart))
	w.mu.Unlock()
	return true
}

func (w *worker) reasonOf(container string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reasons[container].Reason
}

// inRestartBackoff says whether a container that ended has to wait, and counts
// the attempt when it has not.
func (k *Kubelet) inRestartBackoff(w *worker, pod *corev1.Pod, c specContainer) bool {
	now := k.Clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.sandbox.ended(c.Name)
	if last == nil {
		return false
	}
	ended := last.Finished
	if ended.IsZero() { // it was created, but did not start
		ended = last.Created
	}
	b := w.backoffOf("restart/" + c.Name + "/" + c.Image)
	if t := b.until(ended, now); !t.IsZero() {
		if w.reasons[c.Name].Reason != reasonCrashLoop {
			k.event(pod, c.fieldPath(), corev1.EventTypeWarning, "BackOff",
				fmt.Sprintf("Back-off restarting failed container %s in pod %s", c.Name, describe(pod)))
		}
		w.reasons[c.Name] = reason{reasonCrashLoop,
			fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", b.delay, c.Name, describe(pod))}
		w.again(t)
		return true
	}
	b.next(ended, now)
	return false
}

// prune forgets attempts before the previous one; their logs go with them.
func (k *Kubelet) prune(ctx context.Context, w *worker, name string) {
	w.mu.Lock()
	old := w.sandbox.attempts(name)
	w.mu.Unlock()
	for i, c := range old {
		if i > 0 && c.State == StateExited {
			if err := k.Runtime.RemoveContainer(ctx, c.ID); err != nil && ctx.Err() == nil {
				k.Logger.Warn("kubelet: remove old attempt", "container", c.ID, "err", err)
			}
		}
	}
}

// containerConfig resolves all that the runtime needs to start the next attempt.
func (k *Kubelet) containerConfig(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer) (ContainerConfig, error) {
	w.mu.Lock()
	s, volumes := w.sandbox, w.volumes
	old := oldContainerStatus(pod, c.Name)
	w.mu.Unlock()
	config := ContainerConfig{Pod: pod, Container: c.Container, SpecHash: specHash(c.Container)}
	if last := s.latest(c.Name); last != nil {
		config.Attempt = last.Attempt + 1
	} else if old != nil && (old.State.Terminated != nil || old.State.Running != nil) {
		// The runtime has lost it (its engine was wiped): go on counting.
		config.Attempt = int(old.RestartCount) + 1
	}
	env, err := k.environment(ctx, pod, c.Container, podIPs(s, k.hostIPs(pod)))
	if err != nil {
		return config, err
	}
	config.Env = env.sorted()
	config.Command = env.expandAll(c.Command)
	config.Args = env.expandAll(c.Args)
	if config.Mounts, err = k.mounts(pod, c.Container, volumes, env); err != nil {
		return config, err
	}
	for i := range pod.Spec.EphemeralContainers {
		if e := &pod.Spec.EphemeralContainers[i]; e.Name == c.Name && e.TargetContainerName != "" {
			target := s.latest(e.TargetContainerName)
			if target == nil {
				return config, fmt.Errorf("unable to find target container %v", e.TargetContainerName)
			}
			config.Target = target.ID
		}
	}
	return config, nil
}
