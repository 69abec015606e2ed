package golden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"kuberow/docker/dockertest"
	"kuberow/golden/cluster"
)

// TestScripts runs testdata/script/*.txtar: sessions of a person at a shell.
// They want a built kuberow and kubectl (make test says where they are); those
// on Docker want an engine, and fail without one where KUBEROW_REQUIRE_DOCKER=1.
//
// Commands beside testscript's own: serve starts a server (its flags follow)
// and sets KUBECONFIG; down ends it (stop is testscript's own: it ends the script); eventually repeats a command until it
// succeeds; httpget fetches a URL of loopback until its body matches; images imports what containers run.
func TestScripts(t *testing.T) {
	if os.Getenv("KUBEROW_E2E") == "" {
		t.Skip("KUBEROW_E2E is not set: make test builds what these scripts need and runs them")
	}
	kubectl := os.Getenv("KUBECTL")
	if kubectl == "" {
		t.Fatal("KUBECTL is not set: it names the kubectl to run, make test builds one")
	}
	docker := dockertest.Answers(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			bin := filepath.Join(e.WorkDir, "bin")
			if err := os.MkdirAll(bin, 0o755); err != nil {
				return err
			}
			for name, target := range map[string]string{"kubectl": kubectl, "kuberow": kuberow()} {
				if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
					return err
				}
			}
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("KUBECONFIG", filepath.Join(e.WorkDir, "data", "kubeconfig"))
			e.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
			e.Values["server"] = &server{}
			e.Defer(func() {
				e.Values["server"].(*server).end(os.Kill)
				if label, err := cluster.DockerLabel(filepath.Join(e.WorkDir, "data")); err == nil && docker {
					if err := dockertest.RemoveAll(context.Background(), label); err != nil {
						t.Error(err)
					}
				}
			})
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "docker":
				return docker, nil
			case "sqlite3":
				_, err := exec.LookPath("sqlite3")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serve":      cmdServe,
			"down":       cmdDown,
			"eventually": cmdEventually,
			"httpget":    cmdHTTPGet,
			"images":     cmdImages,
		},
	})
}

// TestMain compiles the command once, for all tests that run it, unless KUBEROW
// names one that is built already, as make test does.
func TestMain(m *testing.M) {
	if os.Getenv("KUBEROW_E2E") == "" || os.Getenv("KUBEROW") != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "kuberow-golden-")
	if err == nil {
		err = os.Setenv("KUBEROW", filepath.Join(dir, "kuberow"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	build := exec.Command("go", "build", "-o", os.Getenv("KUBEROW"), "kuberow")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	code := 1
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build kuberow: %v\n%s", err, text)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// kuberow is the command that the tests run.
func kuberow() string { return os.Getenv("KUBEROW") }

// server is the kuberow that a script started.
type server struct {
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	ended  chan struct{}
}

// patience bounds every wait of a script.
const patience = 3 * time.Minute

// cmdServe starts kuberow serve --data-dir data with the flags given, and waits
// for the line that says it is ready.
func cmdServe(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*server)
	if s.cmd != nil {
		ts.Fatalf("serve: a server runs already")
	}
	path := strings.SplitN(ts.Getenv("PATH"), string(os.PathListSeparator), 2)[0]
	cmd := exec.Command(filepath.Join(path, "kuberow"), append([]string{"serve", "--data-dir", ts.MkAbs("data"), "--secure-port", "0"}, args...)...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	read, write, err := os.Pipe()
	ts.Check(err)
	cmd.Stderr = write
	ts.Check(cmd.Start())
	write.Close()
	s.cmd, s.ended, s.stderr = cmd, make(chan struct{}), &bytes.Buffer{}
	ready := make(chan bool, 1)
	go func() {
		defer close(s.ended)
		buf := make([]byte, 4096)
		for {
			n, err := read.Read(buf)
			s.stderr.Write(buf[:n])
			if bytes.Contains(s.stderr.Bytes(), []byte("kuberow: ready")) {
				select {
				case ready <- true:
				default:
				}
			}
			if err != nil {
				cmd.Wait()
				return
			}
		}
	}()
	select {
	case <-ready:
		if neg {
			ts.Fatalf("serve: it started, and should not")
		}
		ts.Logf("%s", s.stderr)
	case <-s.ended:
		ts.Logf("%s", s.stderr)
		s.cmd = nil
		if !neg {
			ts.Fatalf("serve: it ended")
		}
	case <-time.After(patience):
		ts.Fatalf("serve: not ready after %s\n%s", patience, s.stderr)
	}
}

// end sends a signal and waits for the end.
func (s *server) end(signal os.Signal) {
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(signal)
	<-s.ended
	s.cmd = nil
}

// cmdDown ends the server: gracefully, or with -kill as kill -9 does.
func cmdDown(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value("server").(*server)
	if len(args) > 0 && args[0] == "-kill" {
		s.end(os.Kill)
	} else {
		s.end(os.Interrupt)
	}
	ts.Logf("%s", s.stderr)
}

// cmdEventually repeats a command until it succeeds: eventually [-out REGEXP] COMMAND ARGS.
func cmdEventually(ts *testscript.TestScript, neg bool, args []string) {
	var want *regexp.Regexp
	if args[0] == "-out" {
		want = regexp.MustCompile("(?m)" + args[1])
		args = args[2:]
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		cmd := exec.CommandContext(ctx, lookPath(ts, args[0]), args[1:]...)
		cmd.Dir = ts.MkAbs(".")
		cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME"), "KUBECONFIG=" + ts.Getenv("KUBECONFIG")}
		out, err := cmd.CombinedOutput()
		good := err == nil && (want == nil || want.Match(out))
		if good != neg {
			ts.Logf("%s", out)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			ts.Fatalf("eventually: still not so after %s: %v\n%s", patience, err, out)
		}
	}
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); fileExists(path) {
			return path
		}
	}
	ts.Fatalf("%s is not on PATH", name)
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// cmdHTTPGet fetches a URL until the body matches: httpget URL REGEXP.
func cmdHTTPGet(ts *testscript.TestScript, neg bool, args []string) {
	want := regexp.MustCompile(args[1])
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := fetch(args[0])
		if err == nil && want.MatchString(body) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("httpget %s: %v\n%s", args[0], err, body)
		}
		<-tick.C
	}
}

func fetch(url string) (string, error) {
	r, err := (&http.Client{Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if r.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("status %s", r.Status))
	}
	return string(body), err
}

// cmdImages imports test images: images NAME... of busybox, images -program FILE NAME of one executable on PATH.
func cmdImages(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "-program" {
		ts.Check(dockertest.Program(context.Background(), args[2], lookPath(ts, args[1])))
		return
	}
	ts.Check(dockertest.Busybox(context.Background(), args...))
}
