package kubelet

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers"
)

// The kubelet and its engine: finding what an earlier process left running,
// following events, and living through an engine that goes away.

// connect subscribes to the engine's events, then lists what runs: in this
// order nothing is missed in between.
func (k *Kubelet) connect() (<-chan types.UID, error) {
	if _, err := k.Runtime.Version(k.ctx); err != nil {
		return nil, err
	}
	sub, cancel := context.WithCancel(k.ctx)
	events, err := k.Runtime.Events(sub)
	if err == nil {
		err = k.relist(k.ctx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(k.ctx, cancel)
	k.up.Store(true)
	k.orphans()
	return events, nil
}

// orphans removes what runs for pods that the API has no more.
func (k *Kubelet) orphans() {
	k.mu.Lock()
	all := make([]*worker, 0, len(k.pods))
	for _, w := range k.pods {
		all = append(all, w)
	}
	k.mu.Unlock()
	for _, w := range all {
		if k.isGone(w) {
			w.lost()
			k.kick(w)
		}
	}
}

// relist compares all that runs with the workers: known pods learn of changes
// whose event was missed, unknown sandboxes get a worker that adopts or removes them.
func (k *Kubelet) relist(ctx context.Context) error {
	sandboxes, err := k.Runtime.List(ctx)
	if err != nil {
		return err
	}
	seen := map[types.UID]bool{}
	k.mu.Lock()
	var changed []*worker
	for i := range sandboxes {
		s := &sandboxes[i]
		seen[s.PodUID] = true
		w := k.pods[s.PodUID]
		if w == nil {
			w = k.newWorker(controllers.Key{Namespace: s.Namespace, Name: s.Name}, s.PodUID, s.Node)
			k.pods[s.PodUID] = w
		}
		if news := w.learn(s); news && w.knownPod() {
			changed = append(changed, w)
		}
	}
	for uid, w := range k.pods {
		if !seen[uid] && w.learn(nil) {
			changed = append(changed, w)
		}
	}
	k.mu.Unlock()
	for _, w := range changed {
		k.poke(w)
	}
	return nil
}

// retryEngine is how long to wait before an engine that does not answer is asked again.
const retryEngine = 2 * time.Second

// follow connects to the engine, hands each event to its pod's worker, and
// connects again when the engine went away.
func (k *Kubelet) follow() {
	told := false
	for k.ctx.Err() == nil {
		events, err := k.connect()
		switch {
		case err == nil:
			if told {
				k.Logger.Info("container runtime is back", "runtime", k.Runtime.Name())
			}
			k.nodesChanged()
			k.wakeAll()
			for uid := range events {
				k.changed(uid)
			}
			k.up.Store(false)
			if k.ctx.Err() != nil {
				return
			}
			k.Logger.Warn("container runtime went away; pods stay as they are, nodes are not ready", "runtime", k.Runtime.Name())
			k.nodesChanged()
			told = true
		case !told && k.ctx.Err() == nil:
			k.Logger.Warn("container runtime is down; pods stay as they are until it is back", "runtime", k.Runtime.Name(), "err", err)
			told = true
		}
		select {
		case <-k.ctx.Done():
		case <-k.Clock.After(retryEngine):
		}
	}
}

func (k *Kubelet) nodesChanged() {
	if k.NodesChanged != nil {
		k.NodesChanged()
	}
}

// changed notes that the runtime said something of a pod's containers happened.
func (k *Kubelet) changed(uid types.UID) {
	k.mu.Lock()
	w := k.pods[uid]
	k.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	w.stale = true
	w.mu.Unlock()
	k.poke(w)
}
