package kubelet_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	stdruntime "runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"kuberow/api/kinds"
	"kuberow/api/stream"
	"kuberow/controllers"
	"kuberow/controllers/kubelet"
	"kuberow/sqlstore"
)

// The harness is a cluster that is a map: rows in, a Step, writes out. Time
// moves only when a test says so.

var pods = schema.GroupResource{Resource: "pods"}

// world is the map, as Reader and as View. mu guards it: workers read while the test writes.
type world struct {
	t     *testing.T
	clock *clocktesting.FakeClock
	k     *kubelet.Kubelet

	mu      sync.Mutex
	objects map[string]runtime.Object
	rev     int

	woken  chan controllers.Key
	again  map[controllers.Key]time.Time
	events []string // kind reason message, in the order told
	writes []string // verb subresource name
}

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	return &world{
		t: t, clock: clocktesting.NewFakeClock(start), objects: map[string]runtime.Object{},
		woken: make(chan controllers.Key, 1000), again: map[controllers.Key]time.Time{},
	}
}

// start makes the kubelet over a runtime and starts it.
func (w *world) start(r kubelet.Runtime, edit ...func(*kubelet.Config)) {
	w.t.Helper()
	c := kubelet.Config{
		Runtime: r, Clock: w.clock, Reader: w, Cluster: &kinds.Cluster{},
		Wake: func(k controllers.Key) { w.woken <- k },
		NodeAddresses: func(node string) []corev1.NodeAddress {
			if node != "node-1" {
				return nil
			}
			return []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeHostName, Address: node}}
		},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, e := range edit {
		e(&c)
	}
	w.k = kubelet.New(c)
	if err := w.k.Start(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.k.Stop)
	for limit := time.Now().Add(10 * time.Second); !w.k.Up(); stdruntime.Gosched() {
		if time.Now().After(limit) {
			w.t.Fatal("the kubelet does not find its engine")
		}
	}
}

func objectKey(gr schema.GroupResource, namespace, name string) string {
	return gr.String() + "/" + namespace + "/" + name
}

// put stores an object as the API would.
func (w *world) put(gr schema.GroupResource, obj runtime.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m, err := meta.Accessor(obj)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rev++
	m.SetResourceVersion(strconv.Itoa(w.rev))
	w.objects[objectKey(gr, m.GetNamespace(), m.GetName())] = obj
}

func (w *world) drop(gr schema.GroupResource, namespace, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rev++
	delete(w.objects, objectKey(gr, namespace, name))
}

// pod gives a copy of a stored pod, nil when it is gone.
func (w *world) pod(name string) *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, _ := w.objects[objectKey(pods, "default", name)].(*corev1.Pod)
	if p == nil {
		return nil
	}
	return p.DeepCopy()
}

// edit changes a stored pod.
func (w *world) edit(name string, f func(*corev1.Pod)) {
	p := w.pod(name)
	f(p)
	w.put(pods, p)
}

// remove asks for a pod's deletion, as the API does.
func (w *world) remove(name string, grace int64) {
	now := metav1.NewTime(w.clock.Now())
	w.edit(name, func(p *corev1.Pod) { p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &grace })
}

// Reader.

func (w *world) read(gr schema.GroupResource, namespace, name string) (runtime.Object, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.objects[objectKey(gr, namespace, name)]
	return o, ok
}

func (w *world) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	o, ok := w.read(gr, namespace, name)
	if !ok {
		return nil, apierrors.NewNotFound(gr, name)
	}
	return o, nil
}

func (w *world) List(_ context.Context, gr schema.GroupResource, namespace string, _ labels.Selector) ([]runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []runtime.Object
	for _, o := range w.objects {
		m, err := meta.Accessor(o)
		if err != nil {
			return nil, err
		}
		if w.objects[objectKey(gr, m.GetNamespace(), m.GetName())] == o && (namespace == "" || namespace == m.GetNamespace()) {
			out = append(out, o)
		}
	}
	return out, nil
}

// view is world as a controllers.View.
type view struct{ *world }

func (v view) Context() context.Context                               { return context.Background() }
func (v view) Revision() int64                                        { return int64(v.rev) }
func (v view) Now() time.Time                                         { return v.clock.Now() }
func (v view) Cluster() *kinds.Cluster                                { return &kinds.Cluster{} }
func (v view) Registry() *kinds.Registry                              { return nil }
func (v view) Cause(controllers.Key) sqlstore.Cause                   { return sqlstore.Cause{} }
func (v view) Random(n int) string                                    { return "abcde"[:n] }
func (v view) Alive(types.UID) bool                                   { return false }
func (v view) Dependents(types.UID) []controllers.Dependent           { return nil }
func (v view) Owned(schema.GroupResource, types.UID) []runtime.Object { return nil }
func (v view) Get(gr schema.GroupResource, namespace, name string) runtime.Object {
	o, _ := v.read(gr, namespace, name)
	return o
}
func (v view) List(gr schema.GroupResource, namespace string, s labels.Selector) []runtime.Object {
	out, _ := v.world.List(context.Background(), gr, namespace, s)
	return out
}

func key(name string) controllers.Key { return controllers.Key{Namespace: "default", Name: name} }

// step runs Step for pods and applies its writes; it says how many were writes to the API.
func (w *world) step(names ...string) int {
	w.t.Helper()
	var keys []controllers.Key
	for _, n := range names {
		keys = append(keys, key(n))
		delete(w.again, key(n))
	}
	out := w.k.Step(view{w}, keys)
	for k, t := range out.Again {
		w.again[k] = t
	}
	n := 0
	for _, x := range out.Writes {
		if x.Verb == controllers.Record {
			w.events = append(w.events, x.Event.Type+" "+x.Event.Reason+" "+x.Event.Message)
			continue
		}
		n++
		w.apply(x)
	}
	return n
}

func (w *world) apply(x controllers.Write) {
	w.t.Helper()
	w.writes = append(w.writes, fmt.Sprintf("%s %s %s", x.Verb, x.Subresource, x.Name))
	p := w.pod(x.Name)
	if p == nil || x.UID != "" && p.UID != x.UID {
		return
	}
	switch x.Verb {
	case controllers.Delete:
		w.drop(x.Resource, x.Namespace, x.Name)
	case controllers.Mutate:
		if err := x.Mutate(p); err != nil {
			w.t.Fatal(err)
		}
		w.put(x.Resource, p)
	default:
		w.t.Fatalf("unexpected write %s", x.Verb)
	}
}

// settle steps a pod until it wants no more writes.
func (w *world) settle(name string) {
	w.t.Helper()
	for range 20 {
		if w.step(name) == 0 {
			return
		}
	}
	w.t.Fatalf("pod %s does not come to rest: %q", name, w.writes)
}

// pass moves the clock, stepping the pod whenever it asked to be.
func (w *world) pass(name string, d time.Duration) {
	w.t.Helper()
	end := w.clock.Now().Add(d)
	for {
		at, ok := w.again[key(name)]
		if !ok || at.After(end) {
			break
		}
		if at.After(w.clock.Now()) {
			w.clock.SetTime(at)
		}
		w.rest(name)
	}
	w.clock.SetTime(end)
	w.rest(name)
}

// rest steps the pod until neither it nor its worker has anything to do.
func (w *world) rest(name string) {
	w.t.Helper()
	w.until(name, "rest", func() bool { return !w.k.Busy() && len(w.woken) == 0 && w.step(name) == 0 && !w.k.Busy() })
}

// until steps the pod, as the kubelet wakes it, until the condition holds.
func (w *world) until(name, what string, ok func() bool) {
	w.t.Helper()
	limit := time.After(10 * time.Second)
	look := time.NewTicker(time.Millisecond) // what the fake runtime was asked for wakes nobody
	defer look.Stop()
	w.settle(name)
	for !ok() {
		select {
		case <-w.woken:
			w.settle(name)
		case <-look.C:
		case <-limit:
			w.t.Fatalf("pod %s: no %s; events %q, status %+v", name, what, w.events, w.pod(name))
		}
	}
}

// told says whether an event was told, as "Reason message".
func (w *world) told(event string) bool { return slices.Contains(w.events, event) }

// newPod is a pod of one container on node-1; edits change it.
func newPod(name string, edits ...func(*corev1.Pod)) *corev1.Pod {
	links := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name + "-uid"), Generation: 1, CreationTimestamp: metav1.NewTime(start)},
		Spec: corev1.PodSpec{
			NodeName: "node-1", RestartPolicy: corev1.RestartPolicyAlways, EnableServiceLinks: &links,
			Containers: []corev1.Container{{Name: "c", Image: "nginx:1", ImagePullPolicy: corev1.PullIfNotPresent}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBestEffort, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start), ObservedGeneration: 1}}},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

// condition is a condition's status, reason and message.
func condition(p *corev1.Pod, t corev1.PodConditionType) string {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
		}
	}
	return "none"
}

func streamsOf() stream.Streams { return stream.Streams{} }
