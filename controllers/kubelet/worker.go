package kubelet

import (
	"context"
	"maps"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers"
)

// A worker is what is known of one pod, and who works on it.
//
// Step and the runtime's events change its inputs (pod, gone, stale) and kick
// it; sync reads them and changes its outputs (sandbox, reasons, stopped, ...),
// from which Step makes the status. At most one sync of a worker runs: busy is
// set while it does, and dirty asks for another round. A sync lets go of mu while
// it waits for the runtime.
type worker struct {
	key  controllers.Key
	uid  types.UID
	node string
	born time.Time // when it was first seen
	sim  Simulator // nil for a real runtime

	mu sync.Mutex // guards all below

	// Inputs.
	pod    *corev1.Pod // the API's newest, never changed; nil for a sandbox whose pod was not seen yet
	synced string      // resourceVersion of the pod that sync saw last
	gone   bool        // the API has it no more
	stale  bool        // the runtime's state changed; ask it again

	// Who works.
	busy   bool
	dirty  bool
	cancel context.CancelFunc // ends the running sync's waiting; nil when none may be interrupted

	// Outputs. Maps are of this worker only; the Sandbox is replaced, never changed.
	sandbox *Sandbox            // as the runtime gave it last; nil for none
	reasons map[string]reason   // why a container is not started, by its name
	backoff map[string]*backoff // by restart/NAME, pull/IMAGE, sandbox, volumes
	probes  map[probeKey]*probeState
	killed  map[string]bool // container IDs whose end has been announced and whose preStop was run
	volumes *volumeSet      // resolved; nil before
	next    time.Time       // when sync wants to run though nothing changed; zero for never
	evict   *reason         // phase Failed with this reason, whatever the containers say
	stop    *stopping       // set once the pod has to end
	stopped bool            // nothing of the pod runs and nothing will be started
	removed bool            // the runtime has forgotten it
}

// reason is what a waiting container says.
type reason struct{ Reason, Message string }

func (k *Kubelet) newWorker(key controllers.Key, uid types.UID, node string) *worker {
	return &worker{
		key: key, uid: uid, node: node, born: k.Clock.Now(), sim: k.sim,
		reasons: map[string]reason{},
		backoff: map[string]*backoff{},
		probes:  map[probeKey]*probeState{},
		killed:  map[string]bool{},
	}
}

// learn compares a list of what runs with what is known, and says whether it is
// news. The list may be older than what a sync has seen since, so the worker only
// asks again; what it did not know at all it takes.
func (w *worker) learn(s *Sandbox) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.sandbox == nil && s == nil || w.sandbox != nil && s != nil && reflect.DeepEqual(*w.sandbox, *s):
		return false
	case w.sandbox == nil && !w.busy:
		w.sandbox = s
	default:
		w.stale = true
	}
	return true
}

// observe takes the API's newest word for the pod. A delete interrupts what
// the worker is waiting for, as does a shorter grace period.
func (w *worker) observe(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := w.pod
	w.pod = pod
	if w.cancel == nil {
		return
	}
	if pod.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil || grace(pod) < grace(old)) {
		w.cancel()
	}
}

// needsSync says whether there is anything to do: the pod or what runs of it is
// not what the last sync saw, or its time has come.
func (w *worker) needsSync(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dirty || w.stale || w.pod.ResourceVersion != w.synced || !w.next.IsZero() && !w.next.After(now)
}

// lost notes that the API has the pod no more.
func (w *worker) lost() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	if w.cancel != nil {
		w.cancel()
	}
}

// kick has sync run: in this call for a simulator, else in a goroutine that
// ends when there is nothing more to do.
func (k *Kubelet) kick(w *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dirty = true
	if w.busy || !k.up.Load() || k.ctx.Err() != nil { // connect wakes all when the engine is there
		return
	}
	w.busy = true
	if k.sim != nil {
		w.mu.Unlock()
		k.work(w)
		w.mu.Lock()
		return
	}
	if !k.spawn(func() { k.work(w); k.Wake(w.key) }) {
		w.busy = false
	}
}

// work runs sync until nobody asked for another round.
func (k *Kubelet) work(w *worker) {
	for {
		w.mu.Lock()
		if !w.dirty || k.ctx.Err() != nil {
			w.busy = false
			w.mu.Unlock()
			return
		}
		w.dirty = false
		ctx, cancel := context.WithCancel(k.ctx)
		w.cancel = cancel
		w.mu.Unlock()

		k.sync(ctx, w)

		w.mu.Lock()
		w.cancel = nil
		w.mu.Unlock()
		cancel()
	}
}

// again asks for a sync at t, unless one is due earlier. Called with mu held.
func (w *worker) again(t time.Time) {
	if !t.IsZero() && (w.next.IsZero() || t.Before(w.next)) {
		w.next = t
	}
}

// report publishes a waiting reason; "" clears it.
func (w *worker) report(container string, r reason) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Reason == "" {
		delete(w.reasons, container)
		return
	}
	w.reasons[container] = r
}

// refresh asks the runtime for the pod's sandbox.
func (k *Kubelet) refresh(ctx context.Context, w *worker) error {
	s, ok, err := k.Runtime.Sandbox(ctx, w.uid)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale = false
	if ok {
		w.sandbox = &s
		w.again(s.Next)
	} else {
		w.sandbox = nil
	}
	w.dropOld()
	return nil
}

// dropOld forgets the probes of attempts that run no more, and the ends of
// those that the runtime has forgotten. Called with mu held.
func (w *worker) dropOld() {
	there, runs := map[string]bool{}, map[string]bool{}
	if w.sandbox != nil {
		for i := range w.sandbox.Containers {
			c := &w.sandbox.Containers[i]
			there[c.ID], runs[c.ID] = true, c.State == StateRunning
		}
	}
	maps.DeleteFunc(w.probes, func(k probeKey, _ *probeState) bool { return !runs[k.id] })
	maps.DeleteFunc(w.killed, func(id string, _ bool) bool { return !there[id] })
}

// knownPod says whether the API's pod has been seen.
func (w *worker) knownPod() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pod != nil
}
