package kubelet

import (
	corev1 "k8s.io/api/core/v1"
)

// The phase of a pod: a sum over its containers, with upstream's rules.

// statusPhase sets the phase, and the reason and message that go with it. A
// phase that ends the pod is told only when nothing of it runs, and never taken back.
func statusPhase(in statusInput, s *corev1.PodStatus) {
	old := &in.pod.Status
	s.Phase = phase(in, s)
	if in.evict != nil {
		s.Phase = corev1.PodFailed
	}
	ended := in.stopped || in.sandbox == nil || len(in.sandbox.running()) == 0
	switch {
	case terminalPhase(old.Phase):
		s.Phase = old.Phase
	case terminalPhase(s.Phase) && !ended:
		s.Phase = old.Phase
	case in.stopped && in.pod.DeletionTimestamp != nil && !terminalPhase(s.Phase):
		s.Phase = corev1.PodFailed // it was deleted before all of it had run
	}
	if s.Phase == old.Phase {
		s.Reason, s.Message = old.Reason, old.Message
	}
	if in.evict != nil && s.Phase == corev1.PodFailed {
		s.Reason, s.Message = in.evict.Reason, in.evict.Message
	}
}

// counts of containers by state, as the phase needs them.
type counts struct {
	pendingInit, pendingSidecar, failedInit int
	unknown, running, waiting               int
	stopped, final, succeeded/* of stopped */ int
}

// phase sums up the containers.
func phase(in statusInput, s *corev1.PodStatus) corev1.PodPhase {
	c := count(in.pod, s)
	initialized := in.sandbox != nil && mainStarted(in.pod, in.sandbox)
	switch {
	case c.failedInit > 0:
		return corev1.PodFailed
	case c.pendingInit > 0, c.pendingSidecar > 0 && !initialized, c.waiting > 0:
		return corev1.PodPending
	case c.running > 0 && c.unknown == 0:
		return corev1.PodRunning
	case c.running == 0 && c.stopped > 0 && c.unknown == 0:
		over := in.stopped && (in.pod.DeletionTimestamp != nil || in.evict != nil)
		switch {
		case c.stopped != c.final && !over:
			return corev1.PodRunning // some are about to be started again
		case c.stopped == c.succeeded:
			return corev1.PodSucceeded
		}
		return corev1.PodFailed
	}
	return corev1.PodPending
}

func count(pod *corev1.Pod, s *corev1.PodStatus) counts {
	var n counts
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		st := findStatus(s.InitContainerStatuses, c.Name)
		if isSidecar(c) {
			n.sidecar(st)
		} else {
			n.init(pod, c, st)
		}
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		n.main(pod, c, findStatus(s.ContainerStatuses, c.Name))
	}
	return n
}

func (n *counts) init(pod *corev1.Pod, c *corev1.Container, st *corev1.ContainerStatus) {
	ended := lastEnd(st)
	switch {
	case ended == nil:
		n.pendingInit++
	case ended.ExitCode != 0 && !restartsAfter(c, pod, ended.ExitCode):
		n.failedInit++
	}
}

func (n *counts) sidecar(st *corev1.ContainerStatus) {
	switch {
	case st == nil:
		n.unknown++
	case st.State.Running != nil:
		if st.Started == nil || !*st.Started {
			n.pendingSidecar++
		}
		n.running++
	case lastEnd(st) == nil:
		n.pendingSidecar++
		n.waiting++
	}
}

func (n *counts) main(pod *corev1.Pod, c *corev1.Container, st *corev1.ContainerStatus) {
	switch {
	case st == nil:
		n.unknown++
	case st.State.Running != nil:
		n.running++
	case lastEnd(st) == nil:
		n.waiting++
	default:
		end := lastEnd(st)
		n.stopped++
		if !restartsAfter(c, pod, end.ExitCode) {
			n.final++
		}
		if st.State.Terminated != nil && end.ExitCode == 0 {
			n.succeeded++
		}
	}
}

// lastEnd is how a container that does not run ended last; nil when it runs or never ran.
func lastEnd(st *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	switch {
	case st == nil || st.State.Running != nil:
		return nil
	case st.State.Terminated != nil:
		return st.State.Terminated
	}
	return st.LastTerminationState.Terminated
}
