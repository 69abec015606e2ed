package kubelet

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// The plan of one pass over a pod: from the spec, what runs and what the probes
// found, which containers to kill, which to start now, or whether all is over.
// It is a pure function; sync carries it out and plans again until nothing is left.

// plan is what a pass has to do.
type plan struct {
	sandbox bool // make (or replace) the sandbox; nothing else is planned then
	changed bool // there was one already
	kill    []kill
	start   []specContainer
	end     bool // nothing is left to run: stop what still does (sidecars) and the sandbox
}

// kill is a running container that has to end, and why.
type kill struct {
	id      string
	c       specContainer
	message string // of the Killing event; "" for the usual one
	grace   *int64 // of the failed probe, when it has its own
}

// planInput is what a plan is made from.
type planInput struct {
	pod     *corev1.Pod
	sandbox *Sandbox
	probes  func(id string, kind probeKind) (verdict, *corev1.Probe)
}

// makePlan decides on one pass.
func makePlan(in planInput) plan {
	var p plan
	s := in.sandbox
	if s == nil || !s.Ready {
		if s != nil && !worthNewSandbox(in.pod, s) {
			return plan{end: true}
		}
		return plan{sandbox: true, changed: s != nil}
	}
	for i := range in.pod.Spec.EphemeralContainers {
		c := corev1.Container(in.pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		if s.latest(c.Name) == nil {
			p.start = append(p.start, specContainer{&c, ephemeralContainer})
		}
	}
	if !planInit(in, &p) {
		return p
	}
	planMain(in, &p)
	return p
}

// worthNewSandbox says whether a pod whose sandbox died has anything left to run.
func worthNewSandbox(pod *corev1.Pod, s *Sandbox) bool {
	if len(s.Containers) == 0 {
		return true
	}
	started := false
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		last := s.latest(c.Name)
		if last != nil {
			started = true
		}
		// One that still runs lost its network with the sandbox: it has to be killed.
		if wantsStart(c, pod, last) || last.State == StateRunning && mayRestartRunning(c, pod) {
			return true
		}
	}
	return !started
}

// mainStarted says whether a main container has run in this sandbox: then the pod is initialized, whatever became
// of its init containers.
func mainStarted(pod *corev1.Pod, s *Sandbox) bool {
	for i := range pod.Spec.Containers {
		if s.active(pod.Spec.Containers[i].Name) != nil {
			return true
		}
	}
	return false
}

// planInit walks the init containers in order up to the first that is not done,
// and says whether the main containers may run.
func planInit(in planInput, p *plan) bool {
	s, pod := in.sandbox, in.pod
	initialized := mainStarted(pod, s)
	for i := range pod.Spec.InitContainers {
		c := specContainer{&pod.Spec.InitContainers[i], initContainer}
		last := s.active(c.Name)
		if isSidecar(c.Container) {
			if done := planSidecar(in, p, c, last); !done && !initialized {
				return false
			}
			continue
		}
		if initialized {
			continue
		}
		switch {
		case last == nil, last.State == StateCreated:
			p.start = append(p.start, c)
			return false
		case last.State == StateRunning:
			return false
		case last.ExitCode != 0:
			if !restartsAfter(c.Container, pod, last.ExitCode) {
				*p = plan{end: true}
				return false
			}
			p.start = append(p.start, c)
			return false
		}
	}
	return true
}

// planSidecar keeps a sidecar running, and says whether it has started up.
func planSidecar(in planInput, p *plan, c specContainer, last *Container) bool {
	if last == nil || last.State != StateRunning {
		p.start = append(p.start, c)
		return false
	}
	if last.SpecHash != "" && last.SpecHash != specHash(c.Container) {
		p.replace(kill{last.ID, c, fmt.Sprintf("Init container %s definition changed", c.Name), nil})
		return false
	}
	if v, probe := in.probes(last.ID, startupProbe); v == failing {
		p.replace(kill{last.ID, c, fmt.Sprintf("Init container %s failed startup probe", c.Name), probe.TerminationGracePeriodSeconds})
		return false
	} else if v == unknown {
		return false
	}
	if v, probe := in.probes(last.ID, livenessProbe); v == failing {
		p.replace(kill{last.ID, c, fmt.Sprintf("Init container %s failed liveness probe", c.Name), probe.TerminationGracePeriodSeconds})
	}
	return true
}

// replace kills a sidecar and starts it again.
func (p *plan) replace(x kill) {
	p.kill = append(p.kill, x)
	p.start = append(p.start, x.c)
}

// planMain keeps the main containers running, and ends the pod when none is left to run.
func planMain(in planInput, p *plan) {
	keep := 0
	var start []specContainer
	for i := range in.pod.Spec.Containers {
		c := specContainer{&in.pod.Spec.Containers[i], mainContainer}
		last := in.sandbox.latest(c.Name)
		if last == nil || last.State != StateRunning {
			if wantsStart(c.Container, in.pod, last) {
				start = append(start, c)
			}
			continue
		}
		message, restart, grace := unwanted(in, c, last)
		if message == "" {
			keep++
			continue
		}
		if restart {
			message += ", will be restarted"
			start = append(start, c) // whatever its restart policy says
		}
		p.kill = append(p.kill, kill{last.ID, c, message, grace})
	}
	if keep == 0 && len(start) == 0 {
		// Sidecars do not keep a pod alive, and are not started again.
		*p = plan{end: true}
		return
	}
	p.start = append(p.start, start...)
}

// unwanted says why a running main container has to be killed ("" when it may
// stay) and whether it comes back.
func unwanted(in planInput, c specContainer, last *Container) (message string, restart bool, grace *int64) {
	if last.SpecHash != "" && last.SpecHash != specHash(c.Container) {
		return fmt.Sprintf("Container %s definition changed", c.Name), true, nil
	}
	restart = mayRestartRunning(c.Container, in.pod)
	if v, probe := in.probes(last.ID, livenessProbe); v == failing {
		return fmt.Sprintf("Container %s failed liveness probe", c.Name), restart, probe.TerminationGracePeriodSeconds
	}
	if v, probe := in.probes(last.ID, startupProbe); v == failing {
		return fmt.Sprintf("Container %s failed startup probe", c.Name), restart, probe.TerminationGracePeriodSeconds
	}
	return "", false, nil
}
