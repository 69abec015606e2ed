package kubelet_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

func (w *world) phase(name string) corev1.PodPhase {
	if p := w.pod(name); p != nil {
		return p.Status.Phase
	}
	return "gone"
}

func (w *world) ready(name string) bool {
	p := w.pod(name)
	return p != nil && strings.HasPrefix(condition(p, corev1.PodReady), "True")
}

// reason is the waiting reason of a pod's first container.
func (w *world) reason(name string) string {
	p := w.pod(name)
	if p == nil || len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].State.Waiting == nil {
		return ""
	}
	return p.Status.ContainerStatuses[0].State.Waiting.Reason
}

var always = corev1.ContainerRestartPolicyAlways

// Init containers run one after the other; the main ones wait for them.
func TestInitOrder(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("i", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "one", Image: "x:1"}, {Name: "two", Image: "x:1"}}
	}))
	w.until("i", "first init container", func() bool {
		p := w.pod("i")
		return len(p.Status.InitContainerStatuses) == 2 && p.Status.InitContainerStatuses[0].State.Running != nil
	})
	p := w.pod("i")
	if got := w.reason("i"); got != "PodInitializing" {
		t.Errorf("main container waits for %q", got)
	}
	if got := condition(p, corev1.PodInitialized); got != "False ContainersNotInitialized containers with incomplete status: [one two]" {
		t.Errorf("initialized: %s", got)
	}
	f.exit(t, "i", "one", 0)
	w.until("i", "second init container", func() bool { return w.pod("i").Status.InitContainerStatuses[1].State.Running != nil })
	if got := condition(w.pod("i"), corev1.PodInitialized); got != "False ContainersNotInitialized containers with incomplete status: [two]" {
		t.Errorf("initialized: %s", got)
	}
	f.exit(t, "i", "two", 0)
	w.until("i", "ready", func() bool { return w.ready("i") })
	if d := cmp.Diff([]string{"run sandbox i", "start one", "start two", "start c"}, f.did()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// A failed init container ends a pod that is never restarted.
func TestInitFails(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("i", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{{Name: "one", Image: "x:1"}}
	}))
	w.until("i", "init container", func() bool {
		p := w.pod("i")
		return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].State.Running != nil
	})
	f.exit(t, "i", "one", 7)
	w.until("i", "failure", func() bool { return w.phase("i") == corev1.PodFailed })
	if slices.Contains(f.did(), "start c") {
		t.Error("the main container was started")
	}
}

// Sidecars start before the main containers, do not keep a pod alive, and end
// after them in reverse order.
func TestSidecars(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("s", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
		p.Spec.InitContainers = []corev1.Container{
			{Name: "first", Image: "x:1", RestartPolicy: &always},
			{Name: "second", Image: "x:1", RestartPolicy: &always},
		}
	}))
	w.until("s", "ready", func() bool { return w.ready("s") })
	if d := cmp.Diff([]string{"run sandbox s", "start first", "start second", "start c"}, f.did()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	f.exit(t, "s", "c", 0)
	w.until("s", "success", func() bool { return w.phase("s") == corev1.PodSucceeded })
	if d := cmp.Diff([]string{"stop second within 30s", "stop first within 30s", "stop sandbox s"}, f.did()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// A deleted pod's main containers are stopped before its sidecars, the object
// goes last, and the runtime forgets the pod when the object is gone.
func TestDeleteOrder(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("d", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{Name: "side", Image: "x:1", RestartPolicy: &always}}
	}))
	w.until("d", "ready", func() bool { return w.ready("d") })
	f.did()
	hold := make(chan struct{})
	f.hold["c"] = hold
	w.remove("d", 10)
	w.settle("d")
	w.until("d", "stop of the main container", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.calls, "stop c within 10s")
	})
	if slices.ContainsFunc(f.did(), func(c string) bool { return strings.HasPrefix(c, "stop side") }) {
		t.Error("the sidecar was stopped beside the main container")
	}
	close(hold)
	w.until("d", "end", func() bool { return w.pod("d") == nil })
	w.until("d", "removal", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.calls, "remove sandbox d")
	})
	if d := cmp.Diff([]string{"stop side within 10s", "stop sandbox d", "stop sandbox d", "remove sandbox d"}, f.did()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if got := w.writes[len(w.writes)-1]; got != "delete  d" {
		t.Errorf("last write %q", got)
	}
}

// A second delete with a shorter grace period cuts the first one short.
func TestGraceIsShortened(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("g"))
	w.until("g", "ready", func() bool { return w.ready("g") })
	hold := make(chan struct{})
	defer close(hold)
	f.hold["c"] = hold
	w.remove("g", 60)
	stopped := func(call string) func() bool {
		return func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.Contains(f.calls, call)
		}
	}
	w.until("g", "first stop", stopped("stop c within 1m0s"))
	w.remove("g", 5)
	w.until("g", "second stop", stopped("stop c within 5s"))
}

// Containers of an earlier process are adopted, not started again; sandboxes
// without a pod are removed.
func TestAdoption(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("a"))
	w.put(pods, newPod("b"))
	w.until("a", "ready", func() bool { return w.ready("a") })
	w.until("b", "ready", func() bool { return w.ready("b") })
	w.k.Stop()
	w.drop(pods, "default", "b")
	f.did()
	before := w.pod("a").Status

	w.start(f)
	w.until("a", "removal of the orphan", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.boxes["b-uid"] == nil
	})
	w.settle("a")
	if d := cmp.Diff([]string{"stop sandbox b", "remove sandbox b"}, f.did()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, w.pod("a").Status); d != "" {
		t.Errorf("status changed (-before +after):\n%s", d)
	}
}

// An engine that goes away and comes back: pods stay as they are, what
// happened meanwhile is seen.
func TestEngineGoesAway(t *testing.T) {
	changed := make(chan struct{}, 10)
	w, f := withFake(t, func(c *kubelet.Config) { c.NodesChanged = func() { changed <- struct{}{} } })
	w.put(pods, newPod("e", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	w.until("e", "ready", func() bool { return w.ready("e") })
	<-changed
	f.goDown()
	<-changed
	if w.k.Up() || w.k.NodeConditions(w.pod("e").CreationTimestamp)[3].Status != corev1.ConditionFalse {
		t.Error("the node is ready without an engine")
	}
	w.put(pods, newPod("late"))
	w.settle("late")
	w.settle("e")
	if got := w.phase("e"); got != corev1.PodRunning {
		t.Errorf("phase %s without an engine", got)
	}
	f.mu.Lock()
	f.down = false
	c := f.container("fake://e-c-0")
	c.State, c.ExitCode, c.Finished = kubelet.StateExited, 0, w.clock.Now()
	f.mu.Unlock()
	w.tick(func() bool { return w.k.Up() })
	<-changed
	w.until("e", "success", func() bool { return w.phase("e") == corev1.PodSucceeded })
	w.until("late", "ready", func() bool { return w.ready("late") })
}

// tick moves the clock while somebody waits for it, until the condition holds.
func (w *world) tick(ok func() bool) {
	w.t.Helper()
	limit := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(limit) {
			w.t.Fatal("what was waited for did not happen")
		}
		if w.clock.HasWaiters() {
			w.clock.Step(time.Second)
		}
	}
}

// A pod that is active for too long fails.
func TestActiveDeadline(t *testing.T) {
	w, _ := withFake(t)
	limit := int64(20)
	w.put(pods, newPod("d", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = &limit }))
	w.until("d", "ready", func() bool { return w.ready("d") })
	w.pass("d", 19*time.Second)
	if got := w.phase("d"); got != corev1.PodRunning {
		t.Fatalf("phase %s before the deadline", got)
	}
	w.pass("d", 2*time.Second)
	w.until("d", "failure", func() bool { return w.phase("d") == corev1.PodFailed })
	if p := w.pod("d"); p.Status.Reason != "DeadlineExceeded" || p.Status.Message != "Pod was active on the node longer than the specified deadline" {
		t.Errorf("reason %q, message %q", p.Status.Reason, p.Status.Message)
	}
}

// A pod of a node that is not ours, and one that is not bound, are left alone.
func TestOthersPods(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("other", func(p *corev1.Pod) { p.Spec.NodeName = "elsewhere" }))
	w.put(pods, newPod("unbound", func(p *corev1.Pod) { p.Spec.NodeName = "" }))
	w.settle("other")
	w.settle("unbound")
	if len(w.writes) != 0 || len(f.did()) != 0 {
		t.Errorf("writes %q", w.writes)
	}
}

// A pod that replaced another of its name gets a sandbox of its own; the old one is removed.
func TestSameNameAgain(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("n"))
	w.until("n", "ready", func() bool { return w.ready("n") })
	w.drop(pods, "default", "n")
	w.put(pods, newPod("n", func(p *corev1.Pod) { p.UID = types.UID("second") }))
	w.until("n", "ready", func() bool { return w.ready("n") })
	w.until("n", "removal of the first", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.boxes["n-uid"] == nil && f.boxes["second"] != nil
	})
}

// A sandbox that dies is replaced with all that it held, init containers
// included; a pod that is never restarted ends instead.
func TestSandboxDies(t *testing.T) {
	for policy, want := range map[corev1.RestartPolicy][]string{
		corev1.RestartPolicyAlways: {"stop c within 2s", "run sandbox s", "start i", "start c"},
		corev1.RestartPolicyNever:  {"stop c within 30s"},
	} {
		t.Run(string(policy), func(t *testing.T) {
			w, f := withFake(t)
			w.put(pods, newPod("s", func(p *corev1.Pod) {
				p.Spec.RestartPolicy = policy
				p.Spec.InitContainers = []corev1.Container{{Name: "i", Image: "x:1"}}
			}))
			initRuns := func() bool {
				p := w.pod("s")
				return len(p.Status.InitContainerStatuses) == 1 && p.Status.InitContainerStatuses[0].State.Running != nil
			}
			w.until("s", "init container", initRuns)
			f.exit(t, "s", "i", 0)
			w.until("s", "ready", func() bool { return w.ready("s") })
			w.clock.Step(time.Minute)
			f.did()
			f.mu.Lock()
			f.boxes["s-uid"].Ready = false
			f.events <- "s-uid"
			f.mu.Unlock()
			if policy == corev1.RestartPolicyNever {
				w.until("s", "failure", func() bool { return w.phase("s") == corev1.PodFailed })
			} else {
				w.until("s", "init container again", initRuns)
				f.exit(t, "s", "i", 0)
				w.until("s", "ready again", func() bool { return w.ready("s") })
				if !w.told("Normal SandboxChanged Pod sandbox changed, it will be killed and re-created.") {
					t.Errorf("events %q", w.events)
				}
			}
			if d := cmp.Diff(want, f.did()); d != "" {
				t.Errorf("calls (-want +got):\n%s", d)
			}
		})
	}
}

// Another image means another container, whatever the restart policy says.
func TestImageChanges(t *testing.T) {
	w, f := withFake(t)
	w.put(pods, newPod("i", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	w.until("i", "ready", func() bool { return w.ready("i") })
	w.edit("i", func(p *corev1.Pod) { p.Spec.Containers[0].Image, p.Generation = "nginx:2", 2 })
	w.until("i", "new container", func() bool {
		st := w.pod("i").Status
		return st.ContainerStatuses[0].Image == "nginx:2" && st.ContainerStatuses[0].RestartCount == 1 && st.ObservedGeneration == 2
	})
	if !w.told("Normal Killing Container c definition changed, will be restarted") {
		t.Errorf("events %q", w.events)
	}
	if got := f.config("c").Attempt; got != 1 {
		t.Errorf("attempt %d", got)
	}
}

// A pod that was put on a node past the scheduler fails when it does not fit.
func TestRejected(t *testing.T) {
	for name, c := range map[string]struct {
		edit          func(*corev1.Pod)
		reason, where string
	}{
		"affinity": {func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }, "NodeAffinity",
			"Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"},
		"cpu": {func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		}, "OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu, requested: 3000, used: 1500, capacity: 4000"},
	} {
		t.Run(name, func(t *testing.T) {
			w, f := withFake(t)
			w.put(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourcePods: resource.MustParse("10")}}})
			w.put(pods, newPod("other", func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
			}))
			w.put(pods, newPod("p", c.edit, func(p *corev1.Pod) { p.Status.Conditions = nil }))
			w.until("p", "rejection", func() bool { return w.phase("p") == corev1.PodFailed })
			if st := w.pod("p").Status; st.Reason != c.reason || st.Message != c.where {
				t.Errorf("reason %q, message %q", st.Reason, st.Message)
			}
			if calls := f.did(); len(calls) != 0 {
				t.Errorf("calls %q", calls)
			}
		})
	}
}
