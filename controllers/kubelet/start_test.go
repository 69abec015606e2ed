package kubelet_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"kuberow/controllers/kubelet"
)

// An image that cannot be pulled: ErrImagePull, then ImagePullBackOff, and the next try after 10 s.
func TestPullBackOff(t *testing.T) {
	w, f := withFake(t)
	f.images, f.pullErr = map[string]bool{}, errors.New("no such image")
	w.put(pods, newPod("p"))
	w.until("p", "pull error", func() bool { return w.reason("p") == "ErrImagePull" })
	w.pass("p", 3*time.Second)
	w.until("p", "back-off", func() bool { return w.reason("p") == "ImagePullBackOff" })
	if m := w.pod("p").Status.ContainerStatuses[0].State.Waiting.Message; m != `Back-off pulling image "nginx:1": ErrImagePull: no such image` {
		t.Errorf("message %q", m)
	}
	f.mu.Lock()
	f.pullErr = nil
	f.mu.Unlock()
	w.pass("p", 10*time.Second)
	w.until("p", "ready", func() bool { return w.ready("p") })
	want := []string{
		`Normal Pulling Pulling image "nginx:1"`,
		`Warning Failed Failed to pull image "nginx:1": no such image`,
		"Warning Failed Error: ErrImagePull",
		`Normal BackOff Back-off pulling image "nginx:1"`,
		"Warning Failed Error: ImagePullBackOff",
		`Normal Pulling Pulling image "nginx:1"`,
		`Normal Pulled Successfully pulled image "nginx:1" in 0s (0s including waiting). Image size: 42 bytes.`,
		"Normal Created Container created",
		"Normal Started Container started",
	}
	if d := cmp.Diff(want, w.events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// What cannot be started says why.
func TestStartFailures(t *testing.T) {
	for _, c := range []struct {
		name, want, message string
		pod                 func(*corev1.Pod)
		runtime             func(*fakeRuntime)
	}{
		{
			name: "never pull", want: "ErrImageNeverPull", message: `Container image "nginx:1" is not present with pull policy of Never`,
			pod:     func(p *corev1.Pod) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullNever },
			runtime: func(f *fakeRuntime) { f.images = map[string]bool{} },
		},
		{
			name: "bad image name", want: "InvalidImageName",
			message: `Failed to apply default image tag "UP:1:2": couldn't parse image name "UP:1:2": invalid reference format: repository name (library/UP) must be lowercase`,
			pod:     func(p *corev1.Pod) { p.Spec.Containers[0].Image = "UP:1:2" },
		},
		{
			name: "missing config map", want: "CreateContainerConfigError", message: `configmap "m" not found`,
			pod: func(p *corev1.Pod) {
				p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "m"}}}}
			},
		},
		{
			name: "not created", want: "CreateContainerError", message: "no space",
			runtime: func(f *fakeRuntime) { f.startErr["c"] = errors.New("no space") },
		},
		{
			name: "not started", want: "RunContainerError", message: "no such command",
			runtime: func(f *fakeRuntime) {
				f.startErr["c"] = &kubelet.StartError{ID: "x", Err: errors.New("no such command")}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, f := withFake(t)
			if c.runtime != nil {
				c.runtime(f)
			}
			pod := newPod("f")
			if c.pod != nil {
				c.pod(pod)
			}
			w.put(pods, pod)
			w.until("f", c.want, func() bool { return w.reason("f") == c.want })
			st := w.pod("f").Status
			if got := st.ContainerStatuses[0].State.Waiting.Message; got != c.message {
				t.Errorf("message %q", got)
			}
			if st.Phase != corev1.PodPending {
				t.Errorf("phase %s", st.Phase)
			}
		})
	}
}
