package docker

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/errdefs"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

// List gives the pods of this cluster as the engine has them. The list call
// tells little, so each container is inspected.
func (r *Runtime) List(ctx context.Context) ([]kubelet.Sandbox, error) {
	return r.list(ctx, "")
}

// Sandbox gives one pod.
func (r *Runtime) Sandbox(ctx context.Context, uid types.UID) (kubelet.Sandbox, bool, error) {
	found, err := r.list(ctx, uid)
	if err != nil || len(found) == 0 {
		return kubelet.Sandbox{}, false, err
	}
	return found[0], true, nil
}

func (r *Runtime) list(ctx context.Context, uid types.UID) ([]kubelet.Sandbox, error) {
	all, err := r.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: r.mine(uid, labelPodUID)})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	pods := map[types.UID]*kubelet.Sandbox{}
	for _, summary := range all {
		c, err := r.engine.ContainerInspect(ctx, summary.ID)
		if errdefs.IsNotFound(err) {
			continue // removed between the two calls
		}
		if err != nil && summary.State == "running" {
			return nil, fmt.Errorf("inspect container %s: %w", summary.ID, err)
		}
		if err != nil {
			// An engine that died may have lost the container's files and answers so for ever: what ran is over.
			r.Logger.Warn("a container cannot be inspected; it counts as ended", "container", summary.ID, "error", err)
			c = lost(summary)
		}
		owner := types.UID(c.Config.Labels[labelPodUID])
		pod := pods[owner]
		if pod == nil {
			pod = &kubelet.Sandbox{PodUID: owner, Namespace: c.Config.Labels[labelNamespace], Name: c.Config.Labels[labelPod], Node: c.Config.Labels[labelNode]}
			pods[owner] = pod
		}
		if c.Config.Labels[labelRole] == roleSandbox {
			r.describeSandbox(pod, c)
			continue
		}
		pod.Containers = append(pod.Containers, r.describe(ctx, c))
	}
	out := make([]kubelet.Sandbox, 0, len(pods))
	for _, pod := range pods {
		sort.Slice(pod.Containers, func(i, j int) bool {
			a, b := pod.Containers[i], pod.Containers[j]
			return a.Name < b.Name || a.Name == b.Name && a.Attempt < b.Attempt
		})
		out = append(out, *pod)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PodUID < out[j].PodUID })
	return out, nil
}

// lost is what the list still knows of a container that cannot be inspected.
func lost(s container.Summary) container.InspectResponse {
	return container.InspectResponse{
		ContainerJSONBase: &container.ContainerJSONBase{ID: s.ID, Image: s.ImageID, Created: time.Unix(s.Created, 0).UTC().Format(time.RFC3339Nano),
			State: &container.State{Status: s.State, ExitCode: 137, Error: "the container's files are gone"}},
		Config:          &container.Config{Image: s.Image, Labels: s.Labels},
		NetworkSettings: &container.NetworkSettings{},
	}
}

func (r *Runtime) describeSandbox(pod *kubelet.Sandbox, c container.InspectResponse) {
	pod.ID = c.ID
	pod.Ready = c.State.Running
	pod.Created = engineTime(c.Created)
	if e := c.NetworkSettings.Networks[r.NetworkName()]; e != nil && e.IPAddress != "" {
		pod.IPs = []string{e.IPAddress}
	}
}

// describe turns an inspected container into one attempt.
func (r *Runtime) describe(ctx context.Context, c container.InspectResponse) kubelet.Container {
	attempt, _ := strconv.Atoi(c.Config.Labels[labelAttempt]) // written by container.go; 0 when someone else made it
	out := kubelet.Container{
		ID: idPrefix + c.ID, Name: c.Config.Labels[labelContainer], Attempt: attempt,
		Image: c.Config.Image, ImageID: "docker://" + c.Image, SpecHash: c.Config.Labels[labelSpecHash],
		Created: engineTime(c.Created), Started: engineTime(c.State.StartedAt), Finished: engineTime(c.State.FinishedAt),
		StopSignal: c.Config.StopSignal,
	}
	switch {
	case c.State.Running || c.State.Paused || c.State.Restarting:
		out.State = kubelet.StateRunning
		out.Finished = time.Time{}
	case c.State.Status == "created" && c.State.ExitCode == 0:
		out.State = kubelet.StateCreated
	default:
		out.State = kubelet.StateExited
		if out.Finished.Before(out.Started) {
			out.Started = out.Finished // the engine notes the start of a short process after its end
		}
		out.ExitCode = int32(c.State.ExitCode)
		out.Reason = exitReason(c.State)
		out.Message = r.message(ctx, c)
		if out.Message == "" && c.State.Error != "" {
			out.Message = c.State.Error
		}
	}
	return out
}

// message is an ended container's termination message. Reading it takes the
// engine longer than all the rest of a look at a pod, so it is kept.
func (r *Runtime) message(ctx context.Context, c container.InspectResponse) string {
	if text, ok := r.messages.Load(c.ID); ok {
		return text.(string)
	}
	text := r.terminationMessage(ctx, c)
	if ctx.Err() == nil {
		r.messages.Store(c.ID, text)
	}
	return text
}

// exitReason uses the CRI's words.
func exitReason(s *container.State) string {
	switch {
	case s.OOMKilled:
		return "OOMKilled"
	case s.Status == "created":
		return "StartError"
	case s.ExitCode == 0:
		return "Completed"
	default:
		return "Error"
	}
}

// engineTime reads the engine's times; its zero (year 1) and nonsense are the zero Time.
func engineTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
