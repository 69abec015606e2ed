package kubelet

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// stopOrder makes sidecars wait: each ends after all main containers and after
// the sidecars that were started later, or when the grace period is over.
type stopOrder struct {
	mu     sync.Mutex
	ended  map[string]chan struct{} // closed when the container has ended
	before map[string][]string      // what a sidecar waits for
}

// newStopOrder orders what runs; nil when there are no sidecars.
func newStopOrder(pod *corev1.Pod, s *Sandbox) *stopOrder {
	o := &stopOrder{ended: map[string]chan struct{}{}, before: map[string][]string{}}
	runs := map[string]bool{}
	for _, c := range s.running() {
		runs[c.Name] = true
	}
	var earlier []string
	for i := range pod.Spec.Containers {
		if name := pod.Spec.Containers[i].Name; runs[name] {
			earlier = append(earlier, name)
			o.ended[name] = make(chan struct{})
		}
	}
	sidecars := false
	for i := len(pod.Spec.InitContainers) - 1; i >= 0; i-- {
		c := &pod.Spec.InitContainers[i]
		if !isSidecar(c) || !runs[c.Name] {
			continue
		}
		sidecars = true
		o.before[c.Name] = append([]string(nil), earlier...)
		o.ended[c.Name] = make(chan struct{})
		earlier = append(earlier, c.Name)
	}
	if !sidecars {
		return nil
	}
	return o
}

// wait waits for a container's turn, at most left, and says how long it took.
func (o *stopOrder) wait(ctx context.Context, c clock.Clock, name string, left time.Duration) time.Duration {
	start := c.Now()
	timer := c.NewTimer(left)
	defer timer.Stop()
	for _, other := range o.before[name] {
		select {
		case <-o.ended[other]:
		case <-timer.C():
			return left
		case <-ctx.Done():
			return c.Since(start)
		}
	}
	return c.Since(start)
}

// stopped says that a container has ended.
func (o *stopOrder) stopped(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ch, ok := o.ended[name]; ok {
		select {
		case <-ch:
		default:
			close(ch)
		}
	}
}
