package kubelet

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The status of each container: its newest attempt as state, the one before as
// lastState, a reason when it waits, and what the old status knew when the
// runtime knows nothing any more.

// containerStatuses gives the statuses of one list of the pod: main and
// ephemeral containers by name, init containers in the order they run.
func containerStatuses(in statusInput, kind containerKind, old []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range allContainers(in.pod) {
		if c.kind == kind {
			out = append(out, containerStatus(in, c, findStatus(old, c.Name)))
		}
	}
	if kind != initContainer {
		slices.SortFunc(out, func(a, b corev1.ContainerStatus) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// containerStatus gives one container's status.
func containerStatus(in statusInput, c specContainer, old *corev1.ContainerStatus) corev1.ContainerStatus {
	tries := in.sandbox.attempts(c.Name)
	var st corev1.ContainerStatus
	if len(tries) == 0 {
		st = missingStatus(in, c, old)
	} else {
		st = attemptStatus(c, tries, old)
	}
	if !endedWell(c, st) && wantsStart(c.Container, in.pod, newest(tries)) && !in.stopped {
		if r, ok := in.reasons[c.Name]; ok {
			if st.State.Terminated != nil {
				st.LastTerminationState = st.State
			}
			st.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: r.Reason, Message: r.Message}}
		}
	}
	startedAndReady(in, c, &st, old)
	return st
}

func newest(tries []*Container) *Container {
	if len(tries) == 0 {
		return nil
	}
	return tries[0]
}

// endedWell says that an init container is done for good.
func endedWell(c specContainer, st corev1.ContainerStatus) bool {
	return c.kind == initContainer && !isSidecar(c.Container) && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
}

// attemptStatus tells of the attempts that the runtime has.
func attemptStatus(c specContainer, tries []*Container, old *corev1.ContainerStatus) corev1.ContainerStatus {
	now := tries[0]
	st := corev1.ContainerStatus{
		Name:               c.Name,
		RestartCount:       int32(now.Attempt),
		Image:              now.Image,
		ImageID:            now.ImageID,
		ContainerID:        now.ID,
		State:              state(now),
		AllocatedResources: c.Resources.Requests,
		Resources:          c.Resources.DeepCopy(),
		VolumeMounts:       volumeMounts(c),
	}
	if now.User != nil {
		st.User = &corev1.ContainerUser{Linux: now.User}
	}
	if now.StopSignal != "" {
		sig := corev1.Signal(now.StopSignal)
		st.StopSignal = &sig
	}
	switch {
	case len(tries) > 1:
		st.LastTerminationState = state(tries[1])
	case old == nil:
	case old.ContainerID != st.ContainerID && old.State.Terminated != nil:
		st.LastTerminationState.Terminated = old.State.Terminated
	default:
		st.LastTerminationState.Terminated = old.LastTerminationState.Terminated
	}
	return st
}

// state is an attempt as a ContainerState.
func state(c *Container) corev1.ContainerState {
	switch c.State {
	case StateRunning:
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: stamp(c.Started)}}
	case StateExited:
		t := &corev1.ContainerStateTerminated{
			ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message, ContainerID: c.ID,
		}
		if !c.Started.IsZero() {
			t.StartedAt = stamp(c.Started)
		}
		if !c.Finished.IsZero() {
			t.FinishedAt = stamp(c.Finished)
		}
		return corev1.ContainerState{Terminated: t}
	}
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
}

// unlocated is how a container ended that the runtime has lost.
func unlocated(message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown", Message: message, ExitCode: 137}
}

// missingStatus tells of a container that the runtime does not have: it waits,
// or has ended before, or was lost while it ran.
func missingStatus(in statusInput, c specContainer, old *corev1.ContainerStatus) corev1.ContainerStatus {
	st := corev1.ContainerStatus{Name: c.Name, Image: c.Image, VolumeMounts: volumeMounts(c)}
	wait := reasonCreating
	if len(in.pod.Spec.InitContainers) > 0 {
		wait = reasonInitializing
	}
	st.State.Waiting = &corev1.ContainerStateWaiting{Reason: wait}
	if c.kind == initContainer && !isSidecar(c.Container) && in.sandbox != nil && mainStarted(in.pod, in.sandbox) && (old == nil || old.State.Terminated == nil) {
		st.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed",
			Message: "Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally"}}
		return st
	}
	if old == nil {
		return st
	}
	if old.State.Terminated != nil {
		return *old
	}
	st.RestartCount, st.LastTerminationState = old.RestartCount, old.LastTerminationState
	switch {
	case in.stopped && old.State.Running != nil:
		st.State = corev1.ContainerState{Terminated: unlocated("The container could not be located when the pod was terminated")}
	case old.State.Running != nil && st.LastTerminationState.Terminated == nil:
		st.LastTerminationState.Terminated = unlocated("The container could not be located when the pod was deleted.  The container used to be Running")
		if in.pod.DeletionTimestamp == nil {
			st.RestartCount++
		}
	}
	return st
}

// volumeMounts repeats the spec's, with what became of read-only.
func volumeMounts(c specContainer) []corev1.VolumeMountStatus {
	var out []corev1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			off := corev1.RecursiveReadOnlyDisabled
			s.RecursiveReadOnly = &off
		}
		out = append(out, s)
	}
	return out
}

// startedAndReady sets what the probes say. A container that ran before this
// kubelet started keeps what its status said until its probe has run.
func startedAndReady(in statusInput, c specContainer, st *corev1.ContainerStatus, old *corev1.ContainerStatus) {
	if c.kind == ephemeralContainer {
		return
	}
	started, ready := false, false
	if st.State.Running != nil {
		same := old != nil && old.ContainerID == st.ContainerID
		v, _ := in.probes(st.ContainerID, startupProbe)
		started = v == passing || v == adopted && same && old.Started != nil && *old.Started
		if started {
			v, _ = in.probes(st.ContainerID, readinessProbe)
			ready = v == passing || v == adopted && same && old.Ready
		}
	}
	if c.kind == initContainer && !isSidecar(c.Container) {
		ready = st.State.Terminated != nil && st.State.Terminated.ExitCode == 0
	}
	st.Started, st.Ready = &started, ready
}
