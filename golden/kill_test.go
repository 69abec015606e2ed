package golden

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// TestKillNine kills the server with SIGKILL under a write load, again and
// again, on one directory: every write that was answered is there, no
// resourceVersion was given twice, the file is clean, and pods go on as they were.
// KUBEROW_KILL_ROUNDS sets the rounds (make fault: 200).
func TestKillNine(t *testing.T) {
	rounds := 8
	if n, err := strconv.Atoi(os.Getenv("KUBEROW_KILL_ROUNDS")); err == nil {
		rounds = n
	}
	k := newKilled(t)
	began := time.Now()
	for round := range rounds {
		k.start()
		if round == 0 {
			k.makePods()
		}
		k.verify()
		k.load(round)
		k.kill()
		k.check()
	}
	k.start()
	k.verify()
	k.kill()
	t.Logf("%d rounds, %d acknowledged writes, %.0f s", rounds, len(k.acked), time.Since(began).Seconds())
}

type killed struct {
	t      *testing.T
	binary string
	dir    string
	cmd    *exec.Cmd
	client *rest.RESTClient

	mu    sync.Mutex
	acked map[string]string // name -> resourceVersion of the answer
	pods  string            // what the pods' status must go on saying
}

const killNamespace = "default"

// newKilled is a server in a directory of its own; it does not start it.
func newKilled(t *testing.T) *killed {
	t.Helper()
	if os.Getenv("KUBEROW_E2E") == "" {
		t.Skip("KUBEROW_E2E is not set: make test runs this")
	}
	return &killed{t: t, binary: kuberow(), dir: filepath.Join(t.TempDir(), "data"), acked: map[string]string{}}
}

func (k *killed) start() {
	k.t.Helper()
	k.cmd = exec.Command(k.binary, "serve", "--data-dir", k.dir, "--secure-port", "0", "--container-runtime", "simulated", "--nodes", "1")
	stderr, err := k.cmd.StderrPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	said := &strings.Builder{}
	for lines.Scan() {
		fmt.Fprintln(said, lines.Text())
		if strings.HasPrefix(lines.Text(), "kuberow: ready") {
			go func() {
				for lines.Scan() { // whatever it logs until it dies
				}
			}()
			k.connect()
			return
		}
	}
	k.t.Fatalf("the server did not start:\n%s", said)
}

func (k *killed) connect() {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(k.dir, "kubeconfig"))
	if err != nil {
		k.t.Fatal(err)
	}
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.QPS = -1
	if k.client, err = rest.RESTClientFor(config); err != nil {
		k.t.Fatal(err)
	}
}

// kill is kill -9 of the process that start made.
func (k *killed) kill() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}

// load writes from eight clients until the end of the round's time; the
// server is killed while they write.
func (k *killed) load(round int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(50+rand.IntN(250))*time.Millisecond)
	defer cancel()
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("r%d-w%d-%d", round, w, i)
				made := &corev1.ConfigMap{}
				err := k.client.Post().Namespace(killNamespace).Resource("configmaps").
					Body(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"at": name}}).Do(context.Background()).Into(made)
				if err != nil {
					return // not acknowledged: it may be there or not
				}
				k.mu.Lock()
				k.acked[name] = made.ResourceVersion
				k.mu.Unlock()
			}
		})
	}
	<-ctx.Done()
	k.kill()
	writers.Wait()
}

// verify compares the cluster with what was acknowledged.
func (k *killed) verify() {
	k.t.Helper()
	list := &corev1.ConfigMapList{}
	if err := k.client.Get().Namespace(killNamespace).Resource("configmaps").Do(context.Background()).Into(list); err != nil {
		k.t.Fatal(err)
	}
	there := map[string]string{}
	revisions := map[string]string{}
	for _, cm := range list.Items {
		there[cm.Name] = cm.ResourceVersion
		if other, twice := revisions[cm.ResourceVersion]; twice {
			k.t.Errorf("%s and %s have the same resourceVersion %s", cm.Name, other, cm.ResourceVersion)
		}
		revisions[cm.ResourceVersion] = cm.Name
	}
	for name, revision := range k.acked {
		if there[name] != revision {
			k.t.Fatalf("%s was acknowledged at %s, and is at %q", name, revision, there[name])
		}
	}
	if k.pods != "" {
		if now := k.podStates(); now != k.pods {
			k.t.Fatalf("the pods were\n%sand are\n%s", k.pods, now)
		}
	}
}

// makePods runs three pods and waits until they are ready.
func (k *killed) makePods() {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range 3 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x:1"}}}}
		for {
			err := k.client.Post().Namespace(killNamespace).Resource("pods").Body(pod).Do(ctx).Error()
			if err == nil {
				break
			}
			if ctx.Err() != nil { // the default service account comes from a controller
				k.t.Fatal(err)
			}
		}
	}
	for ready := false; !ready; {
		state := k.podStates()
		ready = strings.Count(state, "Running") == 3
		k.pods = state
		if ctx.Err() != nil {
			k.t.Fatalf("the pods do not run:\n%s", state)
		}
	}
}

// podStates tells what must survive: nothing starts again.
func (k *killed) podStates() string {
	list := &corev1.PodList{}
	if err := k.client.Get().Namespace(killNamespace).Resource("pods").Do(context.Background()).Into(list); err != nil {
		k.t.Fatal(err)
	}
	out := &strings.Builder{}
	for _, p := range list.Items {
		for _, c := range p.Status.ContainerStatuses {
			fmt.Fprintln(out, p.Name, p.Status.Phase, p.Status.StartTime, c.RestartCount, c.ContainerID, p.Status.PodIP)
		}
	}
	return out.String()
}

// check is kuberow check on the file that the dead server left.
func (k *killed) check() {
	k.t.Helper()
	out, err := exec.Command(k.binary, "check", "--data-dir", k.dir).CombinedOutput()
	if err != nil {
		k.t.Fatalf("kuberow check: %v\n%s", err, out)
	}
}
