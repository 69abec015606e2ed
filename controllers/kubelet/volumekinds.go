package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What each kind of volume resolves to: a directory of the host, an emptyDir of
// the runtime, or files with their content.

// resolveVolume resolves one volume. A simulator mounts nothing: only what a
// pod would wait for (config maps, secrets) is looked at.
func (k *Kubelet) resolveVolume(ctx context.Context, pod *corev1.Pod, v *corev1.Volume, set *volumeSet) (Mount, error) {
	var files fileSet
	var err error
	switch {
	case v.ConfigMap != nil:
		s := v.ConfigMap
		err = k.configMapFiles(ctx, pod, s.Name, s.Items, mode(s.DefaultMode), s.Optional, &files)
	case v.Secret != nil:
		s := v.Secret
		err = k.secretFiles(ctx, pod, s.SecretName, s.Items, mode(s.DefaultMode), s.Optional, &files)
	case v.Projected != nil:
		err = k.projectedFiles(ctx, pod, v, set, &files)
	case v.DownwardAPI != nil:
		err = k.downwardFiles(pod, v.DownwardAPI.Items, mode(v.DownwardAPI.DefaultMode), &files)
	case v.EmptyDir != nil:
		return Mount{EmptyDir: v.EmptyDir}, nil
	case k.sim != nil:
		return Mount{EmptyDir: &corev1.EmptyDirVolumeSource{}}, nil
	case v.HostPath != nil:
		return hostPath(v.HostPath)
	case v.PersistentVolumeClaim != nil:
		return k.claim(ctx, pod, v.PersistentVolumeClaim.ClaimName, v.PersistentVolumeClaim.ReadOnly)
	case v.Ephemeral != nil:
		return k.claim(ctx, pod, pod.Name+"-"+v.Name, false)
	default:
		return Mount{}, fmt.Errorf("unsupported volume type %s", volumeType(v))
	}
	if err != nil {
		return Mount{}, err
	}
	return Mount{Files: files.list(), ReadOnly: true}, nil
}

// volumeType names the source that is set, for a message.
func volumeType(v *corev1.Volume) string {
	switch {
	case v.NFS != nil:
		return "nfs"
	case v.CSI != nil:
		return "csi"
	case v.ISCSI != nil:
		return "iscsi"
	case v.FC != nil:
		return "fc"
	case v.Image != nil:
		return "image"
	}
	return "of another storage system"
}

func mode(m *int32) int32 {
	if m == nil {
		return 0o644
	}
	return *m
}

// fileSet collects files; a later one of the same path wins.
type fileSet map[string]File

func (f *fileSet) add(path string, data []byte, mode int32) {
	if *f == nil {
		*f = fileSet{}
	}
	(*f)[path] = File{Path: path, Data: data, Mode: mode}
}

// list gives the files by path; never nil, which would be no volume of files.
func (f fileSet) list() []File {
	out := make([]File, 0, len(f))
	for _, x := range f {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return out
}

func (k *Kubelet) configMapFiles(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode int32, optional *bool, into *fileSet) error {
	m, err := k.configMap(ctx, pod.Namespace, name)
	if err != nil {
		return ignoreMissing(err, optional)
	}
	data := make(map[string][]byte, len(m.Data)+len(m.BinaryData))
	for key, v := range m.Data {
		data[key] = []byte(v)
	}
	for key, v := range m.BinaryData {
		data[key] = v
	}
	return addItems(data, items, mode, optional, "configmap references non-existent config key: %s", into)
}

func (k *Kubelet) secretFiles(ctx context.Context, pod *corev1.Pod, name string, items []corev1.KeyToPath, mode int32, optional *bool, into *fileSet) error {
	s, err := k.secret(ctx, pod.Namespace, name)
	if err != nil {
		return ignoreMissing(err, optional)
	}
	return addItems(s.Data, items, mode, optional, "references non-existent secret key: %s", into)
}

// addItems adds all keys, or those of items under their paths.
func addItems(data map[string][]byte, items []corev1.KeyToPath, mode int32, optional *bool, missing string, into *fileSet) error {
	if len(items) == 0 {
		for key, v := range data {
			into.add(key, v, mode)
		}
		return nil
	}
	for _, item := range items {
		v, ok := data[item.Key]
		switch {
		case ok && item.Mode != nil:
			into.add(item.Path, v, *item.Mode)
		case ok:
			into.add(item.Path, v, mode)
		case optional == nil || !*optional:
			return fmt.Errorf(missing, item.Key)
		}
	}
	return nil
}

func (k *Kubelet) downwardFiles(pod *corev1.Pod, items []corev1.DownwardAPIVolumeFile, mode int32, into *fileSet) error {
	for _, item := range items {
		m := mode
		if item.Mode != nil {
			m = *item.Mode
		}
		var value string
		var err error
		switch {
		case item.FieldRef != nil:
			value, err = k.podField(pod, item.FieldRef.FieldPath, nil)
		case item.ResourceFieldRef != nil:
			value, err = k.resourceField(pod, nil, item.ResourceFieldRef)
		}
		if err != nil {
			return err
		}
		into.add(filepath.Clean(item.Path), []byte(value), m)
	}
	return nil
}

// hostPath checks or makes the path as its type says.
func hostPath(s *corev1.HostPathVolumeSource) (Mount, error) {
	m := Mount{HostPath: s.Path}
	if s.Type == nil || *s.Type == corev1.HostPathUnset {
		return m, nil
	}
	info, err := os.Stat(s.Path)
	var fits bool
	switch *s.Type {
	case corev1.HostPathDirectoryOrCreate:
		if os.IsNotExist(err) {
			return m, os.MkdirAll(s.Path, 0o755)
		}
		fits = err == nil && info.IsDir()
	case corev1.HostPathFileOrCreate:
		if os.IsNotExist(err) {
			return m, os.WriteFile(s.Path, nil, 0o644)
		}
		fits = err == nil && info.Mode().IsRegular()
	case corev1.HostPathDirectory:
		fits = err == nil && info.IsDir()
	case corev1.HostPathFile:
		fits = err == nil && info.Mode().IsRegular()
	case corev1.HostPathSocket:
		fits = err == nil && info.Mode()&os.ModeSocket != 0
	case corev1.HostPathCharDev:
		fits = err == nil && info.Mode()&os.ModeCharDevice != 0
	case corev1.HostPathBlockDev:
		fits = err == nil && info.Mode()&os.ModeDevice != 0 && info.Mode()&os.ModeCharDevice == 0
	}
	if !fits {
		return m, fmt.Errorf("hostPath type check failed: %s is not a %s", s.Path, hostPathKinds[*s.Type])
	}
	return m, nil
}

var hostPathKinds = map[corev1.HostPathType]string{
	corev1.HostPathDirectoryOrCreate: "directory",
	corev1.HostPathDirectory:         "directory",
	corev1.HostPathFileOrCreate:      "file",
	corev1.HostPathFile:              "file",
	corev1.HostPathSocket:            "socket file",
	corev1.HostPathCharDev:           "character device",
	corev1.HostPathBlockDev:          "block device",
}

// claim follows a claim to its volume, which has to be a path of the host.
func (k *Kubelet) claim(ctx context.Context, pod *corev1.Pod, name string, readOnly bool) (Mount, error) {
	o, err := k.Reader.Get(ctx, claimResource, pod.Namespace, name)
	if apierrors.IsNotFound(err) {
		return Mount{}, fmt.Errorf("error getting PVC %s/%s: persistentvolumeclaim %q not found", pod.Namespace, name, name)
	}
	if err != nil {
		return Mount{}, err
	}
	pvc, ok := o.(*corev1.PersistentVolumeClaim)
	if !ok || pvc.Spec.VolumeName == "" || pvc.Status.Phase != corev1.ClaimBound {
		return Mount{}, fmt.Errorf("PVC %s/%s is not bound", pod.Namespace, name)
	}
	if o, err = k.Reader.Get(ctx, volumeResource, "", pvc.Spec.VolumeName); err != nil {
		return Mount{}, err
	}
	pv, _ := o.(*corev1.PersistentVolume)
	var m Mount
	switch {
	case pv != nil && pv.Spec.HostPath != nil:
		m, err = hostPath(pv.Spec.HostPath)
	case pv != nil && pv.Spec.Local != nil:
		m = Mount{HostPath: pv.Spec.Local.Path}
	default:
		err = fmt.Errorf("unsupported volume type of PersistentVolume %s: only hostPath and local volumes can be mounted", pvc.Spec.VolumeName)
	}
	m.ReadOnly = readOnly
	return m, err
}
