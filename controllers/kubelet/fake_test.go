package kubelet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kuberow/controllers/kubelet"
)

// fakeRuntime is an engine that does what the test says: containers run until
// exit is called. mu guards all of it.
type fakeRuntime struct {
	clock *clocktesting.FakeClock

	mu       sync.Mutex
	down     bool
	boxes    map[types.UID]*kubelet.Sandbox
	images   map[string]bool // present; nil: all
	pullErr  error
	startErr map[string]error                   // by container name
	configs  map[string]kubelet.ContainerConfig // by container name, the last
	calls    []string
	updated  []string // volume=file:content
	exec     func(command []string) error
	answer   func() (net.Conn, error) // of Dial
	hold     map[string]chan struct{} // a stop of that container waits for it
	events   chan types.UID
}

func newFake(c *clocktesting.FakeClock) *fakeRuntime {
	return &fakeRuntime{clock: c, boxes: map[types.UID]*kubelet.Sandbox{}, configs: map[string]kubelet.ContainerConfig{},
		startErr: map[string]error{}, hold: map[string]chan struct{}{}}
}

var errDown = errors.New("cannot connect to the engine")

func (f *fakeRuntime) call(format string, args ...any) {
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fakeRuntime) Name() string { return "fake" }

func (f *fakeRuntime) Version(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return "", errDown
	}
	return "1", nil
}

func copyBox(s *kubelet.Sandbox) kubelet.Sandbox {
	out := *s
	out.Containers = slices.Clone(s.Containers)
	return out
}

func (f *fakeRuntime) List(context.Context) ([]kubelet.Sandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, errDown
	}
	var out []kubelet.Sandbox
	for _, s := range f.boxes {
		out = append(out, copyBox(s))
	}
	return out, nil
}

func (f *fakeRuntime) Sandbox(_ context.Context, uid types.UID) (kubelet.Sandbox, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return kubelet.Sandbox{}, false, errDown
	}
	s := f.boxes[uid]
	if s == nil {
		return kubelet.Sandbox{}, false, nil
	}
	return copyBox(s), true, nil
}

func (f *fakeRuntime) Events(ctx context.Context) (<-chan types.UID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, errDown
	}
	ch := make(chan types.UID, 100)
	f.events = ch
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.events == ch {
			f.events = nil
			close(ch)
		}
	})
	return ch, nil
}

// goDown ends the event stream and refuses from now on; comeBack ends that.
func (f *fakeRuntime) goDown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = true
	close(f.events)
	f.events = nil
}

func (f *fakeRuntime) comeBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = false
}

func (f *fakeRuntime) RunSandbox(_ context.Context, p *corev1.Pod) (kubelet.Sandbox, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call("run sandbox %s", p.Name)
	s := f.boxes[p.UID]
	if s == nil {
		s = &kubelet.Sandbox{PodUID: p.UID, Namespace: p.Namespace, Name: p.Name, Node: p.Spec.NodeName, ID: "box-" + p.Name}
		f.boxes[p.UID] = s
	}
	if !s.Ready {
		s.Ready, s.Created, s.IPs = true, f.clock.Now(), []string{fmt.Sprintf("10.0.0.%d", len(f.boxes))}
	}
	return copyBox(s), nil
}

func (f *fakeRuntime) StopSandbox(_ context.Context, uid types.UID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.boxes[uid]; s != nil {
		f.call("stop sandbox %s", s.Name)
		s.Ready = false
	}
	return nil
}

func (f *fakeRuntime) RemoveSandbox(_ context.Context, uid types.UID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.boxes[uid]; s != nil {
		f.call("remove sandbox %s", s.Name)
		delete(f.boxes, uid)
	}
	return nil
}

func (f *fakeRuntime) ImagePresent(_ context.Context, image string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.images == nil || f.images[image], nil
}

func (f *fakeRuntime) PullImage(_ context.Context, image string, _ []kubelet.RegistryAuth) (kubelet.Image, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call("pull %s", image)
	if f.pullErr != nil {
		return kubelet.Image{}, f.pullErr
	}
	if f.images != nil {
		f.images[image] = true
	}
	return kubelet.Image{ID: "sha", Size: 42}, nil
}

func (f *fakeRuntime) StartContainer(_ context.Context, c kubelet.ContainerConfig) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call("start %s", c.Container.Name)
	f.configs[c.Container.Name] = c
	if err := f.startErr[c.Container.Name]; err != nil {
		return "", err
	}
	id := fmt.Sprintf("fake://%s-%s-%d", c.Pod.Name, c.Container.Name, c.Attempt)
	s := f.boxes[c.Pod.UID]
	s.Containers = append(s.Containers, kubelet.Container{ID: id, Name: c.Container.Name, Attempt: c.Attempt, Image: c.Container.Image,
		ImageID: "fake://sha", State: kubelet.StateRunning, Created: f.clock.Now(), Started: f.clock.Now(), SpecHash: c.SpecHash})
	return id, nil
}

func (f *fakeRuntime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	f.mu.Lock()
	c := f.container(id)
	if c == nil {
		f.mu.Unlock()
		return nil
	}
	f.call("stop %s within %s", c.Name, grace)
	hold := f.hold[c.Name]
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.container(id); c != nil && c.State == kubelet.StateRunning {
		c.State, c.ExitCode, c.Reason, c.Finished = kubelet.StateExited, 143, "Error", f.clock.Now()
	}
	return nil
}

func (f *fakeRuntime) RemoveContainer(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.boxes {
		s.Containers = slices.DeleteFunc(s.Containers, func(c kubelet.Container) bool { return c.ID == id })
	}
	f.call("remove %s", id)
	return nil
}

func (f *fakeRuntime) container(id string) *kubelet.Container {
	for _, s := range f.boxes {
		for i := range s.Containers {
			if s.Containers[i].ID == id {
				return &s.Containers[i]
			}
		}
	}
	return nil
}

func (f *fakeRuntime) Exec(_ context.Context, _ string, command []string, s kubelet.Streams) error {
	f.mu.Lock()
	f.call("exec %v", command)
	exec := f.exec
	f.mu.Unlock()
	if exec == nil {
		return nil
	}
	if s.Stdout != nil {
		io.WriteString(s.Stdout, "output")
	}
	return exec(command)
}

func (f *fakeRuntime) Attach(context.Context, string, kubelet.Streams) error { return nil }

func (f *fakeRuntime) Logs(_ context.Context, id string, _ kubelet.LogOptions, stdout, _ io.Writer) error {
	_, err := io.WriteString(stdout, "log of "+id)
	return err
}

func (f *fakeRuntime) Dial(context.Context, types.UID, string, int32) (io.ReadWriteCloser, error) {
	f.mu.Lock()
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return nil, errors.New("connection refused")
	}
	return answer()
}

func (f *fakeRuntime) UpdateFiles(_ context.Context, _ types.UID, volume string, files []kubelet.File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range files {
		f.updated = append(f.updated, volume+"="+x.Path+":"+string(x.Data))
	}
	return nil
}

// exit ends a running container of a pod, and tells.
func (f *fakeRuntime) exit(t *testing.T, pod, name string, code int32) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	uid := types.UID(pod + "-uid")
	for i := len(f.boxes[uid].Containers) - 1; i >= 0; i-- {
		c := &f.boxes[uid].Containers[i]
		if c.Name != name || c.State != kubelet.StateRunning {
			continue
		}
		c.State, c.ExitCode, c.Finished, c.Reason = kubelet.StateExited, code, f.clock.Now(), "Completed"
		if code != 0 {
			c.Reason = "Error"
		}
		f.events <- uid
		return
	}
	t.Fatalf("container %s of pod %s does not run", name, pod)
}

// did says what was called, and forgets it.
func (f *fakeRuntime) did() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

func (f *fakeRuntime) config(name string) kubelet.ContainerConfig {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.configs[name]
}

func withFake(t *testing.T, edit ...func(*kubelet.Config)) (*world, *fakeRuntime) {
	t.Helper()
	w := newWorld(t)
	f := newFake(w.clock)
	w.start(f, edit...)
	return w, f
}
