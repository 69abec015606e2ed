// Package controllertest runs controllers on a real store without HTTP: store,
// log and the generic verbs, and nothing in front of them.
//
// Why this shape: whether a chain of controllers comes to rest is a question about
// what they write and read back, so it is asked of the real pipeline. What a
// single Step decides is tested with fake views instead, beside each controller.
//
// Hardest part: none. What can be lost: nothing; the file is the test's.
package controllertest

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"

	"kuberow/api/admission"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
	"kuberow/api/rest"
	"kuberow/controllers"
	"kuberow/raftlog"
	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// Env is a cluster without a front.
type Env struct {
	T        testing.TB
	Store    *sqlstore.Store
	REST     *rest.REST
	Registry *kinds.Registry
	Cluster  *kinds.Cluster
	Admin    user.Info
}

// New starts one that lasts as long as the test.
func New(t testing.TB) *Env {
	t.Helper()
	quiet := Quiet()
	store := storetest.Open(t)
	node, err := raftlog.Start(context.Background(), store, raftlog.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := node.Stop(); err != nil {
			t.Errorf("stop log: %v", err)
		}
	})
	registry, err := kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		t.Fatal(err)
	}
	cluster := &kinds.Cluster{
		ServiceCIDRs: []string{"10.96.0.0/16"}, NodePortFirst: 30000, NodePortLast: 32767, EventTTL: time.Hour,
		CertificateCA: []byte("-----BEGIN CERTIFICATE-----\n"), ClusterDomain: "cluster.local",
	}
	e := &Env{T: t, Store: store, Registry: registry, Cluster: cluster,
		Admin: &user.DefaultInfo{Name: "admin", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}}
	plugins, err := admission.Default(admission.Options{Source: store})
	if err != nil {
		t.Fatal(err)
	}
	e.REST = rest.New(rest.Config{
		Store: store, Proposer: node, Registry: registry, Cluster: cluster, Admission: plugins,
		Authorizer: authorizerfactory.NewAlwaysAllowAuthorizer(),
		Clock:      time.Now, Random: rand.String, UID: uuid.NewUUID, Logger: quiet,
	})
	for _, name := range []string{"default", "kube-system", "kube-node-lease"} {
		e.Create(schema.GroupResource{Resource: "namespaces"}, &corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
		})
	}
	return e
}

// Quiet is a logger that says nothing.
func Quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// Runner makes a runner of controllers.
func (e *Env) Runner(parallel int, list ...controllers.Controller) *controllers.Runner {
	e.T.Helper()
	r, err := controllers.NewRunner(controllers.Config{
		Store: e.Store, Client: e.REST.Client(), Registry: e.Registry, Cluster: e.Cluster, Objects: e.REST.Objects(),
		Controllers: list, Logger: Quiet(), Parallel: parallel,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return r
}

// Create writes an object as the admin.
func (e *Env) Create(gr schema.GroupResource, obj runtime.Object) runtime.Object {
	e.T.Helper()
	m, ok := obj.(metav1.Object)
	if !ok {
		e.T.Fatalf("create %s: a %T has no metadata", gr, obj)
	}
	out, err := e.REST.Client().Create(context.Background(), kinds.Write{
		User: e.Admin, Agent: "test", Resource: gr, Namespace: m.GetNamespace(), Name: m.GetName(), Object: obj,
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return out
}

// Mutate changes an object as the admin.
func (e *Env) Mutate(gr schema.GroupResource, namespace, name, subresource string, change func(runtime.Object)) {
	e.T.Helper()
	if _, err := e.REST.Client().Mutate(context.Background(), kinds.Write{
		User: e.Admin, Agent: "test", Resource: gr, Namespace: namespace, Name: name, Subresource: subresource,
		Mutate: func(obj runtime.Object) error { change(obj); return nil },
	}); err != nil {
		e.T.Fatal(err)
	}
}

// Delete deletes an object as the admin.
func (e *Env) Delete(gr schema.GroupResource, namespace, name, propagation string) {
	e.T.Helper()
	if _, err := e.REST.Client().Delete(context.Background(), kinds.Write{
		User: e.Admin, Agent: "test", Resource: gr, Namespace: namespace, Name: name, Propagation: propagation,
	}); err != nil {
		e.T.Fatal(err)
	}
}

// List reads all objects of a resource in a namespace ("" for all).
func List[T runtime.Object](e *Env, gr schema.GroupResource, namespace string) []T {
	e.T.Helper()
	objs, err := e.REST.Reader().List(context.Background(), gr, namespace, nil)
	if err != nil {
		e.T.Fatal(err)
	}
	var out []T
	for _, obj := range objs {
		out = append(out, obj.(T))
	}
	return out
}

// Get reads an object, nil when there is none.
func Get[T runtime.Object](e *Env, gr schema.GroupResource, namespace, name string) T {
	obj, err := e.REST.Reader().Get(context.Background(), gr, namespace, name)
	if err != nil {
		var none T
		return none
	}
	return obj.(T)
}

// InstantKubelet is a kubelet that has everything run the moment it is bound,
// succeed at once when it is not to be restarted, and gone the moment it is deleted.
func InstantKubelet() controllers.Controller {
	return controllers.Controller{
		Name: "instant-kubelet",
		Keys: map[controllers.Resource]controllers.KeysFunc{
			controllers.Pods: func(_ controllers.View, c controllers.Object) []controllers.Key {
				if c.Now == nil {
					return nil
				}
				return []controllers.Key{controllers.NameKey(c.Now)}
			},
		},
		Step: func(v controllers.View, keys []controllers.Key) controllers.Outcome {
			var out controllers.Outcome
			for _, k := range keys {
				pod, _ := v.Get(controllers.Pods, k.Namespace, k.Name).(*corev1.Pod)
				if pod == nil || pod.Spec.NodeName == "" {
					continue
				}
				if pod.DeletionTimestamp != nil {
					now := int64(0)
					out.Writes = append(out.Writes, controllers.Write{Verb: controllers.Delete, Key: k, Ignore: controllers.Gone, Write: kinds.Write{
						User: controllers.NodeUser(pod.Spec.NodeName), Resource: controllers.Pods,
						Namespace: k.Namespace, Name: k.Name, UID: pod.UID, GracePeriodSeconds: &now,
					}})
					continue
				}
				if pod.Status.Phase != corev1.PodPending {
					continue
				}
				out.Writes = append(out.Writes, controllers.Write{Verb: controllers.Mutate, Key: k, Ignore: controllers.Gone, Write: kinds.Write{
					User: controllers.NodeUser(pod.Spec.NodeName), Resource: controllers.Pods, Subresource: "status",
					Namespace: k.Namespace, Name: k.Name,
					Mutate: func(obj runtime.Object) error {
						p := obj.(*corev1.Pod)
						p.Status.Phase = corev1.PodRunning
						if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
							p.Status.Phase = corev1.PodSucceeded
							return nil
						}
						p.Status.PodIP = "10.112.0.9"
						p.Status.PodIPs = []corev1.PodIP{{IP: "10.112.0.9"}}
						p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
							Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(v.Now()),
						})
						return nil
					},
				}})
			}
			return out
		},
	}
}
