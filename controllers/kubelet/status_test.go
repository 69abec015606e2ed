package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a status says for what runs, as a table: no worker and no runtime.

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// testPod has init containers i..., sidecars s... and main containers, named by their first letter.
func testPod(policy corev1.RestartPolicy, names ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "u", Generation: 3},
		Spec: corev1.PodSpec{RestartPolicy: policy, NodeName: "n"}}
	always := corev1.ContainerRestartPolicyAlways
	for _, n := range names {
		c := corev1.Container{Name: n, Image: "x"}
		switch n[0] {
		case 'i':
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		case 's':
			c.RestartPolicy = &always
			p.Spec.InitContainers = append(p.Spec.InitContainers, c)
		default:
			p.Spec.Containers = append(p.Spec.Containers, c)
		}
	}
	return p
}

// box is a ready sandbox with attempts like "c0 running" or "c1 exited 3".
func box(attempts ...string) *Sandbox {
	s := &Sandbox{Ready: true, IPs: []string{"10.0.0.9"}, Created: noon}
	for _, a := range attempts {
		var name, state string
		var code int32
		fmt.Sscan(a, &name, &state, &code)
		c := Container{ID: "r://" + name, Name: name[:len(name)-1], Attempt: int(name[len(name)-1] - '0'), Image: "x", State: State(state),
			Created: noon, Started: noon, ExitCode: code}
		if c.State == StateExited {
			c.Finished = noon.Add(time.Second)
		}
		s.Containers = append(s.Containers, c)
	}
	return s
}

// brief is a status in one line per fact.
func brief(s corev1.PodStatus) []string {
	out := []string{string(s.Phase)}
	for _, c := range s.Conditions {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message)))
	}
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for _, c := range list {
			line := fmt.Sprintf("%s %s", c.Name, briefState(c.State))
			if c.LastTerminationState.Terminated != nil {
				line += " after " + briefState(c.LastTerminationState)
			}
			out = append(out, fmt.Sprintf("%s ready=%v started=%v restarts=%d", line, c.Ready, *c.Started, c.RestartCount))
		}
	}
	return out
}

func briefState(s corev1.ContainerState) string {
	switch {
	case s.Running != nil:
		return "running"
	case s.Terminated != nil:
		return fmt.Sprintf("ended %d", s.Terminated.ExitCode)
	}
	return "waits " + s.Waiting.Reason
}

func TestMakeStatus(t *testing.T) {
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} }
	for _, c := range []struct {
		name    string
		pod     *corev1.Pod
		edit    func(*corev1.Pod)
		sandbox *Sandbox
		reasons map[string]reason
		stopped bool
		want    []string
	}{
		{
			name: "nothing yet", pod: testPod(corev1.RestartPolicyAlways, "c"),
			want: []string{"Pending", "PodReadyToStartContainers=False PodSandboxNotReady no pod sandbox exists", "Initialized=True",
				"Ready=False ContainersNotReady containers with unready status: [c]", "ContainersReady=False ContainersNotReady containers with unready status: [c]",
				"PodScheduled=True", "c waits ContainerCreating ready=false started=false restarts=0"},
		},
		{
			name: "running", pod: testPod(corev1.RestartPolicyAlways, "b", "a"), sandbox: box("a0 running", "b0 running"),
			want: []string{"Running", "PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True", "PodScheduled=True",
				"a running ready=true started=true restarts=0", "b running ready=true started=true restarts=0"},
		},
		{
			name: "one of two not started", pod: testPod(corev1.RestartPolicyAlways, "a", "b"), sandbox: box("a0 running"),
			reasons: map[string]reason{"b": {"ErrImagePull", "no"}},
			want: []string{"Pending", "PodReadyToStartContainers=True", "Initialized=True",
				"Ready=False ContainersNotReady containers with unready status: [b]", "ContainersReady=False ContainersNotReady containers with unready status: [b]",
				"PodScheduled=True", "a running ready=true started=true restarts=0", "b waits ErrImagePull ready=false started=false restarts=0"},
		},
		{
			name: "crash loop", pod: testPod(corev1.RestartPolicyAlways, "c"), sandbox: box("c0 exited 1", "c1 exited 2"),
			reasons: map[string]reason{"c": {"CrashLoopBackOff", ""}},
			want: []string{"Running", "PodReadyToStartContainers=True", "Initialized=True",
				"Ready=False ContainersNotReady containers with unready status: [c]", "ContainersReady=False ContainersNotReady containers with unready status: [c]",
				"PodScheduled=True", "c waits CrashLoopBackOff after ended 2 ready=false started=false restarts=1"},
		},
		{
			name: "done", pod: testPod(corev1.RestartPolicyOnFailure, "c"), sandbox: box("c0 exited 1", "c1 exited 0"),
			want: []string{"Succeeded", "PodReadyToStartContainers=True", "Initialized=True PodCompleted", "Ready=False PodCompleted", "ContainersReady=False PodCompleted",
				"PodScheduled=True", "c ended 0 after ended 1 ready=false started=false restarts=1"},
		},
		{
			name: "done, but a sidecar still runs", pod: testPod(corev1.RestartPolicyNever, "s", "c"), sandbox: box("s0 running", "c0 exited 0"),
			edit: func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning },
			want: []string{"Running", "PodReadyToStartContainers=True", "Initialized=True", "Ready=False ContainersNotReady containers with unready status: [c]",
				"ContainersReady=False ContainersNotReady containers with unready status: [c]", "PodScheduled=True",
				"s running ready=true started=true restarts=0", "c ended 0 ready=false started=false restarts=0"},
		},
		{
			name: "init failed for good", pod: testPod(corev1.RestartPolicyNever, "i", "c"), sandbox: box("i0 exited 1"),
			want: []string{"Failed", "PodReadyToStartContainers=True", "Initialized=False ContainersNotInitialized containers with incomplete status: [i]",
				"Ready=False PodFailed", "ContainersReady=False PodFailed", "PodScheduled=True",
				"i ended 1 ready=false started=false restarts=0", "c waits PodInitializing ready=false started=false restarts=0"},
		},
		{
			name: "init containers are done", pod: testPod(corev1.RestartPolicyAlways, "i", "s", "c"), sandbox: box("i0 exited 0", "s0 running", "c0 running"),
			want: []string{"Running", "PodReadyToStartContainers=True", "Initialized=True", "Ready=True", "ContainersReady=True", "PodScheduled=True",
				"i ended 0 ready=true started=false restarts=0", "s running ready=true started=true restarts=0", "c running ready=true started=true restarts=0"},
		},
		{
			name: "deleted before it ran", pod: testPod(corev1.RestartPolicyAlways, "c"), edit: deleted, stopped: true,
			want: []string{"Failed", "PodReadyToStartContainers=False PodSandboxNotReady no pod sandbox exists", "Initialized=True", "Ready=False PodFailed",
				"ContainersReady=False PodFailed", "PodScheduled=True", "c waits ContainerCreating ready=false started=false restarts=0"},
		},
		{
			name: "deleted and stopped", pod: testPod(corev1.RestartPolicyAlways, "c"), edit: deleted, stopped: true, sandbox: box("c0 exited 0"),
			want: []string{"Succeeded", "PodReadyToStartContainers=True", "Initialized=True PodCompleted", "Ready=False PodCompleted", "ContainersReady=False PodCompleted",
				"PodScheduled=True", "c ended 0 ready=false started=false restarts=0"},
		},
		{
			name: "readiness gate", pod: testPod(corev1.RestartPolicyAlways, "c"), sandbox: box("c0 running"),
			edit: func(p *corev1.Pod) {
				p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "a"}, {ConditionType: "b"}}
				p.Status.Conditions = []corev1.PodCondition{{Type: "b", Status: corev1.ConditionFalse}}
			},
			want: []string{"Running", "b=False", "PodReadyToStartContainers=True", "Initialized=True",
				`Ready=False ReadinessGatesNotReady corresponding condition of pod readiness gate "a" does not exist., the status of pod readiness gate "b" is not "True", but False`,
				"ContainersReady=True", "PodScheduled=True", "c running ready=true started=true restarts=0"},
		},
		{
			name: "the runtime lost it", pod: testPod(corev1.RestartPolicyAlways, "c"), sandbox: box(),
			edit: func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", ContainerID: "r://old", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			},
			want: []string{"Running", "PodReadyToStartContainers=True", "Initialized=True", "Ready=False ContainersNotReady containers with unready status: [c]",
				"ContainersReady=False ContainersNotReady containers with unready status: [c]", "PodScheduled=True",
				"c waits ContainerCreating after ended 137 ready=false started=false restarts=1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.edit != nil {
				c.edit(c.pod)
			}
			got := makeStatus(statusInput{pod: c.pod, sandbox: c.sandbox, reasons: c.reasons, stopped: c.stopped, now: noon,
				probes: func(string, probeKind) (verdict, *corev1.Probe) { return passing, nil }})
			if d := cmp.Diff(c.want, brief(got)); d != "" {
				t.Errorf("status (-want +got):\n%s", d)
			}
			for _, x := range got.Conditions[len(got.Conditions)-5:] {
				if x.ObservedGeneration != 3 || !x.LastTransitionTime.Time.Equal(noon) {
					t.Errorf("condition %+v", x)
				}
			}
		})
	}
}

// A condition keeps the time of its last transition while its status stays.
func TestTransitionTime(t *testing.T) {
	p := testPod(corev1.RestartPolicyAlways, "c")
	in := statusInput{pod: p, sandbox: box("c0 running"), now: noon, probes: func(string, probeKind) (verdict, *corev1.Probe) { return passing, nil }}
	p.Status = makeStatus(in)
	in.now, in.sandbox = noon.Add(time.Minute), box("c0 exited 1")
	for _, c := range makeStatus(in).Conditions {
		want := noon
		if c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
			want = in.now
		}
		if !c.LastTransitionTime.Time.Equal(want) {
			t.Errorf("%s: %s, want %s", c.Type, c.LastTransitionTime, want)
		}
	}
}

// A phase that ended the pod is never taken back, and others' conditions survive a write.
func TestMergeStatus(t *testing.T) {
	stored := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", QOSClass: corev1.PodQOSBurstable, Conditions: []corev1.PodCondition{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	mine := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}}
	want := corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", QOSClass: corev1.PodQOSBurstable, Conditions: []corev1.PodCondition{
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse}}}
	if d := cmp.Diff(want, mergeStatus(stored, mine)); d != "" {
		t.Errorf("merged (-want +got):\n%s", d)
	}
}

// The back-off doubles from 10 s to 5 minutes, and is forgotten after 10 minutes.
func TestBackoff(t *testing.T) {
	var b backoff
	now := noon
	var delays []string
	for range 7 {
		if at := b.until(now, now); !at.IsZero() {
			now = at
		}
		b.next(now, now)
		delays = append(delays, b.delay.String())
	}
	if d := cmp.Diff([]string{"10s", "20s", "40s", "1m20s", "2m40s", "5m0s", "5m0s"}, delays); d != "" {
		t.Errorf("delays (-want +got):\n%s", d)
	}
	later := now.Add(forgetAfter + time.Second)
	if at := b.until(later, later); !at.IsZero() {
		t.Errorf("still waits until %s", at)
	}
	if b.next(later, later); b.delay != firstBackoff {
		t.Errorf("delay %s after a long while", b.delay)
	}
}

// Restart rules go before the container's policy, and that before the pod's.
func TestRestartsAfter(t *testing.T) {
	never := corev1.ContainerRestartPolicyNever
	rule := func(op corev1.ContainerRestartRuleOnExitCodesOperator, codes ...int32) []corev1.ContainerRestartRule {
		return []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: op, Values: codes}}}
	}
	for _, c := range []struct {
		pod  corev1.RestartPolicy
		c    corev1.Container
		code int32
		want bool
	}{
		{corev1.RestartPolicyAlways, corev1.Container{}, 0, true},
		{corev1.RestartPolicyOnFailure, corev1.Container{}, 0, false},
		{corev1.RestartPolicyOnFailure, corev1.Container{}, 1, true},
		{corev1.RestartPolicyNever, corev1.Container{}, 1, false},
		{corev1.RestartPolicyAlways, corev1.Container{RestartPolicy: &never}, 1, false},
		{corev1.RestartPolicyNever, corev1.Container{RestartPolicy: &never, RestartPolicyRules: rule("In", 42)}, 42, true},
		{corev1.RestartPolicyNever, corev1.Container{RestartPolicy: &never, RestartPolicyRules: rule("In", 42)}, 1, false},
		{corev1.RestartPolicyNever, corev1.Container{RestartPolicy: &never, RestartPolicyRules: rule("NotIn", 42)}, 1, true},
	} {
		if got := restartsAfter(&c.c, &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: c.pod}}, c.code); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
