package simulated

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kuberow/controllers/kubelet"
)

// Name is what container IDs start with.
const Name = "simulated"

// DefaultRange is where pod addresses come from.
const DefaultRange = "10.244.0.0/16"

// Runtime runs nothing. mu guards all that follows it.
type Runtime struct {
	clock clock.PassiveClock
	ips   netip.Prefix

	mu   sync.Mutex
	pods map[types.UID]*pod
	used map[netip.Addr]types.UID
	last netip.Addr // given out last: an address is not given again soon
}

// pod is one sandbox.
type pod struct {
	spec       *corev1.Pod // as it was when it started
	node       string
	ready      bool
	ip         netip.Addr // invalid in the host's network
	created    time.Time
	containers []*container // in the order in which they were started
}

// container is one attempt. While it runs, it ends at end, when that is set.
type container struct {
	kubelet.Container
	end    time.Time
	code   int32
	reason string
}

var _ kubelet.Simulator = (*Runtime)(nil)

// New makes a runtime whose pods have addresses of the range.
func New(c clock.PassiveClock, ips string) (*Runtime, error) {
	if ips == "" {
		ips = DefaultRange
	}
	p, err := netip.ParsePrefix(ips)
	if err != nil {
		return nil, fmt.Errorf("read range of pod addresses: %w", err)
	}
	p = p.Masked()
	return &Runtime{clock: c, ips: p, last: p.Addr().Next(), pods: map[types.UID]*pod{}, used: map[netip.Addr]types.UID{}}, nil
}

// Name is the runtime's name.
func (r *Runtime) Name() string { return Name }

// Version is that of kuberow's simulation.
func (r *Runtime) Version(context.Context) (string, error) { return "1.0", nil }

// Events has none: Sandbox.Next says when to look.
func (r *Runtime) Events(ctx context.Context) (<-chan types.UID, error) {
	ch := make(chan types.UID)
	context.AfterFunc(ctx, func() { close(ch) })
	return ch, nil
}

// List gives all sandboxes.
func (r *Runtime) List(context.Context) ([]kubelet.Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]kubelet.Sandbox, 0, len(r.pods))
	for uid, p := range r.pods {
		out = append(out, r.sandbox(uid, p))
	}
	return out, nil
}

// Sandbox gives one.
func (r *Runtime) Sandbox(_ context.Context, uid types.UID) (kubelet.Sandbox, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[uid]
	if p == nil {
		return kubelet.Sandbox{}, false, nil
	}
	return r.sandbox(uid, p), true, nil
}

// sandbox lets happen what should have happened by now, and copies.
func (r *Runtime) sandbox(uid types.UID, p *pod) kubelet.Sandbox {
	now := r.clock.Now()
	s := kubelet.Sandbox{
		PodUID: uid, Namespace: p.spec.Namespace, Name: p.spec.Name, Node: p.node,
		ID: Name + "://" + string(uid), Ready: p.ready, Created: p.created,
		Containers: make([]kubelet.Container, 0, len(p.containers)),
	}
	if p.ip.IsValid() {
		s.IPs = []string{p.ip.String()}
	}
	for _, c := range p.containers {
		if c.State == kubelet.StateRunning && !c.end.IsZero() {
			if !now.Before(c.end) {
				c.exit(c.end, c.code, c.reason)
			} else if s.Next.IsZero() || c.end.Before(s.Next) {
				s.Next = c.end
			}
		}
		s.Containers = append(s.Containers, c.Container)
	}
	return s
}

// exit ends a container.
func (c *container) exit(at time.Time, code int32, reason string) {
	c.State, c.Finished, c.ExitCode, c.Reason = kubelet.StateExited, at, code, reason
	if c.Reason == "" {
		c.Reason = "Completed"
		if code != 0 {
			c.Reason = "Error"
		}
	}
}

// RunSandbox gives the pod an address.
func (r *Runtime) RunSandbox(_ context.Context, spec *corev1.Pod) (kubelet.Sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	p := r.pods[spec.UID]
	if p == nil {
		if at := startDelay(spec); at.After(now) {
			return kubelet.Sandbox{}, &kubelet.NotYet{Until: at}
		}
		p = &pod{node: spec.Spec.NodeName}
		r.pods[spec.UID] = p
	}
	if !p.ready {
		p.ready, p.created = true, now
		if !spec.Spec.HostNetwork {
			ip, err := r.address(spec.UID)
			if err != nil {
				delete(r.pods, spec.UID)
				return kubelet.Sandbox{}, err
			}
			p.ip = ip
		}
	}
	p.spec = spec
	return r.sandbox(spec.UID, p), nil
}

// address finds a free one, going on from the last. The network's first two (its own, the gateway) and its last
// are left out.
func (r *Runtime) address(uid types.UID) (netip.Addr, error) {
	a := r.last
	for range 1 << min(24, r.ips.Addr().BitLen()-r.ips.Bits()) {
		if a = a.Next(); !r.ips.Contains(a.Next()) {
			a = r.ips.Addr().Next().Next()
		}
		if _, taken := r.used[a]; !taken {
			r.used[a], r.last = uid, a
			return a, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no free pod address in %s", r.ips)
}

// StopSandbox ends what runs and frees the address.
func (r *Runtime) StopSandbox(_ context.Context, uid types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pods[uid]; p != nil {
		r.sandbox(uid, p)
		for _, c := range p.containers {
			if c.State == kubelet.StateRunning {
				c.exit(r.clock.Now(), 137, "Error")
			}
		}
		r.free(p)
		p.ready = false
	}
	return nil
}

func (r *Runtime) free(p *pod) {
	if p.ip.IsValid() && r.used[p.ip] == p.spec.UID {
		delete(r.used, p.ip)
	}
}

// RemoveSandbox forgets it.
func (r *Runtime) RemoveSandbox(_ context.Context, uid types.UID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pods[uid]; p != nil {
		r.free(p)
		delete(r.pods, uid)
	}
	return nil
}

// ImagePresent says that every image is there.
func (r *Runtime) ImagePresent(context.Context, string) (bool, error) { return true, nil }

// PullImage pulls nothing.
func (r *Runtime) PullImage(context.Context, string, []kubelet.RegistryAuth) (kubelet.Image, error) {
	return kubelet.Image{}, nil
}

// StartContainer makes a container that runs from now on, and plans its end.
func (r *Runtime) StartContainer(_ context.Context, c kubelet.ContainerConfig) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[c.Pod.UID]
	if p == nil {
		return "", fmt.Errorf("start container %s: pod has no sandbox", c.Container.Name)
	}
	now := r.clock.Now()
	n := &container{Container: kubelet.Container{
		ID: containerID(c.Pod.UID, c.Container.Name, c.Attempt), Name: c.Container.Name, Attempt: c.Attempt,
		Image: c.Container.Image, ImageID: Name + "://" + c.Container.Image,
		State: kubelet.StateRunning, Created: now, Started: now, SpecHash: c.SpecHash,
	}}
	n.plan(c.Pod)
	p.containers = append(p.containers, n)
	return n.ID, nil
}

// containerID is the same whenever it is asked for.
func containerID(uid types.UID, name string, attempt int) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + name + "/" + strconv.Itoa(attempt)))
	return Name + "://" + hex.EncodeToString(sum[:])
}

// StopContainer ends a container as a well-behaved program does: with status 0.
func (r *Runtime) StopContainer(_ context.Context, id string, _ time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, c := r.find(id); c != nil && c.State == kubelet.StateRunning {
		c.exit(r.clock.Now(), 0, "")
	}
	return nil
}

// RemoveContainer forgets a container.
func (r *Runtime) RemoveContainer(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, c := r.find(id)
	for i := range len(containersOf(p)) {
		if p.containers[i] == c {
			p.containers = append(p.containers[:i:i], p.containers[i+1:]...)
			break
		}
	}
	return nil
}

func containersOf(p *pod) []*container {
	if p == nil {
		return nil
	}
	return p.containers
}

// find looks a container up by ID. Called with mu held.
func (r *Runtime) find(id string) (*pod, *container) {
	for uid, p := range r.pods {
		for _, c := range p.containers {
			if c.ID == id {
				r.sandbox(uid, p)
				return p, c
			}
		}
	}
	return nil, nil
}
