package kubelet

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The volumes of a pod: resolved before its sandbox is made, as a real kubelet
// mounts them; what is missing is told as FailedMount and tried again. The files
// of a running pod follow their config maps, secrets and tokens.

// volumeSet is what a pod's volumes were resolved to.
type volumeSet struct {
	byName  map[string]Mount          // without Path, SubPath, ReadOnly: those are of each container
	tokens  map[string]projectedToken // by volume/path
	refresh time.Time                 // when the first token is to be renewed; zero for never
}

// mountVolumes resolves the pod's volumes, or what changed in them.
func (k *Kubelet) mountVolumes(ctx context.Context, w *worker) error {
	now := k.Clock.Now()
	w.mu.Lock()
	pod, old := w.pod, w.volumes
	b := w.backoffOf("volumes")
	wait, note := b.until(b.last, now), b.note
	w.mu.Unlock()
	if old != nil && (k.sim != nil || !needsRefresh(pod)) {
		return nil
	}
	if old == nil && !wait.IsZero() && k.refVersions(pod) == note {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.again(wait)
		return errWaiting
	}
	set, failed, err := k.resolveVolumes(ctx, pod, old)
	if err != nil {
		if old != nil || ctx.Err() != nil {
			return nil // what is mounted stays
		}
		k.event(pod, "", corev1.EventTypeWarning, "FailedMount", fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", failed, err))
		versions := k.refVersions(pod)
		w.mu.Lock()
		defer w.mu.Unlock()
		b.quick(now)
		b.note = versions
		w.again(now.Add(b.delay))
		return err
	}
	k.updateFiles(ctx, w, old, set)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.volumes = set
	delete(w.backoff, "volumes")
	w.again(set.refresh)
	return nil
}

// errWaiting means that a failed mount is not tried again yet.
var errWaiting = fmt.Errorf("waiting to mount volumes again")

// refVersions sums up the versions of what the pod's volumes read.
func (k *Kubelet) refVersions(pod *corev1.Pod) string {
	var out strings.Builder
	for _, r := range podRefs(pod) {
		gr := configMapResource
		if r.kind == "secret" {
			gr = secretResource
		}
		if o, err := k.Reader.Get(k.ctx, gr, r.namespace, r.name); err == nil {
			if m, ok := o.(interface{ GetResourceVersion() string }); ok {
				out.WriteString(r.name + "=" + m.GetResourceVersion() + " ")
			}
		}
	}
	return out.String()
}

// needsRefresh says whether a pod has volumes whose content may change.
func needsRefresh(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return isFiles(&v) })
}

// isFiles says whether a volume is made of files with known content.
func isFiles(v *corev1.Volume) bool {
	return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil
}

// updateFiles has the runtime write again what changed.
func (k *Kubelet) updateFiles(ctx context.Context, w *worker, old, set *volumeSet) {
	up, ok := k.Runtime.(FilesUpdater)
	if old == nil || !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(set.byName)) {
		files := set.byName[name].Files
		if files == nil || reflect.DeepEqual(files, old.byName[name].Files) {
			continue
		}
		if err := up.UpdateFiles(ctx, w.uid, name, files); err != nil && ctx.Err() == nil {
			k.Logger.Warn("kubelet: update files of volume", "pod", w.key.Namespace+"/"+w.key.Name, "volume", name, "err", err)
			set.byName[name] = old.byName[name] // tried again at the next look
		}
	}
}

// resolveVolumes resolves every volume; failed names the one that did not.
func (k *Kubelet) resolveVolumes(ctx context.Context, pod *corev1.Pod, old *volumeSet) (set *volumeSet, failed string, err error) {
	set = &volumeSet{byName: map[string]Mount{}, tokens: map[string]projectedToken{}}
	if old != nil {
		maps.Copy(set.tokens, old.tokens)
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if old != nil && !isFiles(v) {
			set.byName[v.Name] = old.byName[v.Name] // mounted once: a directory that was made is not made again
			continue
		}
		m, err := k.resolveVolume(ctx, pod, v, set)
		if err != nil {
			return nil, v.Name, err
		}
		m.Volume = v.Name
		set.byName[v.Name] = m
	}
	return set, "", nil
}

// mounts gives a container's mounts.
func (k *Kubelet) mounts(pod *corev1.Pod, c *corev1.Container, set *volumeSet, env environ) ([]Mount, error) {
	var out []Mount
	for _, vm := range c.VolumeMounts {
		if set == nil {
			break
		}
		m, ok := set.byName[vm.Name]
		if !ok {
			return nil, fmt.Errorf("cannot find volume %q to mount into container %q", vm.Name, c.Name)
		}
		sub := vm.SubPath
		if vm.SubPathExpr != "" {
			var missing string
			sub = expand(vm.SubPathExpr, func(name string) (string, bool) {
				v, ok := env.lookup(name)
				if !ok && missing == "" {
					missing = name
				}
				return v, ok
			})
			if missing != "" {
				return nil, fmt.Errorf("missing value for %q", missing)
			}
		}
		if filepath.IsAbs(sub) {
			return nil, fmt.Errorf("error SubPath `%s` must not be an absolute path", sub)
		}
		if slices.Contains(strings.Split(filepath.ToSlash(sub), "/"), "..") {
			return nil, fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", sub)
		}
		m.Path, m.SubPath = vm.MountPath, sub
		m.ReadOnly = vm.ReadOnly || m.ReadOnly
		if vm.MountPropagation != nil {
			m.Propagation = string(*vm.MountPropagation)
		}
		out = append(out, m)
	}
	return out, nil
}

var (
	claimResource  = schema.GroupResource{Resource: "persistentvolumeclaims"}
	volumeResource = schema.GroupResource{Resource: "persistentvolumes"}
)
