package controllers_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
	"kuberow/controllers/scheduler"
)

// cast is everything that a Deployment needs, with nodes that run pods at once.
func cast(nodes int) []controllers.Controller {
	all := controllers.All(controllers.Options{Fleet: controllers.Fleet{Names: controllers.FleetNames(nodes)}})
	return append(all, scheduler.New(), controllertest.InstantKubelet())
}

func deployment(name string, replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
			},
		},
	}
}

// quiet runs the controllers one after the other until nothing is due.
func quiet(t *testing.T, r *controllers.Runner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.RunUntilQuiet(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestDeploymentRollsOutAndBack(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(2)...)
	e.Create(controllers.Deployments, deployment("web", 3))
	quiet(t, r)
	check := func(revision string, sizes map[string]int32) {
		t.Helper()
		d := controllertest.Get[*appsv1.Deployment](e, controllers.Deployments, "default", "web")
		if d.Status.ReadyReplicas != 3 || d.Status.UpdatedReplicas != 3 || d.Status.Replicas != 3 || d.Annotations["deployment.kubernetes.io/revision"] != revision {
			t.Fatalf("at revision %s: annotations %v, status %+v", revision, d.Annotations, d.Status)
		}
		for _, rs := range controllertest.List[*appsv1.ReplicaSet](e, controllers.ReplicaSets, "default") {
			if want, ok := sizes[rs.Name]; !ok || *rs.Spec.Replicas != want || rs.Status.ReadyReplicas != want {
				t.Errorf("%s: has %d (%d ready), want %d", rs.Name, *rs.Spec.Replicas, rs.Status.ReadyReplicas, want)
			}
		}
	}
	check("1", map[string]int32{"web-bfbd49cc7": 3})
	image := func(name string) {
		e.Mutate(controllers.Deployments, "default", "web", "", func(obj runtime.Object) {
			obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = name
		})
		quiet(t, r)
	}
	image("nginx:2")
	check("2", map[string]int32{"web-bfbd49cc7": 0, "web-664bbf55cb": 3})
	image("nginx:1")
	check("3", map[string]int32{"web-bfbd49cc7": 3, "web-664bbf55cb": 0})
	rs := controllertest.Get[*appsv1.ReplicaSet](e, controllers.ReplicaSets, "default", "web-bfbd49cc7")
	if got := rs.Annotations["deployment.kubernetes.io/revision-history"]; got != "1" {
		t.Errorf("revision history: got %q, want 1", got)
	}
}

func TestThousandReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a thousand pods")
	}
	e := controllertest.New(t)
	r := e.Runner(0, cast(10)...)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	began := time.Now()
	e.Create(controllers.Deployments, deployment("web", 1000))
	for {
		d := controllertest.Get[*appsv1.Deployment](e, controllers.Deployments, "default", "web")
		if d.Status.ReadyReplicas == 1000 {
			break
		}
		if err := e.Store.Wait(ctx, e.Store.Revision()); err != nil {
			t.Fatalf("after %v: %v; status %+v", time.Since(began), err, d.Status)
		}
	}
	t.Logf("1000 pods ready after %v, revision %d", time.Since(began), e.Store.Revision())
	cancel()
	<-done
	perNode := map[string]int{}
	for _, p := range controllertest.List[*corev1.Pod](e, controllers.Pods, "default") {
		perNode[p.Spec.NodeName]++
	}
	for i := range 10 {
		if n := perNode[fmt.Sprintf("node-%d", i+1)]; n < 90 || n > 110 {
			t.Errorf("node-%d has %d pods", i+1, n)
		}
	}
}

// TestControllersShareAFieldManager: upstream runs most of them in one process, which is the manager that kubectl shows.
func TestControllersShareAFieldManager(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	e.Create(controllers.Deployments, deployment("web", 1))
	quiet(t, r)
	for key, want := range map[string][]string{
		"/registry/replicasets/default/": {"kube-controller-manager"},
		"/registry/minions/":             {"kube-controller-manager", "kubelet"}, // who numbers nodes, and who reports them
	} {
		var managers []string
		if err := e.Store.Reader().SelectContext(t.Context(), &managers, `SELECT DISTINCT m.value ->> 'manager'
			FROM live JOIN kv USING (id), json_each(kv.managed_fields) m WHERE live.key BETWEEN ? AND ? || '~' ORDER BY 1`, key, key); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(managers, want) {
			t.Errorf("%s is managed by %q, want %q", key, managers, want)
		}
	}
}
