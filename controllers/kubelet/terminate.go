package kubelet

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The end of a pod: preStop hooks and stop signals for the main containers at
// once, sidecars after them in reverse order, all within the grace period; then
// the sandbox's network. The API object and what the runtime remembers go later (step.go).

// minGrace is what a container gets at least between its stop signal and the kill.
const minGrace = 2 * time.Second

// stopping is set while a pod ends.
type stopping struct {
	due time.Time // simulator: when its containers end, after preStop and the scripted delay
}

// grace is the pod's grace period: that of the delete, else that of the spec.
func grace(pod *corev1.Pod) time.Duration {
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	}
	return 30 * time.Second
}

// terminate stops everything of a pod and keeps what describe and logs show.
func (k *Kubelet) terminate(ctx context.Context, w *worker) {
	w.mu.Lock()
	pod, s, done := w.pod, w.sandbox, w.stopped
	if w.stop == nil {
		w.stop = &stopping{}
	}
	w.mu.Unlock()
	if done {
		return
	}
	if k.sim != nil && !k.simulatedStopDue(w, pod, s) {
		return
	}
	if err := k.stopContainers(ctx, w, pod, s); err != nil {
		k.engineFailed(ctx, w, "stop containers", err)
		return
	}
	if s != nil && s.Ready {
		if err := k.Runtime.StopSandbox(ctx, w.uid); err != nil {
			k.engineFailed(ctx, w, "stop sandbox", err)
			return
		}
	}
	if err := k.refresh(ctx, w); err != nil {
		k.engineFailed(ctx, w, "look at pod", err)
		return
	}
	w.mu.Lock()
	w.stopped = true
	w.probes = map[probeKey]*probeState{}
	w.mu.Unlock()
}

// stopContainers stops what runs, sidecars last.
func (k *Kubelet) stopContainers(ctx context.Context, w *worker, pod *corev1.Pod, s *Sandbox) error {
	order := newStopOrder(pod, s)
	running := s.running()
	slices.SortFunc(running, func(a, b *Container) int { return stopRank(pod, a.Name) - stopRank(pod, b.Name) })
	errs := make([]error, len(running))
	stop := func(i int) {
		c, ok := findContainer(pod, running[i].Name)
		if !ok {
			errs[i] = k.Runtime.StopContainer(ctx, running[i].ID, minGrace)
			return
		}
		errs[i] = k.killContainer(ctx, w, c, running[i].ID, "", nil, order)
	}
	if k.sim != nil {
		for i := range running {
			stop(i)
		}
	} else {
		var all sync.WaitGroup
		for i := range running {
			all.Go(func() { stop(i) })
		}
		all.Wait()
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// stopRank orders containers: main ones first, then sidecars, the last one first.
func stopRank(pod *corev1.Pod, name string) int {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return len(pod.Spec.InitContainers) - i
		}
	}
	return 0
}

// killContainer runs the preStop hook and stops one container. own is a grace
// period that goes before the pod's (of the probe that failed); order makes it wait for its turn.
func (k *Kubelet) killContainer(ctx context.Context, w *worker, c specContainer, id, message string, own *int64, order *stopOrder) error {
	w.mu.Lock()
	pod := w.pod
	first := !w.killed[id] // a shortened grace period comes here again
	w.killed[id] = true
	w.mu.Unlock()
	if message == "" {
		message = "Stopping container " + c.Name
	}
	if first {
		k.event(pod, c.fieldPath(), corev1.EventTypeNormal, "Killing", message)
	}
	left := grace(pod)
	if own != nil && pod.DeletionGracePeriodSeconds == nil {
		left = time.Duration(*own) * time.Second
	}
	if k.sim == nil {
		if first && c.Lifecycle != nil && c.Lifecycle.PreStop != nil && left > 0 {
			left -= k.preStop(ctx, w, pod, c, id, left)
		}
		if order != nil && left > 0 {
			left -= order.wait(ctx, k.Clock, c.Name, left)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := k.Runtime.StopContainer(ctx, id, max(left, minGrace)); err != nil {
		return err
	}
	if order != nil {
		order.stopped(c.Name)
	}
	return nil
}

// simulatedStopDue says whether a simulated pod's containers end now: at once, or
// when sleeping preStop hooks have slept, within the grace period.
func (k *Kubelet) simulatedStopDue(w *worker, pod *corev1.Pod, s *Sandbox) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := k.Clock.Now()
	if w.stop.due.IsZero() {
		w.stop.due = now
		for _, r := range s.running() {
			if c, ok := findContainer(pod, r.Name); ok && c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil {
				w.stop.due = later(w.stop.due, now.Add(time.Duration(c.Lifecycle.PreStop.Sleep.Seconds)*time.Second))
			}
		}
	}
	due := w.stop.due
	if limit := now.Add(grace(pod)); limit.Before(due) {
		due = limit
	}
	if due.After(now) {
		w.again(due)
		return false
	}
	return true
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// remove makes the runtime forget a pod that the API has no more. One that was
// deleted with force may still run: it is stopped first.
func (k *Kubelet) remove(ctx context.Context, w *worker) {
	w.mu.Lock()
	pod, s := w.pod, w.sandbox
	w.mu.Unlock()
	if s != nil {
		if pod != nil && len(s.running()) > 0 {
			if err := k.stopContainers(ctx, w, pod, s); err != nil {
				k.engineFailed(ctx, w, "stop containers", err)
				return
			}
		}
		if err := k.Runtime.StopSandbox(ctx, w.uid); err != nil {
			k.engineFailed(ctx, w, "stop sandbox", err)
			return
		}
		if err := k.Runtime.RemoveSandbox(ctx, w.uid); err != nil {
			k.engineFailed(ctx, w, "remove sandbox", err)
			return
		}
	}
	w.mu.Lock()
	w.sandbox, w.stopped, w.removed = nil, true, true
	w.mu.Unlock()
	k.forget(w)
}
