package simulated

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kuberow/controllers/kubelet"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func runtime(t *testing.T, ips string) (*Runtime, *clocktesting.FakeClock) {
	t.Helper()
	c := clocktesting.NewFakeClock(noon)
	r, err := New(c, ips)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

func newPod(name string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}, {Name: "d", Image: "x"}}},
	}
}

func start(t *testing.T, r *Runtime, p *corev1.Pod, container, attempt int) string {
	t.Helper()
	id, err := r.StartContainer(context.Background(), kubelet.ContainerConfig{Pod: p, Container: &p.Spec.Containers[container], Attempt: attempt})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Addresses are unique, reused last, and end with a clear error.
func TestAddresses(t *testing.T) {
	r, _ := runtime(t, "10.0.0.0/29") // .2 to .6 are for pods
	ctx := context.Background()
	var got []string
	run := func(name string) {
		t.Helper()
		s, err := r.RunSandbox(ctx, newPod(name, nil))
		if err != nil {
			got = append(got, err.Error())
			return
		}
		got = append(got, s.IPs[0])
	}
	for i := range 3 {
		run(fmt.Sprint("p", i))
	}
	if err := r.StopSandbox(ctx, "p0"); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		run(fmt.Sprint("q", i))
	}
	want := []string{"10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.2", "no free pod address in 10.0.0.0/29"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("addresses (-want +got):\n%s", d)
	}
}

// A container ends when its script says, seen by whoever looks then, and Next says when that is.
func TestExit(t *testing.T) {
	r, c := runtime(t, "")
	p := newPod("p", map[string]string{ExitAfter: "10s", ExitCode: "7", ExitReason + ".c": "OOMKilled", ExitTimes: "1", ExitAfter + ".d": "20s"})
	if _, err := r.RunSandbox(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	start(t, r, p, 0, 0)
	start(t, r, p, 1, 0)
	look := func() string {
		s, _, err := r.Sandbox(context.Background(), "p")
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, x := range s.Containers {
			out = append(out, fmt.Sprintf("%s %s %d %s", x.Name, x.State, x.ExitCode, x.Reason))
		}
		if !s.Next.IsZero() {
			out = append(out, "next "+s.Next.Sub(noon).String())
		}
		return strings.Join(out, ", ")
	}
	got := []string{look()}
	c.Step(10 * time.Second)
	got = append(got, look())
	start(t, r, p, 0, 1) // exit-times: this attempt goes on
	c.Step(time.Hour)
	got = append(got, look())
	want := []string{
		"c running 0 , d running 0 , next 10s",
		"c exited 7 OOMKilled, d running 0 , next 20s",
		"c exited 7 OOMKilled, d exited 7 Error, c running 0 ",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
}

// Logs say that they are simulated, within the options; all else refuses.
func TestStreams(t *testing.T) {
	r, c := runtime(t, "")
	p := newPod("p", nil)
	ctx := context.Background()
	if _, err := r.RunSandbox(ctx, p); err != nil {
		t.Fatal(err)
	}
	id := start(t, r, p, 0, 0)
	c.Step(time.Second)
	if err := r.StopContainer(ctx, id, 0); err != nil {
		t.Fatal(err)
	}
	log := func(o kubelet.LogOptions) string {
		var out strings.Builder
		if err := r.Logs(ctx, id, o, &out, &out); err != nil {
			return err.Error()
		}
		return out.String()
	}
	first := "simulated: container c of pod default/p, image x: nothing runs, this line is all there is\n"
	last := "simulated: ended with status 0 (Completed)\n"
	one, ten := int64(1), int64(10)
	for _, x := range []struct {
		o    kubelet.LogOptions
		want string
	}{
		{kubelet.LogOptions{}, first + last},
		{kubelet.LogOptions{Follow: true}, first + last},
		{kubelet.LogOptions{TailLines: &one}, last},
		{kubelet.LogOptions{LimitBytes: &ten}, "simulated:"},
		{kubelet.LogOptions{Since: noon.Add(time.Second)}, last},
		{kubelet.LogOptions{TailLines: &one, Timestamps: true}, "2026-05-01T12:00:01.000000000Z " + last},
	} {
		if d := cmp.Diff(x.want, log(x.o)); d != "" {
			t.Errorf("log with %+v (-want +got):\n%s", x.o, d)
		}
	}
	var refusal *Refusal
	if err := r.Exec(ctx, id, nil, kubelet.Streams{}); !errors.As(err, &refusal) {
		t.Errorf("exec: %v", err)
	}
	if _, err := r.Dial(ctx, "p", "tcp", 80); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "port 80") {
		t.Errorf("dial: %v", err)
	}
}

// The addresses of pods on nodes that nobody serves now are not given again.
func TestReserve(t *testing.T) {
	r, _ := runtime(t, "10.0.0.0/29") // .2 to .6
	away := newPod("away", nil)
	away.Status.PodIP = "10.0.0.3"
	r.Reserve([]*corev1.Pod{away})
	for _, name := range []types.UID{"a", "b", "c", "d"} {
		if ip, err := r.address(name); err != nil || ip.String() == away.Status.PodIP {
			t.Errorf("%s has the address %s: %v", name, ip, err)
		}
	}
	if ip, err := r.address("e"); err == nil {
		t.Errorf("the last pod has the address %s, and none is left", ip)
	}
}

// Restore makes from a status what the status tells of.
func TestRestore(t *testing.T) {
	r, _ := runtime(t, "")
	p := newPod("p", nil)
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "simulated://old",
		StartedAt: metav1.NewTime(noon), FinishedAt: metav1.NewTime(noon.Add(time.Second))}}
	start := metav1.NewTime(noon)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.0.9", StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "c", RestartCount: 2, ContainerID: "simulated://now", LastTerminationState: ended,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}},
		{Name: "d", RestartCount: 1, LastTerminationState: ended, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}},
	}}
	r.Restore([]*corev1.Pod{p, newPod("pending", nil)})
	all, err := r.List(context.Background())
	if err != nil || len(all) != 1 {
		t.Fatalf("restored %+v, %v", all, err)
	}
	var got []string
	for _, c := range all[0].Containers {
		got = append(got, fmt.Sprintf("%s %d %s %s %d", c.Name, c.Attempt, c.ID, c.State, c.ExitCode))
	}
	want := []string{"c 1 simulated://old exited 3", "c 2 simulated://now running 0", "d 1 simulated://old exited 3"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("containers (-want +got):\n%s", d)
	}
	if s, err := r.RunSandbox(context.Background(), newPod("next", nil)); err != nil || s.IPs[0] != "10.244.0.10" {
		t.Errorf("next pod: %+v, %v", s.IPs, err)
	}
}
