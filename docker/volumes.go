package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"path"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/errdefs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Where the sandbox mounts the pod's volumes, and the one volume that is
// kuberow's own: termination messages.
const (
	sandboxVolumes = "/volumes"
	sandboxOwn     = "/kuberow"
	ownVolume      = "kuberow"
)

func (r *Runtime) volumeName(uid types.UID, volume string) string {
	return r.sandboxName(uid) + "-" + volume
}

// inEngine says whether a volume of a pod is a Docker volume: all but those
// that are a path of the host.
func inEngine(v *corev1.Volume) bool {
	s := v.VolumeSource
	return s.EmptyDir != nil || s.ConfigMap != nil || s.Secret != nil || s.DownwardAPI != nil || s.Projected != nil
}

// ensureVolumes makes the pod's Docker volumes and gives them as mounts of the sandbox.
func (r *Runtime) ensureVolumes(ctx context.Context, pod *corev1.Pod) ([]mount.Mount, error) {
	mounts := []mount.Mount{{Type: mount.TypeVolume, Source: r.volumeName(pod.UID, ownVolume), Target: sandboxOwn}}
	options := map[string]map[string]string{r.volumeName(pod.UID, ownVolume): nil}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if !inEngine(v) {
			continue
		}
		name := r.volumeName(pod.UID, v.Name)
		mounts = append(mounts, mount.Mount{Type: mount.TypeVolume, Source: name, Target: path.Join(sandboxVolumes, v.Name)})
		options[name] = nil
		if e := v.EmptyDir; e != nil && e.Medium == corev1.StorageMediumMemory {
			options[name] = map[string]string{"type": "tmpfs", "device": "tmpfs", "o": "mode=0777"}
			if e.SizeLimit != nil && !e.SizeLimit.IsZero() {
				options[name]["o"] += fmt.Sprintf(",size=%d", e.SizeLimit.Value())
			}
		}
	}
	for name, opts := range options {
		labels := r.podLabels(pod, roleVolume)
		labels[labelVolume] = name
		if _, err := r.engine.VolumeCreate(ctx, volume.CreateOptions{Driver: "local", DriverOpts: opts, Name: name, Labels: labels}); err != nil {
			return nil, fmt.Errorf("create the volume %s: %w", name, err)
		}
	}
	return mounts, nil
}

// prepareVolumes opens emptyDirs to everyone, as the kubelet does (0777, and
// the group fsGroup with the set-group-ID bit).
func (r *Runtime) prepareVolumes(ctx context.Context, sandbox string, pod *corev1.Pod) error {
	layer := &bytes.Buffer{}
	w := tar.NewWriter(layer)
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil {
			continue
		}
		head := &tar.Header{Typeflag: tar.TypeDir, Name: v.Name + "/", Mode: 0o777}
		if group := fsGroup(pod); group != 0 {
			head.Mode, head.Gid = 0o2777, group
		}
		if err := w.WriteHeader(head); err != nil {
			return fmt.Errorf("write the volume %s: %w", v.Name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write the volumes: %w", err)
	}
	if layer.Len() <= 1024 {
		return nil // an empty archive: there is no emptyDir
	}
	if err := r.engine.CopyToContainer(ctx, sandbox, sandboxVolumes, layer, container.CopyToContainerOptions{}); err != nil {
		return fmt.Errorf("open the volumes of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func fsGroup(pod *corev1.Pod) int {
	if sc := pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
		return int(*sc.FSGroup)
	}
	return 0
}

// mountpoint is where the engine keeps a volume: a path of the engine's host,
// which only the engine resolves (to bind a part of a volume).
func (r *Runtime) mountpoint(ctx context.Context, name string) (string, error) {
	v, err := r.engine.VolumeInspect(ctx, name)
	if err != nil {
		return "", fmt.Errorf("inspect the volume %s: %w", name, err)
	}
	return v.Mountpoint, nil
}

func (r *Runtime) removeVolumes(ctx context.Context, uid types.UID) error {
	found, err := r.engine.VolumeList(ctx, volume.ListOptions{Filters: r.mine(uid)})
	if err != nil {
		return fmt.Errorf("list the volumes of pod %s: %w", uid, err)
	}
	for _, v := range found.Volumes {
		if err := r.engine.VolumeRemove(ctx, v.Name, true); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove the volume %s: %w", v.Name, err)
		}
	}
	return nil
}
