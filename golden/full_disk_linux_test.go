package golden

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// smallDisk mounts a file system of some megabytes at dir, or skips the test.
func smallDisk(t *testing.T, dir string, megabytes int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Skipf("a small file system can only be mounted by root: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file until the disk is full, to the last byte.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, chunk := range []int64{1 << 20, 4096, 1} {
		for err = nil; err == nil; {
			_, err = io.CopyN(f, zero{}, chunk)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

type zero struct{}

func (zero) Read(p []byte) (int, error) { clear(p); return len(p), nil }

const noSpace = "no space left for cluster.db; free some, the write was not made"

// A full disk: what was acknowledged is there, reads go on, pods too, and with space again so do writes.
func TestAFullDisk(t *testing.T) {
	k := newKilled(t)
	smallDisk(t, k.dir, 24)
	k.start()
	defer k.kill()
	k.makePods()
	filler := filepath.Join(k.dir, "filler")
	for round := range 3 {
		fill(t, filler)
		var err error
		for n := 0; err == nil; n++ {
			err = k.write(fmt.Sprintf("full-%d-%d", round, n), 10_000)
		}
		k.wantUnavailable(err, noSpace)
		k.wantUnavailable(k.write("small", 1), noSpace)
		k.verify()
		if code := k.ready(); code != http.StatusOK {
			t.Errorf("/readyz answers %d on a full disk: reads still work", code)
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		k.eventually("writes work again", func() error { return k.write(fmt.Sprintf("freed-%d-%d", round, len(k.acked)), 10_000) })
		k.verify()
	}

	// killed on a full disk, started on a full disk, started with space
	fill(t, filler)
	for err := error(nil); err == nil; {
		err = k.write(fmt.Sprintf("last-%d", len(k.acked)), 1000)
	}
	k.kill()
	out, err := exec.Command(k.binary, "serve", "--data-dir", k.dir, "--secure-port", "0", "--container-runtime", "simulated").CombinedOutput()
	said := strings.TrimSuffix(string(out), "\n")
	if err == nil || !strings.HasPrefix(said[strings.LastIndex(said, "\n")+1:], "kuberow: ") || !strings.Contains(said, "no space left") {
		t.Errorf("a start on a full disk: %v\n%s", err, out)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	k.start()
	k.verify()
	k.kill()
	k.check()
}
