package golden

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	"github.com/rogpeppe/go-internal/testscript"
)

// dockerAnswers says whether an engine is there; where one is required, its absence is a failure.
func dockerAnswers(t *testing.T) bool {
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

// applets of busybox that the scripts use; each is a link in the image.
const applets = "sh httpd cat ls sleep echo wget nc tar nslookup hostname kill true false test mkdir touch id date seq env printf stty head"

// cmdImages imports test images from Debian's static busybox: images NAME...
func cmdImages(ts *testscript.TestScript, neg bool, args []string) {
	program, err := busybox()
	ts.Check(err)
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	ts.Check(err)
	defer engine.Close()
	for _, name := range args {
		layer, err := busyboxLayer(program)
		ts.Check(err)
		answer, err := engine.ImageImport(context.Background(), image.ImportSource{Source: layer, SourceName: "-"}, name,
			image.ImportOptions{Changes: []string{`CMD ["/bin/sh"]`, "ENV PATH=/bin"}})
		ts.Check(err)
		answer.Close()
	}
}

// busybox is the bytes of a static busybox on this machine.
func busybox() ([]byte, error) {
	for _, path := range []string{"/bin/busybox", "/usr/bin/busybox"} {
		if out, err := exec.Command(path, "--list").Output(); err == nil && strings.Contains(string(out), "\nhttpd\n") {
			return os.ReadFile(path)
		}
	}
	return nil, fmt.Errorf("find a busybox with httpd: install Debian's busybox-static")
}

// busyboxLayer is the root file system of the image.
func busyboxLayer(program []byte) (*bytes.Buffer, error) {
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
		if err := put(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + name, Linkname: "busybox"}, nil); err != nil {
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
