// Package dockertest lets tests use a Docker engine: it finds one, or says
// that the test cannot run, and makes the images that tests run from what is on
// this machine. Nothing is pulled.
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"
)

// Answers says whether an engine is there. Where KUBEROW_REQUIRE_DOCKER is
// set, its absence fails the test.
func Answers(t testing.TB) bool {
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err == nil {
		defer engine.Close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, err = engine.Ping(ctx)
	}
	if err != nil && os.Getenv("KUBEROW_REQUIRE_DOCKER") != "" {
		t.Fatalf("KUBEROW_REQUIRE_DOCKER is set and no Docker engine answers: %v", err)
	}
	return err == nil
}

// applets of busybox that tests use; each is a link in the image.
const applets = "sh httpd cat ls sleep echo wget nc tar nslookup hostname kill true false test mkdir touch id date seq env printf stty head rm"

// Busybox imports an image of Debian's static busybox under each name.
func Busybox(ctx context.Context, names ...string) error {
	program, err := program()
	if err != nil {
		return err
	}
	for _, name := range names {
		layer, err := layer(program)
		if err != nil {
			return fmt.Errorf("make image %s: %w", name, err)
		}
		if err := load(ctx, name, layer, `CMD ["/bin/sh"]`, "ENV PATH=/bin"); err != nil {
			return err
		}
	}
	return nil
}

// Program imports a static executable of this machine as an image that runs it.
func Program(ctx context.Context, name, path string) error {
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	layer := &bytes.Buffer{}
	w := tar.NewWriter(layer)
	err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "program", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write(program)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	return load(ctx, name, layer, `ENTRYPOINT ["/program"]`)
}

// load imports one layer as an image.
func load(ctx context.Context, name string, layer io.Reader, changes ...string) error {
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("read the Docker settings: %w", err)
	}
	defer engine.Close()
	answer, err := engine.ImageImport(ctx, image.ImportSource{Source: layer, SourceName: "-"}, name, image.ImportOptions{Changes: changes})
	if err != nil {
		return fmt.Errorf("import image %s: %w", name, err)
	}
	defer answer.Close()
	if _, err := io.Copy(io.Discard, answer); err != nil { // the import ends with its answer
		return fmt.Errorf("import image %s: %w", name, err)
	}
	return nil
}

// BusyboxPath is a static busybox of this machine with httpd; "" when there is none.
func BusyboxPath() string {
	for _, path := range []string{"/bin/busybox", "/usr/bin/busybox"} {
		if out, err := exec.Command(path, "--list").Output(); err == nil && strings.Contains(string(out), "\nhttpd\n") {
			return path
		}
	}
	return ""
}

// program is its bytes.
func program() ([]byte, error) {
	path := BusyboxPath()
	if path == "" {
		return nil, fmt.Errorf("find a busybox with httpd: install Debian's busybox-static")
	}
	return os.ReadFile(path)
}

// layer is the root file system of the image.
func layer(program []byte) (*bytes.Buffer, error) {
	out := &bytes.Buffer{}
	w := tar.NewWriter(out)
	put := func(h *tar.Header, data []byte) error {
		h.Size = int64(len(data))
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err := w.Write(data)
		return err
	}
	if err := put(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/busybox", Mode: 0o755}, program); err != nil {
		return nil, err
	}
	for _, name := range strings.Fields(applets) {
		if err := put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox", Mode: 0o777}, nil); err != nil {
			return nil, err
		}
	}
	if err := put(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil); err != nil {
		return nil, err
	}
	if err := put(&tar.Header{Typeflag: tar.TypeReg, Name: "etc/passwd", Mode: 0o644}, []byte("root:x:0:0:root:/:/bin/sh\n")); err != nil {
		return nil, err
	}
	return out, w.Close()
}

// RemoveAll removes every container, volume and network that carries label
// (kuberow.dev/cluster=ID): what a test's cluster left.
func RemoveAll(ctx context.Context, label string) error {
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return fmt.Errorf("read the Docker settings: %w", err)
	}
	defer engine.Close()
	mine := filters.NewArgs(filters.Arg("label", label))
	containers, err := engine.ContainerList(ctx, container.ListOptions{All: true, Filters: mine})
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	var errs []error
	for _, c := range containers {
		errs = append(errs, engine.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true}))
	}
	volumes, err := engine.VolumeList(ctx, volume.ListOptions{Filters: mine})
	if err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, v := range volumes.Volumes {
		errs = append(errs, engine.VolumeRemove(ctx, v.Name, true))
	}
	networks, err := engine.NetworkList(ctx, network.ListOptions{Filters: mine})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	for _, n := range networks {
		errs = append(errs, engine.NetworkRemove(ctx, n.ID))
	}
	return errors.Join(errs...)
}
