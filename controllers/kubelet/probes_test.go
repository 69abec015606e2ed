package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kuberow/controllers/kubelet"
)

func execProbe(command string, edit ...func(*corev1.Probe)) *corev1.Probe {
	p := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{command}}},
		PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3}
	for _, e := range edit {
		e(p)
	}
	return p
}

// setExec says how commands end: the named ones fail.
func (f *fakeRuntime) setExec(failing ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exec = func(command []string) error {
		if slices.Contains(failing, command[0]) {
			return &kubelet.ExitError{Code: 1}
		}
		return nil
	}
}

// A readiness probe makes and unmakes a container ready, after as many failures as its threshold says.
func TestReadinessProbe(t *testing.T) {
	w, f := withFake(t)
	f.setExec("ready")
	w.put(pods, newPod("r", func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = execProbe("ready") }))
	w.rest("r")
	if w.ready("r") || w.phase("r") != corev1.PodRunning {
		t.Fatalf("phase %s, ready %v before the probe passed", w.phase("r"), w.ready("r"))
	}
	if !w.told("Warning Unhealthy Readiness probe failed: output") {
		t.Errorf("events %q", w.events)
	}
	f.setExec()
	w.pass("r", 10*time.Second)
	if !w.ready("r") {
		t.Fatal("not ready after the probe passed")
	}
	f.setExec("ready")
	w.pass("r", 20*time.Second)
	if !w.ready("r") {
		t.Error("not ready after two failures of three")
	}
	w.pass("r", 10*time.Second)
	if w.ready("r") {
		t.Error("ready after three failures")
	}
}

// A liveness probe that fails kills the container, with a grace period of its own, and it comes back.
func TestLivenessProbe(t *testing.T) {
	w, f := withFake(t)
	grace := int64(3)
	w.put(pods, newPod("l", func(p *corev1.Pod) {
		p.Spec.Containers[0].LivenessProbe = execProbe("live", func(p *corev1.Probe) {
			p.InitialDelaySeconds, p.FailureThreshold, p.TerminationGracePeriodSeconds = 5, 1, &grace
		})
	}))
	w.rest("l")
	if !w.ready("l") {
		t.Fatal("not ready before the first probe")
	}
	if calls := f.did(); slices.Contains(calls, "exec [live]") {
		t.Errorf("probed before the initial delay: %q", calls)
	}
	f.setExec("live")
	w.pass("l", 5*time.Second)
	if !w.told("Normal Killing Container c failed liveness probe, will be restarted") || !w.told("Warning Unhealthy Liveness probe failed: output") {
		t.Errorf("events %q", w.events)
	}
	if calls := f.did(); !slices.Contains(calls, "stop c within 3s") {
		t.Errorf("calls %q", calls)
	}
	st := w.pod("l").Status.ContainerStatuses[0]
	if st.RestartCount != 1 || st.State.Running == nil || st.LastTerminationState.Terminated == nil {
		t.Errorf("status %+v", st)
	}
}

// Until the startup probe passes, nothing else is probed and the container has not started.
func TestStartupProbe(t *testing.T) {
	w, f := withFake(t)
	f.setExec("up")
	w.put(pods, newPod("s", func(p *corev1.Pod) {
		p.Spec.Containers[0].StartupProbe = execProbe("up", func(p *corev1.Probe) { p.PeriodSeconds = 2; p.FailureThreshold = 30 })
		p.Spec.Containers[0].ReadinessProbe = execProbe("ready")
	}))
	w.rest("s")
	w.pass("s", 6*time.Second)
	if st := w.pod("s").Status.ContainerStatuses[0]; *st.Started || st.Ready {
		t.Errorf("started %v, ready %v", *st.Started, st.Ready)
	}
	if slices.Contains(f.did(), "exec [ready]") {
		t.Error("readiness was probed before startup passed")
	}
	f.setExec()
	w.pass("s", 2*time.Second)
	w.pass("s", time.Second)
	if st := w.pod("s").Status.ContainerStatuses[0]; !*st.Started || !st.Ready {
		t.Errorf("started %v, ready %v", *st.Started, st.Ready)
	}
}

// A sidecar's startup probe gates what comes after it.
func TestSidecarGates(t *testing.T) {
	w, f := withFake(t)
	f.setExec("up")
	w.put(pods, newPod("s", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "x:1", RestartPolicy: &always,
			StartupProbe: execProbe("up", func(p *corev1.Probe) { p.PeriodSeconds = 1; p.FailureThreshold = 30 })}}
	}))
	w.rest("s")
	w.pass("s", 3*time.Second)
	if calls := f.did(); slices.Contains(calls, "start c") {
		t.Fatalf("calls %q", calls)
	}
	f.setExec()
	w.pass("s", 2*time.Second)
	w.until("s", "ready", func() bool { return w.ready("s") })
}

// Probes over the network reach the pod through the runtime.
func TestNetworkProbes(t *testing.T) {
	status := 200
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || r.Header.Get("X-Y") != "z" || r.UserAgent() != "kube-probe/1.37" {
			rw.WriteHeader(400)
			return
		}
		rw.WriteHeader(status)
	}))
	defer web.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	checks := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, checks)
	go server.Serve(listener)
	defer server.Stop()

	named := corev1.ContainerPort{Name: "web", ContainerPort: 8080}
	for _, c := range []struct {
		name, addr, failure string
		handler             corev1.ProbeHandler
		fail                func()
	}{
		{"http", web.Listener.Addr().String(), "Readiness probe failed: HTTP probe failed with statuscode: 500",
			corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("web"), HTTPHeaders: []corev1.HTTPHeader{{Name: "X-Y", Value: "z"}}}},
			func() { status = 500 }},
		{"tcp", web.Listener.Addr().String(), "Readiness probe failed: dial tcp 10.0.0.1:8080: connection refused",
			corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(8080)}}, nil},
		{"grpc", listener.Addr().String(), `Readiness probe failed: service unhealthy (responded with "NOT_SERVING")`,
			corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 8080}},
			func() { checks.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, f := withFake(t)
			f.answer = func() (net.Conn, error) { return net.Dial("tcp", c.addr) }
			w.put(pods, newPod("n", func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{named}
				p.Spec.Containers[0].ReadinessProbe = execProbe("", func(p *corev1.Probe) { p.ProbeHandler, p.FailureThreshold = c.handler, 1 })
			}))
			w.until("n", "ready", func() bool { return w.ready("n") })
			if c.fail != nil {
				c.fail()
			} else {
				f.mu.Lock()
				f.answer = nil
				f.mu.Unlock()
			}
			w.pass("n", 10*time.Second)
			w.until("n", "failed probe", func() bool { return !w.ready("n") })
			if !w.told("Warning Unhealthy " + c.failure) {
				t.Errorf("events %q", w.events)
			}
		})
	}
}

// postStart's failure kills the container; preStop runs before the stop and its time counts.
func TestHooks(t *testing.T) {
	w, f := withFake(t)
	f.setExec("after-start")
	hook := func(command string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{command}}}
	}
	w.put(pods, newPod("bad", func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook("after-start")}
	}))
	w.until("bad", "killing", func() bool { return w.told("Normal Killing FailedPostStartHook") })
	if !w.told("Warning FailedPostStartHook PostStartHook failed") {
		t.Errorf("events %q", w.events)
	}
	w.put(pods, newPod("good", func(p *corev1.Pod) {
		p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: hook("ok"), PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 4}}}
	}))
	w.until("good", "ready", func() bool { return w.ready("good") })
	f.did()
	w.remove("good", 10)
	w.settle("good")
	w.until("good", "timers of the hook and of the grace period", func() bool { return w.clock.Waiters() == 2 })
	w.clock.Step(4 * time.Second)
	w.until("good", "stop with what the hook left of the grace period", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.calls, "stop c within 6s")
	})
	w.until("good", "end", func() bool { return w.pod("good") == nil })
}

// Logs find the attempt that is meant, or say in upstream's words why there is none.
func TestLogs(t *testing.T) {
	w, f := withFake(t)
	f.images = map[string]bool{}
	f.pullErr = errors.New("no")
	w.put(pods, newPod("l"))
	w.until("l", "pull error", func() bool { return w.reason("l") == "ErrImagePull" })
	log := func(previous bool) string {
		var out strings.Builder
		if err := w.k.Logs(context.Background(), w.pod("l"), &corev1.PodLogOptions{Container: "c", Previous: previous}, &out); err != nil {
			return err.Error()
		}
		return out.String()
	}
	w.rest("l")
	got := []string{log(false), log(true)}
	f.mu.Lock()
	f.pullErr = nil
	f.mu.Unlock()
	w.pass("l", 15*time.Second)
	got = append(got, log(false))
	f.exit(t, "l", "c", 1)
	w.until("l", "restart", func() bool { return w.pod("l").Status.ContainerStatuses[0].RestartCount == 1 })
	got = append(got, log(false), log(true))
	want := []string{
		`container "c" in pod "l" is waiting to start: image can't be pulled`,
		`previous terminated container "c" in pod "l" not found`,
		"log of fake://l-c-0", "log of fake://l-c-1", "log of fake://l-c-0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("logs (-want +got):\n%s", d)
	}
	err := w.k.Exec(context.Background(), newPod("none"), "c", nil, streamsOf())
	if fmt.Sprint(err) != `container not found ("c")` {
		t.Errorf("exec: %v", err)
	}
}

// An ephemeral container starts in a running pod, and is never started again.
func TestEphemeral(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("e"))
	w.until("e", "ready", func() bool { return w.ready("e") })
	w.edit("e", func(p *corev1.Pod) {
		p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{TargetContainerName: "c",
			EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "x:1"}}}
	})
	w.until("e", "ephemeral container", func() bool {
		s := w.pod("e").Status.EphemeralContainerStatuses
		return len(s) == 1 && s[0].State.Running != nil
	})
	if got := f.config("debug").Target; got != "fake://e-c-0" {
		t.Errorf("target %q", got)
	}
	f.exit(t, "e", "debug", 3)
	w.until("e", "its end", func() bool { return w.pod("e").Status.EphemeralContainerStatuses[0].State.Terminated != nil })
	w.rest("e")
	if !w.ready("e") || w.pod("e").Status.EphemeralContainerStatuses[0].RestartCount != 0 {
		t.Errorf("status %+v", w.pod("e").Status)
	}
}
