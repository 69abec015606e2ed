package docker

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/strslice"
	"github.com/docker/docker/errdefs"
	corev1 "k8s.io/api/core/v1"

	"kuberow/controllers/kubelet"
)

// StartContainer writes the files that the container will see, creates it in
// the sandbox's namespaces and starts it. What was created but did not start
// stays, as an attempt that failed; its error is a *kubelet.StartError.
func (r *Runtime) StartContainer(ctx context.Context, c kubelet.ContainerConfig) (string, error) {
	if err := r.verifyNonRoot(ctx, c); err != nil {
		return "", err
	}
	sandbox := r.sandboxName(c.Pod.UID)
	message := messageFile(c.Container.Name, c.Attempt)
	if err := r.touchMessage(ctx, sandbox, message); err != nil {
		return "", err
	}
	for _, m := range c.Mounts {
		if m.Files != nil {
			if err := r.writeFiles(ctx, sandbox, m.Volume, fsGroup(c.Pod), m.Files); err != nil {
				return "", err
			}
		}
	}
	host, err := r.containerHost(ctx, c, message)
	if err != nil {
		return "", err
	}
	config := r.containerConfig(c, message)
	name := fmt.Sprintf("%s-%s-%d", sandbox, c.Container.Name, c.Attempt)
	made, err := r.engine.ContainerCreate(ctx, config, host, nil, nil, name)
	if errdefs.IsConflict(err) {
		// An earlier process died between create and start: that attempt never ran.
		if err := r.remove(ctx, name); err != nil {
			return "", err
		}
		made, err = r.engine.ContainerCreate(ctx, config, host, nil, nil, name)
	}
	if err != nil {
		return "", fmt.Errorf("create container %s: %w", c.Container.Name, err)
	}
	if err := r.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return idPrefix + made.ID, &kubelet.StartError{ID: idPrefix + made.ID, Err: fmt.Errorf("failed to start container %q: %w", made.ID, err)}
	}
	return idPrefix + made.ID, nil
}

func (r *Runtime) containerConfig(c kubelet.ContainerConfig, message string) *container.Config {
	labels := r.podLabels(c.Pod, roleContainer)
	labels[labelContainer] = c.Container.Name
	labels[labelAttempt] = strconv.Itoa(c.Attempt)
	labels[labelSpecHash] = c.SpecHash
	labels[labelMessage] = message
	if c.Container.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		labels[labelMessageLog] = "true"
	}
	config := &container.Config{
		Image: c.Container.Image, Labels: labels, WorkingDir: c.Container.WorkingDir,
		Tty: c.Container.TTY, OpenStdin: c.Container.Stdin, StdinOnce: c.Container.StdinOnce,
		Entrypoint: strslice.StrSlice(c.Command), Cmd: strslice.StrSlice(c.Args),
		Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // probes are the kubelet's
		User:        user(c),
	}
	for _, e := range c.Env {
		config.Env = append(config.Env, e.Name+"="+e.Value)
	}
	return config
}

// user is runAsUser:runAsGroup, the container's before the pod's; "" leaves the image's.
func user(c kubelet.ContainerConfig) string {
	var uid, gid *int64
	if sc := c.Pod.Spec.SecurityContext; sc != nil {
		uid, gid = sc.RunAsUser, sc.RunAsGroup
	}
	if sc := c.Container.SecurityContext; sc != nil {
		if sc.RunAsUser != nil {
			uid = sc.RunAsUser
		}
		if sc.RunAsGroup != nil {
			gid = sc.RunAsGroup
		}
	}
	if uid == nil {
		return ""
	}
	text := strconv.FormatInt(*uid, 10)
	if gid != nil {
		text += ":" + strconv.FormatInt(*gid, 10)
	}
	return text
}

// containerHost joins the sandbox's namespaces and sets mounts, limits and rights.
func (r *Runtime) containerHost(ctx context.Context, c kubelet.ContainerConfig, message string) (*container.HostConfig, error) {
	sandbox := "container:" + r.sandboxName(c.Pod.UID)
	host := &container.HostConfig{
		NetworkMode:   container.NetworkMode(sandbox),
		IpcMode:       container.IpcMode(sandbox),
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled}, // restarts are the kubelet's
		LogConfig:     container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "10m", "max-file": "3"}},
		OomScoreAdj:   oomScore(c),
	}
	switch {
	case c.Target != "":
		host.PidMode = container.PidMode("container:" + engineID(c.Target))
	case c.Pod.Spec.HostPID:
		host.PidMode = "host"
	case c.Pod.Spec.ShareProcessNamespace != nil && *c.Pod.Spec.ShareProcessNamespace:
		host.PidMode = container.PidMode(sandbox)
	}
	if c.Pod.Spec.HostNetwork {
		host.NetworkMode = "host"
	}
	host.Resources = resources(c.Container.Resources)
	rights(host, c)
	own, err := r.mountpoint(ctx, r.volumeName(c.Pod.UID, ownVolume))
	if err != nil {
		return nil, err
	}
	host.Binds = append(host.Binds, path.Join(own, message)+":"+c.Container.TerminationMessagePath)
	return host, r.mounts(ctx, host, c)
}

// mounts adds the volume mounts. A whole volume is mounted by name; a path of
// the host or a part of a volume is a bind, which the engine creates as a
// directory where it is not there.
func (r *Runtime) mounts(ctx context.Context, host *container.HostConfig, c kubelet.ContainerConfig) error {
	for _, m := range c.Mounts {
		source := m.HostPath
		if source == "" {
			name := r.volumeName(c.Pod.UID, m.Volume)
			if m.SubPath == "" {
				host.Mounts = append(host.Mounts, mount.Mount{Type: mount.TypeVolume, Source: name, Target: m.Path, ReadOnly: m.ReadOnly,
					VolumeOptions: &mount.VolumeOptions{NoCopy: true}})
				continue
			}
			at, err := r.mountpoint(ctx, name)
			if err != nil {
				return err
			}
			source = at
		}
		options := []string{}
		if m.ReadOnly {
			options = append(options, "ro")
		}
		switch corev1.MountPropagationMode(m.Propagation) {
		case corev1.MountPropagationHostToContainer:
			options = append(options, "rslave")
		case corev1.MountPropagationBidirectional:
			options = append(options, "rshared")
		}
		bind := path.Join(source, m.SubPath) + ":" + m.Path
		if len(options) > 0 {
			bind += ":" + strings.Join(options, ",")
		}
		host.Binds = append(host.Binds, bind)
	}
	return nil
}

// StopContainer sends the stop signal, waits grace, kills.
func (r *Runtime) StopContainer(ctx context.Context, id string, grace time.Duration) error {
	seconds := int(grace.Round(time.Second) / time.Second)
	err := r.engine.ContainerStop(ctx, engineID(id), container.StopOptions{Timeout: &seconds})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("stop container %s: %w", id, err)
	}
	return nil
}

// RemoveContainer forgets an exited attempt and its log.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	return r.remove(ctx, engineID(id))
}
