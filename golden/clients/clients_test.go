package clients

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience bounds every wait.
const patience = 60 * time.Second

// server is what the tests know of the cluster under test.
type server struct {
	kubeconfig string
	config     *rest.Config
}

// TestClients runs each client against one server, in a namespace of its own.
func TestClients(t *testing.T) {
	s := start(t)
	for name, test := range map[string]func(*testing.T, *server){
		"informers":          testInformers,
		"dynamic":            testDynamic,
		"metadata":           testMetadata,
		"discovery":          testDiscovery,
		"scale":              testScale,
		"leader-election":    testLeaderElection,
		"controller-runtime": testManager,
		"helm":               testHelm,
		"client-node":        testNode,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// start runs $KUBEROW serve until the test ends.
func start(t *testing.T) *server {
	kubeconfig := os.Getenv("KUBECONFIG_OF_SERVER")
	if kubeconfig == "" {
		binary := os.Getenv("KUBEROW")
		if binary == "" {
			t.Skip("KUBEROW is not set: it names the kuberow to start, make test builds one")
		}
		dir := filepath.Join(t.TempDir(), "data")
		cmd := exec.Command(binary, "serve", "--data-dir", dir, "--secure-port", "0", "--container-runtime", "simulated", "--nodes", "2")
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
		if said := untilReady(stderr); said != "" {
			t.Fatalf("the server did not start:\n%s", said)
		}
		kubeconfig = filepath.Join(dir, "kubeconfig")
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return &server{kubeconfig: kubeconfig, config: config}
}

// untilReady reads what the server logs until it says that it is ready, and
// goes on reading behind the caller's back; a server that ended before said the rest.
func untilReady(stderr io.Reader) (said string) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		said += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "kuberow: ready") {
			go io.Copy(io.Discard, stderr)
			return ""
		}
	}
	return said
}

// namespace makes a namespace for a test and deletes it afterwards.
func (s *server) namespace(t *testing.T, prefix string) string {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(s.config).CoreV1().Namespaces()
	ns, err := client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "clients-" + prefix + "-"}}, metav1.CreateOptions{})
	must(t, err)
	t.Cleanup(func() { client.Delete(context.Background(), ns.Name, metav1.DeleteOptions{}) })
	return ns.Name
}

// wire returns a config whose requests are noted as "METHOD path?query (type accepted)".
func (s *server) wire() (*rest.Config, *notes) {
	n := &notes{}
	config := rest.CopyConfig(s.config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			n.add(r.Method + " " + r.URL.RequestURI() + " (" + r.Header.Get("Accept") + ")")
			return next.RoundTrip(r)
		})
	})
	return config, n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// notes is what went over the wire.
type notes struct {
	mu    sync.Mutex
	lines []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

// has tells whether a request contained all of the words.
func (n *notes) has(words ...string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range n.lines {
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return true
		}
	}
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() (bool, string)) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for {
		ok, got := holds()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not so after %s: %s", what, patience, got)
		}
	}
}
