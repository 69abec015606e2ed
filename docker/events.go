package docker

import (
	"context"

	"github.com/docker/docker/api/types/events"
	"k8s.io/apimachinery/pkg/types"
)

// Events names the pod of each container event. The channel closes when the
// engine goes away or ctx ends; the kubelet then asks Version until it is back.
func (r *Runtime) Events(ctx context.Context) (<-chan types.UID, error) {
	if _, err := r.Version(ctx); err != nil {
		return nil, err
	}
	f := r.mine("")
	f.Add("type", string(events.ContainerEventType))
	for _, what := range []events.Action{events.ActionStart, events.ActionDie, events.ActionDestroy, events.ActionOOM} {
		f.Add("event", string(what))
	}
	messages, failed := r.engine.Events(ctx, events.ListOptions{Filters: f})
	out := make(chan types.UID)
	go func() {
		defer close(out)
		for {
			select {
			case m := <-messages:
				select {
				case out <- types.UID(m.Actor.Attributes[labelPodUID]):
				case <-ctx.Done():
					return
				}
			case <-failed:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}
