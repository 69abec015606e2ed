package kubelet

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// One sync of a pod: look, plan, carry out, and again until nothing is left to
// do now. Only one runs for a pod at a time. Everything here may be interrupted
// (the pod is deleted, the kubelet stops) or fail; the next sync starts from what the
// runtime then says.

// maxPasses bounds one sync. A pass starts at least one container or ends the
// loop, so only a container that ends at once without a back-off could go on.
const maxPasses = 64

// sync brings a pod one round closer.
func (k *Kubelet) sync(ctx context.Context, w *worker) {
	w.mu.Lock()
	w.next = time.Time{}
	stale := w.stale || k.sim != nil && w.sandbox != nil
	w.mu.Unlock()
	if stale {
		if err := k.refresh(ctx, w); err != nil {
			k.engineFailed(ctx, w, "look at pod", err)
			return
		}
	}
	w.mu.Lock()
	pod, gone, ending := w.pod, w.gone, w.mustEnd()
	if pod != nil {
		w.synced = pod.ResourceVersion
	}
	w.mu.Unlock()
	switch {
	case gone:
		k.remove(ctx, w)
	case pod == nil:
		// A sandbox that was found before its pod was seen: Step or housekeeping says which it is.
	case ending:
		k.terminate(ctx, w)
	default:
		k.bringUp(ctx, w)
	}
}

// mustEnd says whether the pod is only to be stopped. Called with mu held.
func (w *worker) mustEnd() bool {
	return w.pod != nil && (w.pod.DeletionTimestamp != nil || w.stop != nil || w.evict != nil || terminalPhase(w.pod.Status.Phase))
}

func terminalPhase(p corev1.PodPhase) bool {
	return p == corev1.PodSucceeded || p == corev1.PodFailed
}

// bringUp makes plans and carries them out.
func (k *Kubelet) bringUp(ctx context.Context, w *worker) {
	if k.pastDeadline(w) || !k.admit(ctx, w) {
		k.terminate(ctx, w)
		return
	}
	if err := k.mountVolumes(ctx, w); err != nil {
		return
	}
	for range maxPasses {
		due := k.probe(w)
		w.mu.Lock()
		if k.sim != nil {
			w.again(due)
		}
		p := makePlan(planInput{pod: w.pod, sandbox: w.sandbox, probes: w.verdict})
		w.mu.Unlock()
		if p.end {
			k.end(ctx, w)
			return
		}
		if !k.carryOut(ctx, w, p) || ctx.Err() != nil {
			return
		}
	}
	w.mu.Lock()
	w.again(k.Clock.Now().Add(time.Second))
	w.mu.Unlock()
}

// end stops a pod that has run out of work; its phase follows from its containers.
func (k *Kubelet) end(ctx context.Context, w *worker) {
	w.mu.Lock()
	w.stop = &stopping{}
	w.mu.Unlock()
	k.terminate(ctx, w)
}

// carryOut does what a plan says, and says whether another pass may find more.
func (k *Kubelet) carryOut(ctx context.Context, w *worker, p plan) (progress bool) {
	if p.sandbox {
		return k.makeSandbox(ctx, w, p.changed)
	}
	for _, x := range p.kill {
		if err := k.killContainer(ctx, w, x.c, x.id, x.message, x.grace, nil); err != nil {
			k.engineFailed(ctx, w, "stop container", err)
			return false
		}
		progress = true
	}
	for _, c := range p.start {
		started, failed := k.startContainer(ctx, w, c)
		progress = progress || started
		if failed && c.kind == initContainer && !isSidecar(c.Container) {
			return false
		}
	}
	if progress {
		if err := k.refresh(ctx, w); err != nil {
			k.engineFailed(ctx, w, "look at pod", err)
			return false
		}
		if k.sim == nil {
			k.Wake(w.key)
		}
	}
	return progress
}

// makeSandbox runs the pod's sandbox; when an older one died, what is left of it is stopped first.
func (k *Kubelet) makeSandbox(ctx context.Context, w *worker, changed bool) bool {
	now := k.Clock.Now()
	w.mu.Lock()
	pod, running := w.pod, w.sandbox.running()
	b := w.backoffOf("sandbox")
	wait := b.until(b.last, now)
	if !wait.IsZero() {
		w.again(wait)
	}
	w.mu.Unlock()
	if !wait.IsZero() {
		return false
	}
	if changed {
		k.event(pod, "", corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
		for _, c := range running {
			if err := k.Runtime.StopContainer(ctx, c.ID, minGrace); err != nil {
				k.engineFailed(ctx, w, "stop container", err)
				return false
			}
		}
	}
	release := k.startSlot(ctx)
	s, err := k.Runtime.RunSandbox(ctx, pod)
	release()
	var notYet *NotYet
	if errors.As(err, &notYet) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.again(notYet.Until)
		return false
	}
	if err != nil {
		if ctx.Err() != nil {
			return false
		}
		k.event(pod, "", corev1.EventTypeWarning, "FailedCreatePodSandBox", "Failed to create pod sandbox: "+err.Error())
		k.engineFailed(ctx, w, "run sandbox", err)
		return false
	}
	w.mu.Lock()
	w.sandbox = &s
	delete(w.backoff, "sandbox")
	w.mu.Unlock()
	return true
}

// startSlot waits for leave to start something, and gives the function that ends it.
func (k *Kubelet) startSlot(ctx context.Context) func() {
	select {
	case k.starts <- struct{}{}:
		return func() { <-k.starts }
	case <-ctx.Done():
		return func() {}
	}
}

// engineFailed has a pod tried again soon after the runtime refused something.
func (k *Kubelet) engineFailed(ctx context.Context, w *worker, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	now := k.Clock.Now()
	w.mu.Lock()
	b := w.backoffOf("sandbox")
	b.quick(now)
	w.stale = true
	w.again(now.Add(b.delay))
	w.mu.Unlock()
	k.Logger.Warn("kubelet: "+what, "pod", w.key.Namespace+"/"+w.key.Name, "err", err)
}

// pastDeadline fails a pod that was active for longer than its spec allows.
func (k *Kubelet) pastDeadline(w *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	limit := w.pod.Spec.ActiveDeadlineSeconds
	if limit == nil || w.pod.Status.StartTime == nil {
		return false
	}
	end := w.pod.Status.StartTime.Add(time.Duration(*limit) * time.Second)
	if k.Clock.Now().Before(end) {
		w.again(end)
		return false
	}
	w.evict = &reason{"DeadlineExceeded", "Pod was active on the node longer than the specified deadline"}
	k.event(w.pod, "", corev1.EventTypeNormal, "DeadlineExceeded", w.evict.Message)
	return true
}
