package kubelet

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// This file is the Kubelet itself: what it is made of, how it starts and stops.

// Config is what a Kubelet needs.
type Config struct {
	Runtime Runtime
	Clock   clock.WithDelayedExecution
	// Wake makes the controller runner call Step for a key: Runner.Wake with the controller's name.
	Wake    func(controllers.Key)
	Reader  kinds.Reader
	Tokens  TokenSource // nil: projected service account tokens fail to mount
	Cluster *kinds.Cluster
	// NodeAddresses gives the addresses of a node of this fleet, nil for a node that is not ours; its pods are left alone.
	NodeAddresses func(node string) []corev1.NodeAddress
	// NodesChanged is told when the engine went away or came back (nil: nobody is): the nodes' conditions changed.
	NodesChanged func()
	Logger       *slog.Logger
}

// TokenSource makes a service account token, as a kubelet asks the API server
// for it: serviceaccounts/NAME/token, bound to the pod.
type TokenSource func(ctx context.Context, namespace, serviceAccount string, tr *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error)

// Kubelet runs the pods of a fleet of nodes on one Runtime.
type Kubelet struct {
	Config
	sim     Simulator // the Runtime, when it is one: workers then run inside Step
	started time.Time
	told    told
	starts  chan struct{} // a token for each sandbox or container that may be started at once

	ctx    context.Context
	cancel context.CancelFunc

	tasksMu sync.Mutex     // orders spawn before the Wait of Stop
	tasks   sync.WaitGroup // goroutines: the engine loop, busy workers, running probes

	up atomic.Bool // the engine answers and what it runs has been listed

	mu     sync.Mutex
	pods   map[types.UID]*worker
	byName map[controllers.Key]*worker // the worker of the pod that has this name now
	refs   map[ref]map[types.UID]bool  // which pods read a config map or a secret
}

// parallelStarts is how many sandboxes and containers an engine is asked to
// start at the same time.
const parallelStarts = 8

// New makes a Kubelet that does nothing before Start.
func New(c Config) *Kubelet {
	k := &Kubelet{
		Config: c,
		starts: make(chan struct{}, parallelStarts),
		pods:   map[types.UID]*worker{},
		byName: map[controllers.Key]*worker{},
		refs:   map[ref]map[types.UID]bool{},
	}
	k.sim, _ = c.Runtime.(Simulator)
	return k
}

// Start follows the engine until Stop. What runs is listed first, so that Step
// adopts it; until then Step changes nothing. A real engine is asked in the
// background, since it may take long or not be there, which is no error: the nodes are
// not ready and it is tried again.
func (k *Kubelet) Start(ctx context.Context) error {
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	k.started = k.Clock.Now()
	if k.sim == nil {
		k.spawn(k.follow)
		return nil
	}
	if err := k.restore(ctx); err != nil {
		return fmt.Errorf("restore simulated pods: %w", err)
	}
	_, err := k.connect()
	return err
}

// Stop ends all work. Containers keep running.
func (k *Kubelet) Stop() {
	k.tasksMu.Lock()
	if k.cancel != nil {
		k.cancel()
	}
	k.tasksMu.Unlock()
	k.tasks.Wait()
}

// spawn runs f in a goroutine that Stop waits for; false after Stop.
func (k *Kubelet) spawn(f func()) bool {
	k.tasksMu.Lock()
	defer k.tasksMu.Unlock()
	if k.ctx == nil || k.ctx.Err() != nil {
		return false
	}
	k.tasks.Add(1)
	go func() {
		defer k.tasks.Done()
		f()
	}()
	return true
}

// restore tells a simulator what the pods' status says was running.
func (k *Kubelet) restore(ctx context.Context) error {
	objs, err := k.Reader.List(ctx, podResource, "", nil)
	if err != nil {
		return err
	}
	var pods, others []*corev1.Pod
	for _, o := range objs {
		switch p, ok := o.(*corev1.Pod); {
		case !ok || p.Spec.NodeName == "":
		case k.NodeAddresses(p.Spec.NodeName) != nil:
			pods = append(pods, p)
		default:
			others = append(others, p)
		}
	}
	k.sim.Restore(pods)
	k.sim.Reserve(others)
	return nil
}

// poke has a worker look again: a simulator's inside the next Step, another's in its goroutine.
func (k *Kubelet) poke(w *worker) {
	if k.sim != nil {
		k.Wake(w.key)
		return
	}
	k.kick(w)
}

func (k *Kubelet) wakeAll() {
	k.mu.Lock()
	keys := make([]controllers.Key, 0, len(k.byName))
	for key := range k.byName {
		keys = append(keys, key)
	}
	k.mu.Unlock()
	for _, key := range keys {
		k.Wake(key)
	}
}
