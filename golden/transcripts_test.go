package golden

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

var (
	update      = flag.Bool("update", false, "write what the commands did into the transcripts")
	transcripts = flag.String("transcripts", "transcripts", "directory of the transcripts")
	against     = flag.String("against", "", "kubeconfig of a running server to use (default: a fresh kuberow for each transcript)")
)

// TestTranscripts runs every command of transcripts/*.txt with each kubectl that
// it is given (KUBECTL, KUBECTL_1_34, KUBECTL_1_32), each transcript on a server of
// its own, and compares requests, output and exit status with the recording.
// -update records instead.
func TestTranscripts(t *testing.T) {
	if os.Getenv("KUBEROW_E2E") == "" {
		t.Skip("KUBEROW_E2E is not set: make test builds what this needs and runs it")
	}
	files, err := filepath.Glob(filepath.Join(*transcripts, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts in %s: %v", *transcripts, err)
	}
	kuberow := ""
	if *against == "" {
		kuberow = os.Getenv("KUBEROW") // built by TestMain
	}
	for _, variable := range []string{"KUBECTL_1_32", "KUBECTL_1_34", "KUBECTL"} {
		kubectl := os.Getenv(variable)
		if kubectl == "" {
			continue
		}
		version := kubectlVersion(t, kubectl)
		// A group has one version at a time: two would write one file.
		t.Run(version, func(t *testing.T) {
			for _, file := range files {
				t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
					t.Parallel()
					differences := runTranscript(t, file, kubectl, version, kuberow)
					if len(differences) > 0 {
						// A client that asks while a controller writes may be answered either way. What is
						// wrong is wrong on a second new server as well.
						t.Logf("replayed again, since the first time differed:\n%s", strings.Join(differences, "\n"))
						differences = runTranscript(t, file, kubectl, version, kuberow)
					}
					for _, d := range differences {
						t.Error(d)
					}
				})
			}
		})
	}
}

var minorVersion = regexp.MustCompile(`GitVersion:"v(1\.\d+)|Client Version: v(1\.\d+)`)

func kubectlVersion(t *testing.T, kubectl string) string {
	out, err := exec.Command(kubectl, "version", "--client").Output()
	m := minorVersion.FindStringSubmatch(string(out))
	if err != nil || m == nil {
		t.Fatalf("%s version: %v\n%s", kubectl, err, out)
	}
	return m[1] + m[2]
}

// runTranscript replays one file on a new server and gives what differs, or records it.
func runTranscript(t *testing.T, file, kubectl, version, kuberow string) (differences []string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	transcript, err := ParseTranscript(string(archive.Comment))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	config, namespace := serverFor(t, kuberow)
	session, err := OpenSession(t.TempDir(), kubectl, namespace, config, archive.Files)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, command := range prepare(namespace) {
		if _, err := session.Run(t.Context(), &Step{Command: command, Until: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range transcript.Steps {
		got, err := session.Run(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		if step.Until {
			continue
		}
		if *update {
			transcript.Set(step, version, got)
			continue
		}
		want := step.Recordings[version]
		if want == nil {
			differences = append(differences, fmt.Sprintf("$ %s\nnot recorded with kubectl %s: run with -update", step.Command, version))
		} else if !want.Agrees(got) {
			differences = append(differences, fmt.Sprintf("$ %s\n%s", step.Command, difference(want, got)))
		}
	}
	if *update {
		archive.Comment = []byte(transcript.String())
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return differences
}

// difference shows two recordings as Agrees compares them, - wanted, + got.
func difference(want, got *Recording) string {
	var w, g strings.Builder
	for r, b := range map[*Recording]*strings.Builder{want: &w, got: &g} {
		(&Recording{Requests: asSet(r.Requests), Output: r.Output, Exit: r.Exit}).write(b)
	}
	return cmp.Diff(strings.Split(w.String(), "\n"), strings.Split(g.String(), "\n"))
}

// serverFor starts a kuberow that ends with the test, or takes the one of -against
// with a namespace of the test's own.
func serverFor(t *testing.T, kuberow string) (*rest.Config, string) {
	kubeconfig, namespace := *against, "default"
	if kubeconfig == "" {
		dir := filepath.Join(t.TempDir(), "data")
		startServer(t, kuberow, "--data-dir", dir, "--container-runtime", "simulated", "--nodes", "4")
		kubeconfig = filepath.Join(dir, "kubeconfig")
	} else {
		namespace = "golden-" + strings.ReplaceAll(strings.ToLower(filepath.Base(t.Name())), "_", "-")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return config, namespace
}

// prepare lists the commands that make a session's surroundings certain.
func prepare(namespace string) []string {
	commands := []string{"kubectl get serviceaccount default"}
	if *against == "" {
		return append(commands, `test "$(kubectl get nodes --no-headers | grep -c ' Ready')" = 4`, `rm -rf .kube`)
	}
	return append([]string{
		fmt.Sprintf("kubectl delete namespace %s --ignore-not-found && kubectl create namespace %s", namespace, namespace),
	}, append(commands, "rm -rf .kube")...)
}

// startServer runs kuberow serve and returns when it says that it is ready.
func startServer(t *testing.T, kuberow string, flags ...string) {
	t.Helper()
	cmd := exec.Command(kuberow, append([]string{"serve", "--secure-port", "0"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := readLines(stderr)
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all []string
	for {
		select {
		case line, open := <-said:
			all = append(all, line)
			if strings.HasPrefix(line, "kuberow: ready") {
				go func() {
					for range said { // whatever it logs until it ends
					}
				}()
				return
			}
			if !open {
				t.Fatalf("the server ended:\n%s", strings.Join(all, "\n"))
			}
		case <-ctx.Done():
			t.Fatalf("the server is not ready:\n%s", strings.Join(all, "\n"))
		}
	}
}

func readLines(r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}
