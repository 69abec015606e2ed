package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Probes and lifecycle hooks: one action each, of the kinds that either may have.

// action is what a probe and a hook have in common.
type action struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func (c *podCheck) checkProbes(ctr *corev1.Container, path *field.Path) {
	live, ready, start := path.Child("livenessProbe"), path.Child("readinessProbe"), path.Child("startupProbe")
	if p := ctr.LivenessProbe; p != nil {
		c.checkProbe(p, live)
		c.oneSuccess(p, live)
	}
	if p := ctr.ReadinessProbe; p != nil {
		c.checkProbe(p, ready)
		if p.TerminationGracePeriodSeconds != nil {
			c.invalid(ready.Child("terminationGracePeriodSeconds"), p.TerminationGracePeriodSeconds, "must not be set for readinessProbes")
		}
	}
	if p := ctr.StartupProbe; p != nil {
		c.checkProbe(p, start)
		c.oneSuccess(p, start)
	}
}

func (c *podCheck) oneSuccess(p *corev1.Probe, path *field.Path) {
	if p.SuccessThreshold != 1 {
		c.invalid(path.Child("successThreshold"), p.SuccessThreshold, "must be 1")
	}
}

func (c *podCheck) checkProbe(p *corev1.Probe, path *field.Path) {
	c.checkAction(action{exec: p.Exec, http: p.HTTPGet, tcp: p.TCPSocket, grpc: p.GRPC}, path)
	c.nonNegative(path.Child("initialDelaySeconds"), int64(p.InitialDelaySeconds))
	c.nonNegative(path.Child("timeoutSeconds"), int64(p.TimeoutSeconds))
	c.nonNegative(path.Child("periodSeconds"), int64(p.PeriodSeconds))
	c.nonNegative(path.Child("successThreshold"), int64(p.SuccessThreshold))
	c.nonNegative(path.Child("failureThreshold"), int64(p.FailureThreshold))
	if g := p.TerminationGracePeriodSeconds; g != nil && *g <= 0 {
		c.invalid(path.Child("terminationGracePeriodSeconds"), *g, "must be greater than 0")
	}
}

func (c *podCheck) checkLifecycle(l *corev1.Lifecycle, path *field.Path) {
	if l == nil {
		return
	}
	for _, h := range []struct {
		name string
		hook *corev1.LifecycleHandler
	}{{"postStart", l.PostStart}, {"preStop", l.PreStop}} {
		if h.hook != nil {
			c.checkAction(action{exec: h.hook.Exec, http: h.hook.HTTPGet, tcp: h.hook.TCPSocket, sleep: h.hook.Sleep}, path.Child(h.name))
		}
	}
}

func (c *podCheck) checkAction(a action, path *field.Path) {
	count := 0
	// only says whether an action is the first, and refuses it otherwise.
	only := func(name string) bool {
		count++
		if count > 1 {
			c.forbidden(path.Child(name), "may not specify more than 1 handler type")
		}
		return count == 1
	}
	if a.exec != nil && only("exec") && len(a.exec.Command) == 0 {
		c.required(path.Child("exec", "command"), "")
	}
	if a.http != nil && only("httpGet") {
		c.checkHTTPGet(a.http, path.Child("httpGet"))
	}
	if a.tcp != nil && only("tcpSocket") {
		c.portOrName(a.tcp.Port, path.Child("tcpSocket", "port"))
	}
	if a.grpc != nil && only("grpc") {
		c.portOrName(intstr.FromInt32(a.grpc.Port), path.Child("grpc", "port"))
	}
	if a.sleep != nil && only("sleep") {
		if grace := c.spec.TerminationGracePeriodSeconds; grace != nil && (a.sleep.Seconds < 0 || a.sleep.Seconds > *grace) {
			c.invalid(path.Child("sleep"), a.sleep.Seconds, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
		}
	}
	if count == 0 {
		c.required(path, "must specify a handler type")
	}
}

func (c *podCheck) checkHTTPGet(h *corev1.HTTPGetAction, path *field.Path) {
	if h.Path == "" {
		c.required(path.Child("path"), "")
	}
	c.portOrName(h.Port, path.Child("port"))
	oneOf(&c.faults, path.Child("scheme"), h.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)
	for _, header := range h.HTTPHeaders {
		c.invalids(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))
	}
}

func (f *faults) portOrName(port intstr.IntOrString, path *field.Path) {
	if port.Type == intstr.String {
		f.invalids(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	} else {
		f.invalids(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	}
}
