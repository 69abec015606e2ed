package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"kuberow/controllers/kubelet"
	"kuberow/docker/dockertest"
)

const testImage = "kuberow.test/busybox:1"

// engine is a Runtime of a cluster of the test's own, removed at the end.
func engine(t *testing.T) *Runtime {
	t.Helper()
	if !dockertest.Answers(t) {
		t.Skip("no Docker engine answers")
	}
	ctx := context.Background()
	if err := dockertest.Busybox(ctx, testImage); err != nil {
		t.Fatal(err)
	}
	r, err := Connect(ctx, Config{Cluster: string(uuid.NewUUID()), Subnet: "10.160.0.0/11", Gateway: "10.176.0.1", PodCIDR: "10.176.0.0/16",
		ServiceCIDR: "10.160.0.0/16", ClusterDNS: "10.160.0.10", ClusterDomain: "cluster.local", Program: dockertest.BusyboxPath()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pods, err := r.List(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, p := range pods {
			if err := r.RemoveSandbox(ctx, p.PodUID); err != nil {
				t.Error(err)
			}
		}
		if err := r.RemoveNetwork(ctx); err != nil {
			t.Error(err)
		}
		r.Close()
	})
	return r
}

func pod(command string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: uuid.NewUUID()},
		Spec: corev1.PodSpec{
			NodeName: "node-1",
			Containers: []corev1.Container{{Name: "c", Image: testImage, Command: []string{"sh", "-c", command},
				TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: corev1.TerminationMessageReadFile}},
			Volumes: []corev1.Volume{
				{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "conf", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
			},
		},
	}
}

// start runs the pod's container and gives its ID.
func start(t *testing.T, r *Runtime, p *corev1.Pod, mounts ...kubelet.Mount) string {
	t.Helper()
	ctx := context.Background()
	if _, err := r.RunSandbox(ctx, p); err != nil {
		t.Fatal(err)
	}
	c := &p.Spec.Containers[0]
	id, err := r.StartContainer(ctx, kubelet.ContainerConfig{Pod: p, Container: c, Command: c.Command, Mounts: mounts, SpecHash: "h"})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// exited waits for the engine's word that the container has ended.
func exited(t *testing.T, r *Runtime, uid types.UID) kubelet.Container {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	events, err := r.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for {
		s, _, err := r.Sandbox(ctx, uid)
		if err != nil {
			t.Fatal(err)
		}
		if s.Containers[0].State == kubelet.StateExited {
			return s.Containers[0]
		}
		if _, more := <-events; !more {
			t.Fatal("the events ended before the container")
		}
	}
}

func TestAPodRunsAndIsFoundAgain(t *testing.T) {
	r := engine(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p := pod("echo out; echo err >&2; cat /conf/a /conf/deep/b; while true; do sleep 1; done")
	id := start(t, r, p,
		kubelet.Mount{Volume: "conf", Path: "/conf", ReadOnly: true, Files: []kubelet.File{{Path: "a", Data: []byte("1\n"), Mode: 0o644}, {Path: "deep/b", Data: []byte("2\n"), Mode: 0o644}}},
		kubelet.Mount{Volume: "work", Path: "/work", EmptyDir: p.Spec.Volumes[0].EmptyDir})

	// Another process sees the same pod.
	again, err := Connect(ctx, r.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	s, there, err := again.Sandbox(ctx, p.UID)
	if err != nil || !there || !s.Ready || len(s.IPs) != 1 || !strings.HasPrefix(s.IPs[0], "10.176.") {
		t.Fatalf("Sandbox = %+v, %v, %v; want a ready one with an address", s, there, err)
	}
	if c := s.Containers[0]; c.ID != id || c.State != kubelet.StateRunning || c.SpecHash != "h" || c.Name != "c" {
		t.Fatalf("container = %+v", c)
	}

	exec := func(in string, command ...string) string {
		out := &bytes.Buffer{}
		var stdin io.Reader
		if in != "" {
			stdin = strings.NewReader(in)
		}
		if err := r.Exec(ctx, id, command, kubelet.Streams{Stdin: stdin, Stdout: out, Stderr: out}); err != nil {
			t.Fatalf("exec %v: %v\n%s", command, err, out)
		}
		return out.String()
	}
	if got := exec("typed", "cat"); got != "typed" {
		t.Errorf("exec cat = %q", got)
	}
	if got := exec("", "sh", "-c", "touch /work/x && ls /work"); got != "x\n" {
		t.Errorf("the emptyDir holds %q", got)
	}
	var exit *kubelet.ExitError
	if err := r.Exec(ctx, id, []string{"sh", "-c", "exit 7"}, kubelet.Streams{Stdout: io.Discard}); !errors.As(err, &exit) || exit.Code != 7 {
		t.Errorf("exec exit 7 = %v", err)
	}

	// Changed files appear as one step.
	if err := r.UpdateFiles(ctx, p.UID, "conf", []kubelet.File{{Path: "a", Data: []byte("new\n"), Mode: 0o644}}); err != nil {
		t.Fatal(err)
	}
	if got := exec("", "cat", "/conf/a"); got != "new\n" {
		t.Errorf("/conf/a = %q after the update", got)
	}

	stdout, stderr := &bytes.Buffer{}, &bytes.Buffer{}
	if err := r.Logs(ctx, id, kubelet.LogOptions{}, stdout, stderr); err != nil {
		t.Fatal(err)
	}
	if stdout.String() != "out\n1\n2\n" || stderr.String() != "err\n" {
		t.Errorf("logs = %q and %q", stdout, stderr)
	}
	if err := r.StopContainer(ctx, id, 0); err != nil {
		t.Fatal(err)
	}
	if c := exited(t, r, p.UID); c.Reason != "Error" || c.ExitCode != 137 {
		t.Errorf("after the kill: %+v", c)
	}
}

func TestHowAContainerEndedIsTold(t *testing.T) {
	r := engine(t)
	p := pod("echo because > /dev/termination-log; exit 3")
	start(t, r, p)
	if c := exited(t, r, p.UID); c.ExitCode != 3 || c.Reason != "Error" || c.Message != "because\n" || c.Finished.Before(c.Started) {
		t.Errorf("container = %+v", c)
	}
}

func TestACommandThatIsNotThereIsAStartError(t *testing.T) {
	r := engine(t)
	p := pod("")
	if _, err := r.RunSandbox(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	_, err := r.StartContainer(context.Background(), kubelet.ContainerConfig{Pod: p, Container: &p.Spec.Containers[0], Command: []string{"/nosuch"}})
	var start *kubelet.StartError
	if !errors.As(err, &start) || start.ID == "" {
		t.Fatalf("StartContainer = %v; want a StartError that names the container", err)
	}
	if c := exited(t, r, p.UID); c.ID != start.ID {
		t.Errorf("container = %+v", c)
	}
}

func TestPortsOfAPodAnswer(t *testing.T) {
	r := engine(t)
	p := pod("httpd -f -p 8080 -h /etc")
	start(t, r, p)
	deadline := time.Now().Add(time.Minute)
	for {
		conn, err := r.Dial(context.Background(), p.UID, "tcp", 8080)
		if err == nil {
			defer conn.Close()
			if _, err := io.WriteString(conn, "GET /passwd HTTP/1.0\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.Contains(string(answer), "root:") {
				t.Fatalf("answer = %q, %v", answer, err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// The bytes in pause.go are a program that the kernel takes.
func TestThePauseProgramWaits(t *testing.T) {
	program, err := pauseELF("amd64")
	if err != nil {
		t.Fatal(err)
	}
	if len(program) > 400 {
		t.Errorf("%d bytes: it should fit in a screen", len(program))
	}
	if out, err := exec.Command("uname", "-sm").Output(); err != nil || string(out) != "Linux x86_64\n" {
		t.Skip("runs on Linux on amd64 only")
	}
	path := filepath.Join(t.TempDir(), "pause")
	if err := os.WriteFile(path, program, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	err = exec.CommandContext(ctx, path).Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || ctx.Err() == nil {
		t.Fatalf("the program ended by itself: %v", err)
	}
	if _, err := pauseELF("mips"); err == nil {
		t.Error("an unknown architecture should be refused")
	}
}
