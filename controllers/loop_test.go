package controllers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"kuberow/api/kinds"
	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// watching is a controller of config maps whose Step a test gives.
func watching(step func(v controllers.View, keys []controllers.Key) controllers.Outcome) controllers.Controller {
	return controllers.Controller{
		Name: "test",
		Keys: map[controllers.Resource]controllers.KeysFunc{
			controllers.ConfigMaps: func(_ controllers.View, c controllers.Object) []controllers.Key {
				return []controllers.Key{controllers.NameKey(c.Current())}
			},
		},
		Step: step,
	}
}

// mutate is a write that changes a config map.
func mutate(k controllers.Key, change func(*corev1.ConfigMap) error) controllers.Write {
	return controllers.Write{Verb: controllers.Mutate, Key: k, Write: kinds.Write{
		Resource: controllers.ConfigMaps, Namespace: k.Namespace, Name: k.Name,
		Mutate: func(obj runtime.Object) error { return change(obj.(*corev1.ConfigMap)) },
	}}
}

func TestAViewShowsTheControllersOwnWrites(t *testing.T) {
	e := controllertest.New(t)
	steps := 0
	r := e.Runner(8, watching(func(v controllers.View, keys []controllers.Key) (out controllers.Outcome) {
		for _, k := range keys {
			cm, ok := v.Get(controllers.ConfigMaps, k.Namespace, k.Name).(*corev1.ConfigMap)
			if !ok || len(cm.Data) >= 5 {
				continue
			}
			if len(cm.Data) != steps {
				t.Errorf("step %d sees %d of its writes", steps, len(cm.Data))
			}
			steps++
			out.Writes = append(out.Writes, mutate(k, func(now *corev1.ConfigMap) error {
				if now.Data == nil {
					now.Data = map[string]string{}
				}
				now.Data[time.Duration(len(now.Data)).String()] = ""
				return nil
			}))
		}
		return out
	}))
	e.Create(controllers.ConfigMaps, configMap("c"))
	quiet(t, r)
	if steps != 5 {
		t.Errorf("%d steps, want 5", steps)
	}
}

func TestAFailedWriteIsRepeatedLaterAndLater(t *testing.T) {
	e := controllertest.New(t)
	clock := clocktesting.NewFakeClock(time.Now())
	tries := 0
	c := watching(func(_ controllers.View, keys []controllers.Key) (out controllers.Outcome) {
		for _, k := range keys {
			tries++
			out.Writes = append(out.Writes, mutate(k, func(*corev1.ConfigMap) error { return errors.New("not yet") }))
		}
		return out
	})
	r, err := controllers.NewRunner(controllers.Config{Store: e.Store, Client: e.REST.Client(), Registry: e.Registry, Cluster: e.Cluster,
		Controllers: []controllers.Controller{c}, Clock: clock, Logger: controllertest.Quiet(), Parallel: 1})
	if err != nil {
		t.Fatal(err)
	}
	e.Create(controllers.ConfigMaps, configMap("c"))
	for i, wait := range []time.Duration{0, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond} {
		if wait > 0 {
			clock.Step(wait - time.Millisecond)
			quiet(t, r)
			if tries != i {
				t.Fatalf("%d tries before the back-off of %v is over, want %d", tries, wait, i)
			}
			clock.Step(time.Millisecond)
		}
		quiet(t, r)
		if tries != i+1 {
			t.Fatalf("%d tries after waiting %v, want %d", tries, wait, i+1)
		}
	}
}

func TestAStepOrAMutationMayPanic(t *testing.T) {
	e := controllertest.New(t)
	calm := 0
	r := e.Runner(1,
		watching(func(_ controllers.View, keys []controllers.Key) (out controllers.Outcome) {
			for _, k := range keys {
				out.Writes = append(out.Writes, mutate(k, func(*corev1.ConfigMap) error { panic("in a mutation") }))
			}
			return out
		}),
		controllers.Controller{
			Name: "calm",
			Keys: map[controllers.Resource]controllers.KeysFunc{controllers.ConfigMaps: func(_ controllers.View, c controllers.Object) []controllers.Key {
				if c.Now != nil && controllers.NameKey(c.Now).Name == "bad" {
					panic("over a change")
				}
				return []controllers.Key{controllers.NameKey(c.Current())}
			}},
			Step: func(_ controllers.View, keys []controllers.Key) controllers.Outcome {
				calm += len(keys)
				return controllers.Outcome{}
			},
		})
	e.Create(controllers.ConfigMaps, configMap("bad"))
	e.Create(controllers.ConfigMaps, configMap("good"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_ = r.RunUntilQuiet(ctx) // the failing key keeps coming back
	if calm != 1 {
		t.Errorf("the other controller saw %d keys, want the good one", calm)
	}
}

// Every write of a controller says what it reacted to, back to what a person did.
func TestCausesLeadBackToTheUser(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	quiet(t, r)
	e.Create(controllers.Deployments, deployment("web", 1))
	quiet(t, r)
	var chain []string
	err := e.Store.Reader().Select(&chain, `
		WITH RECURSIVE back(revision, cause, user, step) AS (
			SELECT r.revision, r.cause_revision, r.user, 0 FROM live l JOIN request r ON r.id = l.create_request_id
				WHERE l.resource = 'pods' AND l.namespace = 'default'
			UNION ALL
			SELECT r.revision, r.cause_revision, r.user, b.step + 1 FROM back b JOIN request r ON r.revision = b.cause)
		SELECT user FROM back ORDER BY step`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"system:serviceaccount:kube-system:replicaset-controller", "system:serviceaccount:kube-system:deployment-controller", "admin"}
	if len(chain) != 3 || chain[0] != want[0] || chain[1] != want[1] || chain[2] != want[2] {
		t.Errorf("the pod was created by %q, want %q", chain, want)
	}
}
