package kubelet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers/kubelet/simulated"
)

func simulator(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	r, err := simulated.New(w.clock, "")
	if err != nil {
		t.Fatal(err)
	}
	w.start(r)
	return w
}

// A simulated pod goes from bound to running and ready with one write.
func TestSimulatedOneWrite(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("a"))
	if n := w.step("a"); n != 1 {
		t.Fatalf("%d writes, want 1", n)
	}
	p := w.pod("a")
	if p.Status.Phase != corev1.PodRunning || condition(p, corev1.PodReady) != "True  " {
		t.Errorf("phase %s, ready %q", p.Status.Phase, condition(p, corev1.PodReady))
	}
	if p.Status.PodIP != "10.244.0.2" || p.Status.HostIP != "192.0.2.1" || !p.Status.StartTime.Equal(&metav1.Time{Time: start}) {
		t.Errorf("pod IP %s, host IP %s, start %v", p.Status.PodIP, p.Status.HostIP, p.Status.StartTime)
	}
	if n := w.step("a"); n != 0 {
		t.Errorf("%d writes although nothing changed: %q", n, w.writes)
	}
	want := []string{
		`Normal Pulled Container image "nginx:1" already present on machine and can be accessed by the pod`,
		"Normal Created Container created",
		"Normal Started Container started",
	}
	if d := cmp.Diff(want, w.events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	if len(w.again) != 0 {
		t.Errorf("asked to be called again at %v", w.again)
	}
}

// A pod that a Job owns ends after a moment with success.
func TestSimulatedJobPod(t *testing.T) {
	w := simulator(t)
	yes := true
	w.put(pods, newPod("j", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j", Controller: &yes}}
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}))
	w.settle("j")
	if got := w.pod("j").Status.Phase; got != corev1.PodRunning {
		t.Fatalf("phase %s before its end", got)
	}
	w.pass("j", 2*time.Second)
	p := w.pod("j")
	if p.Status.Phase != corev1.PodSucceeded || condition(p, corev1.PodReady) != "False PodCompleted " {
		t.Errorf("phase %s, ready %q", p.Status.Phase, condition(p, corev1.PodReady))
	}
	end := p.Status.ContainerStatuses[0].State.Terminated
	if end == nil || end.ExitCode != 0 || end.Reason != "Completed" || !end.FinishedAt.Time.Equal(start.Add(time.Second)) {
		t.Errorf("terminated %+v", end)
	}
}

// A crash loop: restarted at once, then after 10 s, then after 20.
func TestSimulatedCrashLoop(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("c", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.ExitCode: "3"} }))
	w.settle("c")
	w.pass("c", time.Second)
	st := w.pod("c").Status.ContainerStatuses[0]
	if st.RestartCount != 1 || st.State.Running == nil || st.LastTerminationState.Terminated.ExitCode != 3 {
		t.Fatalf("after the first crash: %+v", st)
	}
	w.pass("c", time.Second)
	p := w.pod("c")
	st = p.Status.ContainerStatuses[0]
	if st.State.Waiting == nil || st.State.Waiting.Reason != "CrashLoopBackOff" ||
		st.State.Waiting.Message != "back-off 10s restarting failed container=c pod=c_default(c-uid)" || st.RestartCount != 1 {
		t.Fatalf("after the second crash: %+v", st.State.Waiting)
	}
	if p.Status.Phase != corev1.PodRunning {
		t.Errorf("phase %s in the back-off", p.Status.Phase)
	}
	if !w.told("Warning BackOff Back-off restarting failed container c in pod c_default(c-uid)") {
		t.Errorf("events %q", w.events)
	}
	w.pass("c", 10*time.Second)
	if st = w.pod("c").Status.ContainerStatuses[0]; st.RestartCount != 2 || st.State.Running == nil {
		t.Fatalf("after the back-off: %+v", st)
	}
	w.pass("c", time.Second)
	if m := w.pod("c").Status.ContainerStatuses[0].State.Waiting.Message; m != "back-off 20s restarting failed container=c pod=c_default(c-uid)" {
		t.Errorf("third back-off: %s", m)
	}
}

// ready-delay holds readiness back, with one write when it comes.
func TestSimulatedReadyDelay(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("r", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.ReadyDelay: "5s"} }))
	w.settle("r")
	p := w.pod("r")
	if p.Status.Phase != corev1.PodRunning || condition(p, corev1.ContainersReady) != "False ContainersNotReady containers with unready status: [c]" {
		t.Fatalf("phase %s, %s", p.Status.Phase, condition(p, corev1.ContainersReady))
	}
	w.pass("r", 5*time.Second)
	if got := condition(w.pod("r"), corev1.PodReady); got != "True  " {
		t.Errorf("ready %q after the delay", got)
	}
	if len(w.writes) != 2 {
		t.Errorf("writes %q, want two", w.writes)
	}
}

// A start delay keeps the pod pending, with a status that says so.
func TestSimulatedStartDelay(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("s", func(p *corev1.Pod) { p.Annotations = map[string]string{simulated.StartDelay: "5s"} }))
	w.settle("s")
	p := w.pod("s")
	if p.Status.Phase != corev1.PodPending || p.Status.ContainerStatuses[0].State.Waiting.Reason != "ContainerCreating" ||
		condition(p, corev1.PodReadyToStartContainers) != "False PodSandboxNotReady no pod sandbox exists" {
		t.Fatalf("status %+v", p.Status)
	}
	w.pass("s", 5*time.Second)
	if got := w.pod("s").Status.Phase; got != corev1.PodRunning {
		t.Errorf("phase %s after the delay", got)
	}
}

// A deleted pod is stopped, told to have ended, and removed from the API.
func TestSimulatedDelete(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("d"))
	w.settle("d")
	w.remove("d", 30)
	w.settle("d")
	if p := w.pod("d"); p != nil {
		t.Fatalf("still there: %+v", p.Status)
	}
	want := []string{"mutate status d", "mutate status d", "delete  d"}
	if d := cmp.Diff(want, w.writes); d != "" {
		t.Errorf("writes (-want +got):\n%s", d)
	}
	if !w.told("Normal Killing Stopping container c") {
		t.Errorf("events %q", w.events)
	}
}

// After a restart of the server the same containers go on, with the same addresses.
func TestSimulatedAdoption(t *testing.T) {
	w := simulator(t)
	w.put(pods, newPod("a", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "busybox:1"}}
		p.Annotations = map[string]string{simulated.ExitTimes: "1", simulated.ExitCode: "1"}
	}))
	w.settle("a")
	w.pass("a", time.Minute)
	before := w.pod("a")
	if before.Status.ContainerStatuses[0].RestartCount != 1 {
		t.Fatalf("status %+v", before.Status.ContainerStatuses)
	}
	w.k.Stop()
	r, err := simulated.New(w.clock, "")
	if err != nil {
		t.Fatal(err)
	}
	w.events = nil
	w.start(r)
	w.settle("a")
	if d := cmp.Diff(before.Status, w.pod("a").Status); d != "" {
		t.Errorf("status changed (-before +after):\n%s", d)
	}
	if len(w.events) != 0 {
		t.Errorf("events after the restart: %q", w.events)
	}
	w.put(pods, newPod("b"))
	w.settle("b")
	if a, b := w.pod("a").Status.PodIP, w.pod("b").Status.PodIP; a == b {
		t.Errorf("both pods have the address %s", a)
	}
}

func BenchmarkSimulatedPod(b *testing.B) {
	t := &testing.T{}
	w := simulator(t)
	b.Cleanup(w.k.Stop)
	names := make([]string, b.N)
	for i := range names {
		names[i] = "p" + time.Duration(i).String()
		w.put(pods, newPod(names[i]))
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, n := range names {
		w.step(n)
		w.step(n)
	}
}
