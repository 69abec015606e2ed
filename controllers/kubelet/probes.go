package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// When probes run and what their results mean. There is a state for each probe
// of each running container. It says when the probe is due; whoever looks at the
// pod then (a Step, or a sync) runs it, a real one in a goroutine of its own that
// wakes the pod when the verdict changed. Liveness and readiness wait for startup.

type probeKind string

const (
	startupProbe   probeKind = "Startup"
	livenessProbe  probeKind = "Liveness"
	readinessProbe probeKind = "Readiness"
)

var probeKinds = []probeKind{startupProbe, livenessProbe, readinessProbe}

// verdict is what a probe says of its container.
type verdict string

const (
	unknown verdict = "unknown" // it has not said anything
	adopted verdict = "adopted" // the same, but the container ran before this kubelet did: the old status holds
	passing verdict = "passing"
	failing verdict = "failing"
)

type probeKey struct {
	id   string // of the container's attempt
	kind probeKind
}

// probeState is one probe of one attempt.
type probeState struct {
	spec    *corev1.Probe
	verdict verdict
	last    bool // the last result
	run     int  // how often in a row
	due     time.Time
	busy    bool // a goroutine runs it
	held    bool // it has said all it will say of this attempt
}

// probeSpec finds the probe of a container. A simulated pod that is to become
// ready late has a readiness probe even when its spec has none.
func (w *worker) probeSpec(c *corev1.Container, kind probeKind) *corev1.Probe {
	switch kind {
	case startupProbe:
		return c.StartupProbe
	case livenessProbe:
		return c.LivenessProbe
	}
	if c.ReadinessProbe == nil && w.sim != nil && w.sim.ReadyDelayed(w.pod, c) {
		return &corev1.Probe{PeriodSeconds: 1}
	}
	return c.ReadinessProbe
}

// verdict says what a probe found; a container without it passes. Called with mu held.
func (w *worker) verdict(id string, kind probeKind) (verdict, *corev1.Probe) {
	if p := w.probes[probeKey{id, kind}]; p != nil {
		return p.verdict, p.spec
	}
	if w.sandbox != nil && w.pod != nil {
		for i := range w.sandbox.Containers {
			if r := &w.sandbox.Containers[i]; r.ID == id {
				if c, ok := findContainer(w.pod, r.Name); ok && w.probeSpec(c.Container, kind) != nil && c.kind != ephemeralContainer {
					return unknown, w.probeSpec(c.Container, kind)
				}
			}
		}
	}
	return passing, nil
}

// initialVerdict is what holds before the first result.
func (k *Kubelet) initialVerdict(kind probeKind, c *Container) verdict {
	switch {
	case kind == livenessProbe:
		return passing
	case c.Started.Before(k.started.Add(-10 * time.Second)):
		return adopted
	}
	return unknown
}

// probe starts what is due, and says when the next is, zero when a result will.
func (k *Kubelet) probe(w *worker) (next time.Time) {
	if !k.up.Load() {
		return next
	}
	now := k.Clock.Now()
	w.mu.Lock()
	if w.pod == nil || w.sandbox == nil || w.stopped || !w.hasProbes() {
		w.mu.Unlock()
		return next
	}
	pod, running := w.pod, w.sandbox.running()
	w.mu.Unlock()
	for _, r := range running {
		c, ok := findContainer(pod, r.Name)
		if !ok || c.kind == ephemeralContainer || c.kind == initContainer && !isSidecar(c.Container) {
			continue
		}
		for _, kind := range probeKinds {
			w.mu.Lock()
			spec := w.probeSpec(c.Container, kind)
			w.mu.Unlock()
			if spec == nil {
				continue
			}
			if due := k.probeOne(w, pod, c, r, kind, spec, now); !due.IsZero() && (next.IsZero() || due.Before(next)) {
				next = due
			}
		}
	}
	return next
}

// hasProbes says whether there is anything to ask. Called with mu held.
func (w *worker) hasProbes() bool {
	for _, list := range [][]corev1.Container{w.pod.Spec.Containers, w.pod.Spec.InitContainers} {
		for i := range list {
			for _, kind := range probeKinds {
				if w.probeSpec(&list[i], kind) != nil {
					return true
				}
			}
		}
	}
	return false
}

// probeOne runs one probe when it is its time, and says when that is otherwise.
func (k *Kubelet) probeOne(w *worker, pod *corev1.Pod, c specContainer, r *Container, kind probeKind, spec *corev1.Probe, now time.Time) (due time.Time) {
	w.mu.Lock()
	key := probeKey{r.ID, kind}
	p := w.probes[key]
	if p == nil {
		p = &probeState{spec: spec, verdict: k.initialVerdict(kind, r), due: r.Started.Add(time.Duration(spec.InitialDelaySeconds) * time.Second)}
		w.probes[key] = p
	}
	startup, _ := w.verdict(r.ID, startupProbe)
	waits := kind != startupProbe && startup != passing && startup != adopted // its result brings us here again
	ending := pod.DeletionTimestamp != nil && kind != readinessProbe
	if p.busy || p.held || w.stopped || ending || waits {
		w.mu.Unlock()
		return due
	}
	if p.due.After(now) {
		defer w.mu.Unlock()
		return p.due
	}
	p.busy = true
	w.mu.Unlock()
	if k.sim != nil {
		failure, until := k.sim.Probe(pod, c.Container, string(kind), r.Started)
		k.probed(w, pod, c, key, p, probeResult{ok: failure == "", output: failure})
		return k.settle(w, p, until)
	}
	k.spawn(func() {
		k.probed(w, pod, c, key, p, k.runProbe(k.ctx, w, pod, c, r.ID, spec))
	})
	return due
}

// settle lets a simulated probe that passes rest until its answer may change, and says until when.
func (k *Kubelet) settle(w *worker, p *probeState, until time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.verdict == passing && until.IsZero() {
		p.held = true
	}
	if p.verdict == passing {
		p.due = later(p.due, until)
	}
	if p.held {
		return time.Time{}
	}
	return p.due
}

// probeResult is one answer.
type probeResult struct {
	ok      bool
	output  string
	err     error // the probe could not be made: no result
	warning bool  // ok, but the output should be seen
}

// probed counts a result against the thresholds.
func (k *Kubelet) probed(w *worker, pod *corev1.Pod, c specContainer, key probeKey, p *probeState, r probeResult) {
	k.probeEvent(pod, c, key.kind, r)
	w.mu.Lock()
	p.busy = false
	period := time.Duration(max(p.spec.PeriodSeconds, 1)) * time.Second
	p.due = k.Clock.Now().Add(period)
	if w.probes[key] != p || r.err != nil {
		w.mu.Unlock()
		if k.sim == nil {
			k.Wake(w.key)
		}
		return
	}
	if p.run > 0 && p.last == r.ok {
		p.run++
	} else {
		p.last, p.run = r.ok, 1
	}
	old := p.verdict
	if r.ok && p.run >= int(max(p.spec.SuccessThreshold, 1)) {
		p.verdict = passing
		p.held = key.kind == startupProbe
	}
	if !r.ok && p.run >= int(max(p.spec.FailureThreshold, 1)) {
		p.verdict = failing
		p.held = key.kind != readinessProbe
	}
	news := p.verdict != old
	w.mu.Unlock()
	if k.sim != nil {
		return
	}
	if news && key.kind != readinessProbe {
		k.kick(w) // a failed one is to be killed, a started sidecar lets the next container start
	}
	k.Wake(w.key)
}

// probeEvent says what went wrong.
func (k *Kubelet) probeEvent(pod *corev1.Pod, c specContainer, kind probeKind, r probeResult) {
	path := c.fieldPath()
	switch {
	case r.err != nil:
		k.event(pod, path, corev1.EventTypeWarning, "Unhealthy", string(kind)+" probe errored and resulted in unknown state: "+r.err.Error())
	case r.warning:
		k.event(pod, path, corev1.EventTypeWarning, "ProbeWarning", string(kind)+" probe warning: "+r.output)
	case !r.ok:
		k.event(pod, path, corev1.EventTypeWarning, "Unhealthy", string(kind)+" probe failed: "+r.output)
	}
}
