package simulated

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"kuberow/controllers/kubelet"
)

// Restore makes the sandboxes that the pods' status tells of.
func (r *Runtime) Restore(pods []*corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, spec := range pods {
		if p := r.restored(spec); p != nil {
			r.pods[spec.UID] = p
		}
	}
}

// restored gives a pod's sandbox, nil when nothing of it had started.
func (r *Runtime) restored(spec *corev1.Pod) *pod {
	st := &spec.Status
	p := &pod{spec: spec, node: spec.Spec.NodeName, ready: st.Phase != corev1.PodSucceeded && st.Phase != corev1.PodFailed}
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		for i := range list {
			p.containers = append(p.containers, attempts(spec, &list[i])...)
		}
	}
	if len(p.containers) == 0 {
		return nil
	}
	if st.StartTime != nil {
		p.created = st.StartTime.Time
	}
	if p.ready {
		p.ip = r.take(spec)
	}
	return p
}

// Reserve takes the addresses of pods whose sandboxes are not here.
func (r *Runtime) Reserve(pods []*corev1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, spec := range pods {
		r.take(spec)
	}
}

// take makes the address of a pod's status its own; the zero Addr when it has none.
func (r *Runtime) take(spec *corev1.Pod) netip.Addr {
	ip, err := netip.ParseAddr(spec.Status.PodIP)
	if err != nil || spec.Spec.HostNetwork {
		return netip.Addr{}
	}
	r.used[ip] = spec.UID
	if r.ips.Contains(ip) && r.last.Less(ip) {
		r.last = ip
	}
	return ip
}

// attempts gives the one before and the current one of a container.
func attempts(spec *corev1.Pod, st *corev1.ContainerStatus) []*container {
	var out []*container
	n := int(st.RestartCount)
	add := func(attempt int, id string, s corev1.ContainerState) {
		c := &container{Container: kubelet.Container{ID: id, Name: st.Name, Attempt: attempt, Image: st.Image, ImageID: st.ImageID}}
		switch {
		case s.Running != nil:
			c.State, c.Started = kubelet.StateRunning, s.Running.StartedAt.Time
			c.Created = c.Started
			c.plan(spec)
		case s.Terminated != nil && id != "":
			c.Started = s.Terminated.StartedAt.Time
			c.Created = c.Started
			c.exit(s.Terminated.FinishedAt.Time, s.Terminated.ExitCode, s.Terminated.Reason)
			c.Message = s.Terminated.Message
		default:
			return
		}
		out = append(out, c)
	}
	if t := st.LastTerminationState.Terminated; t != nil {
		attempt := n - 1
		if st.State.Waiting != nil { // it waits for its next attempt: the count is still that of the last
			attempt = n
		}
		add(attempt, t.ContainerID, st.LastTerminationState)
	}
	if t := st.State.Terminated; t != nil {
		add(n, t.ContainerID, st.State)
	} else {
		add(n, st.ContainerID, st.State)
	}
	return out
}
