package simulated

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The annotations that script a pod; doc.go explains them. A value that cannot
// be read counts as not given: the simulation of a pod must not stop it.
const (
	prefix          = "kuberow.dev/simulate-"
	StartDelay      = prefix + "start-delay"
	ReadyDelay      = prefix + "ready-delay"
	ExitAfter       = prefix + "exit-after"
	ExitCode        = prefix + "exit-code"
	ExitReason      = prefix + "exit-reason"
	ExitTimes       = prefix + "exit-times"
	ProbeFailsAfter = prefix + "probe-fails-after"
)

// shortMoment is how long a container runs that is expected to end.
const shortMoment = time.Second

// script reads an annotation of a container.
func script(pod *corev1.Pod, c, name string) (string, bool) {
	if v, ok := pod.Annotations[name+"."+c]; ok {
		return v, true
	}
	if isInit(pod, c) {
		return "", false
	}
	v, ok := pod.Annotations[name]
	return v, ok
}

func scriptTime(pod *corev1.Pod, c, name string) (time.Duration, bool) {
	v, ok := script(pod, c, name)
	if !ok {
		return 0, false
	}
	d, err := time.ParseDuration(v)
	return d, err == nil
}

func scriptNumber(pod *corev1.Pod, c, name string) (int, bool) {
	v, ok := script(pod, c, name)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(v)
	return n, err == nil
}

func isInit(pod *corev1.Pod, name string) bool {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return true
		}
	}
	return false
}

// runsOnce says whether a container is expected to end: a plain init container, or one of a Job.
func runsOnce(pod *corev1.Pod, name string) (once bool, after time.Duration) {
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.Name == name {
			return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways, 0
		}
	}
	for _, o := range pod.OwnerReferences {
		if o.Kind == "Job" && o.Controller != nil && *o.Controller {
			return true, shortMoment
		}
	}
	return false, 0
}

// startDelay is when the pod may start.
func startDelay(pod *corev1.Pod) time.Time {
	d, err := time.ParseDuration(pod.Annotations[StartDelay])
	if err != nil {
		return time.Time{}
	}
	from := pod.CreationTimestamp.Time
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue {
			from = c.LastTransitionTime.Time
		}
	}
	return from.Add(d)
}

// plan decides when and how a container that has just started ends.
func (c *container) plan(pod *corev1.Pod) {
	once, after := runsOnce(pod, c.Name)
	d, timed := scriptTime(pod, c.Name, ExitAfter)
	code, coded := scriptNumber(pod, c.Name, ExitCode)
	switch {
	case timed:
		after = d
	case coded && !once:
		after = shortMoment
	case !once:
		return
	}
	if times, ok := scriptNumber(pod, c.Name, ExitTimes); ok && c.Attempt >= times {
		return
	}
	c.end = c.Started.Add(after)
	c.code = int32(code)
	c.reason, _ = script(pod, c.Name, ExitReason)
}

// ReadyDelayed says whether a container is scripted to be ready late or not for ever.
func (r *Runtime) ReadyDelayed(pod *corev1.Pod, c *corev1.Container) bool {
	if len(pod.Annotations) == 0 {
		return false
	}
	_, late := scriptTime(pod, c.Name, ReadyDelay)
	_, fails := scriptTime(pod, c.Name, ProbeFailsAfter)
	return late || fails
}

// Probe answers as scripted: success, but for the time before ready-delay and after probe-fails-after.
func (r *Runtime) Probe(pod *corev1.Pod, c *corev1.Container, kind string, started time.Time) (failure string, until time.Time) {
	now := r.clock.Now()
	if d, ok := scriptTime(pod, c.Name, ReadyDelay); ok && kind == "Readiness" {
		if at := started.Add(d); now.Before(at) {
			return "simulated: not ready for another " + at.Sub(now).Round(time.Second).String(), at
		}
	}
	if d, ok := scriptTime(pod, c.Name, ProbeFailsAfter); ok && kind != "Startup" {
		at := started.Add(d)
		if now.Before(at) {
			return "", at
		}
		return "simulated: fails since " + now.Sub(at).Round(time.Second).String(), time.Time{}
	}
	return "", time.Time{}
}
