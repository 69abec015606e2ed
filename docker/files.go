package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sort"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/errdefs"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

// Files of configMap, secret, downwardAPI and projected volumes. As on a real
// node the files are links into ..data, itself a link to a directory that holds
// one version; a new version is a new directory and one changed link, so that a
// reader never sees half of it. Real Kubernetes also removes the old directory
// and the links of removed keys; here the engine cannot delete through its copy
// call, so a removed key is left as a link to nothing: opening it fails as it should.

// UpdateFiles writes a new version of a volume of a running pod.
func (r *Runtime) UpdateFiles(ctx context.Context, uid types.UID, volume string, files []kubelet.File) error {
	return r.writeFiles(ctx, r.sandboxName(uid), volume, 0, files)
}

func (r *Runtime) writeFiles(ctx context.Context, sandbox, volume string, gid int, files []kubelet.File) error {
	version := "..v" + time.Now().UTC().Format("2006_01_02_15_04_05.000000000")
	archive, err := filesArchive(version, gid, files)
	if err != nil {
		return fmt.Errorf("write the files of volume %s: %w", volume, err)
	}
	err = r.engine.CopyToContainer(ctx, sandbox, path.Join(sandboxVolumes, volume), archive, container.CopyToContainerOptions{})
	if err != nil {
		return fmt.Errorf("copy the files of volume %s: %w", volume, err)
	}
	return nil
}

// filesArchive is a tar of the version's directory, then the links to it.
func filesArchive(version string, gid int, files []kubelet.File) (io.Reader, error) {
	out := &bytes.Buffer{}
	w := tar.NewWriter(out)
	dirs := map[string]bool{}
	tops := map[string]bool{}
	put := func(h *tar.Header, data []byte) error {
		h.Gid = gid
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	var errs []error
	errs = append(errs, put(&tar.Header{Typeflag: tar.TypeDir, Name: version + "/", Mode: 0o755}, nil))
	for _, f := range files {
		parts := strings.Split(path.Clean(f.Path), "/")
		tops[parts[0]] = true
		for i := 1; i < len(parts); i++ {
			dir := path.Join(append([]string{version}, parts[:i]...)...) + "/"
			if !dirs[dir] {
				dirs[dir] = true
				errs = append(errs, put(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil))
			}
		}
		errs = append(errs, put(&tar.Header{Typeflag: tar.TypeReg, Name: path.Join(version, f.Path), Mode: int64(f.Mode), Size: int64(len(f.Data))}, f.Data))
	}
	errs = append(errs, put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "..data", Linkname: version, Mode: 0o777}, nil))
	names := make([]string, 0, len(tops))
	for name := range tops {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		errs = append(errs, put(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: "..data/" + name, Mode: 0o777}, nil))
	}
	errs = append(errs, w.Close())
	return out, errors.Join(errs...)
}

// messageFile names a container's termination message inside the pod's own volume.
func messageFile(container string, attempt int) string {
	return fmt.Sprintf("message-%s-%d", container, attempt)
}

// touchMessage makes the empty file that a container's terminationMessagePath is.
func (r *Runtime) touchMessage(ctx context.Context, sandbox, file string) error {
	archive := &bytes.Buffer{}
	w := tar.NewWriter(archive)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o666}); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := r.engine.CopyToContainer(ctx, sandbox, sandboxOwn, archive, container.CopyToContainerOptions{}); err != nil {
		return fmt.Errorf("make %s: %w", file, err)
	}
	return nil
}

// Limits of a termination message, as the kubelet's.
const (
	maxMessage      = 4096
	maxMessageLog   = 2048
	maxMessageLines = 80
)

// terminationMessage reads what an exited container left at its
// terminationMessagePath, or the end of its log where the policy says so.
func (r *Runtime) terminationMessage(ctx context.Context, c container.InspectResponse) string {
	file := c.Config.Labels[labelMessage]
	if file == "" {
		return ""
	}
	sandbox := r.sandboxName(types.UID(c.Config.Labels[labelPodUID]))
	if text := r.readFile(ctx, sandbox, path.Join(sandboxOwn, file), maxMessage); text != "" {
		return text
	}
	if c.Config.Labels[labelMessageLog] == "" || c.State.ExitCode == 0 {
		return ""
	}
	tail := int64(maxMessageLines)
	log := &strings.Builder{}
	if err := r.Logs(ctx, c.ID, kubelet.LogOptions{TailLines: &tail}, log, log); err != nil {
		return ""
	}
	text := log.String()
	return text[max(0, len(text)-maxMessageLog):]
}

// readFile gives a file of a container, "" when it is not there: a message that cannot be read is no message.
func (r *Runtime) readFile(ctx context.Context, id, file string, limit int64) string {
	archive, _, err := r.engine.CopyFromContainer(ctx, id, file)
	if err != nil {
		if !errdefs.IsNotFound(err) {
			r.Logger.Warn("read a termination message", "container", id, "file", file, "error", err)
		}
		return ""
	}
	defer archive.Close()
	t := tar.NewReader(archive)
	if _, err := t.Next(); err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(t, limit))
	if err != nil {
		return ""
	}
	return string(text)
}
