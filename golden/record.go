package golden

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/client-go/rest"
)

// Session runs the commands of one transcript: a directory with the input
// files, which is also the home, a wiretap, and a namespace.
type Session struct {
	Dir       string
	Namespace string // read as "default" in what is recorded
	wire      *Wiretap
	env       []string
}

// patienceOfStep bounds one command, and the wait for a "!" command to succeed.
const patienceOfStep = 90 * time.Second

// OpenSession makes a session in an empty directory against the server of a
// kubeconfig.
func OpenSession(dir, kubectl, namespace string, config *rest.Config, files []txtar.File) (*Session, error) {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, fmt.Errorf("make directory of %s: %w", f.Name, err)
		}
		if err := os.WriteFile(path, []byte(inNamespace(string(f.Data), namespace)), 0o755); err != nil {
			return nil, fmt.Errorf("write input file: %w", err)
		}
	}
	wire, err := OpenWiretap(config)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := wire.Kubeconfig(namespace)
	if err != nil {
		wire.Close()
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	bin := filepath.Join(dir, ".bin")
	err = errors.Join(os.MkdirAll(bin, 0o755), os.MkdirAll(filepath.Join(dir, ".tmp"), 0o755),
		os.WriteFile(filepath.Join(dir, ".kubeconfig"), kubeconfig, 0o600), os.Symlink(kubectl, filepath.Join(bin, "kubectl")))
	if err != nil {
		wire.Close()
		return nil, fmt.Errorf("prepare session: %w", err)
	}
	return &Session{Dir: dir, Namespace: namespace, wire: wire, env: []string{
		"PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", // never the caller's: kubectl lists the plugins it finds there
		"HOME=" + dir, "TMPDIR=" + filepath.Join(dir, ".tmp"), "TZ=UTC", "LC_ALL=C",
		"KUBECONFIG=" + filepath.Join(dir, ".kubeconfig"),
	}}, nil
}

// Close ends the wiretap.
func (s *Session) Close() { s.wire.Close() }

// Run executes a step and returns what it did, normalised; nil for a "!" step.
func (s *Session) Run(ctx context.Context, step *Step) (*Recording, error) {
	ctx, cancel := context.WithTimeout(ctx, patienceOfStep)
	defer cancel()
	command := inNamespace(step.Command, s.Namespace)
	if step.Until {
		return nil, s.until(ctx, command)
	}
	s.wire.Take()
	out, exit, err := s.shell(ctx, command)
	if err != nil {
		return nil, fmt.Errorf("run %q: %w\n%s", step.Command, err, out)
	}
	r := &Recording{Exit: exit}
	for _, line := range s.wire.Take() {
		r.Requests = append(r.Requests, s.normalize(line))
	}
	if text := strings.TrimRight(s.normalize(out), "\n"); text != "" {
		for _, line := range strings.Split(text, "\n") {
			r.Output = append(r.Output, strings.TrimRight(line, " \t"))
		}
	}
	return r, nil
}

// until repeats a command until it succeeds.
func (s *Session) until(ctx context.Context, command string) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := ""
	for {
		out, exit, err := s.shell(ctx, command)
		if err == nil && exit == 0 {
			return nil
		}
		if ctx.Err() == nil {
			last = out
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %q: still not so (exit status %d): %w\n%s", command, exit, errors.Join(err, ctx.Err()), last)
		}
	}
}

// shell runs one command line; standard output and error come as one text.
func (s *Session) shell(ctx context.Context, command string) (string, int, error) {
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = s.Dir, s.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return out.String(), -1, ctx.Err()
	}
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		return out.String(), exited.ExitCode(), nil
	}
	return out.String(), 0, err
}

// inNamespace rewrites what names the namespace "default" for a session that
// has another one.
func inNamespace(text, namespace string) string {
	if namespace == "default" {
		return text
	}
	return strings.NewReplacer("namespace: default", "namespace: "+namespace, "namespaces/default/", "namespaces/"+namespace+"/",
		"-n default", "-n "+namespace, ":default:", ":"+namespace+":").Replace(text)
}

func (s *Session) normalize(text string) string {
	text = strings.ReplaceAll(text, s.Dir, "<dir>")
	if s.Namespace != "default" {
		text = strings.ReplaceAll(text, s.Namespace, "default")
	}
	return Normalize(text)
}
