package controllers_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

// TestCascades deletes a Deployment in the three ways, on a real store.
func TestCascades(t *testing.T) {
	for policy, want := range map[string]struct{ deployments, sets, pods, ownedSets int }{
		"Background": {0, 0, 0, 0},
		"Foreground": {0, 0, 0, 0},
		"Orphan":     {0, 1, 2, 0},
	} {
		t.Run(policy, func(t *testing.T) {
			e := controllertest.New(t)
			r := e.Runner(1, cast(1)...)
			e.Create(controllers.Deployments, deployment("web", 2))
			quiet(t, r)
			e.Delete(controllers.Deployments, "default", "web", policy)
			quiet(t, r)
			sets := controllertest.List[*appsv1.ReplicaSet](e, controllers.ReplicaSets, "default")
			owned := 0
			for _, rs := range sets {
				owned += len(rs.OwnerReferences)
			}
			got := struct{ deployments, sets, pods, ownedSets int }{
				len(controllertest.List[*appsv1.Deployment](e, controllers.Deployments, "default")), len(sets),
				len(controllertest.List[*corev1.Pod](e, controllers.Pods, "default")), owned,
			}
			if got != want {
				t.Errorf("left: %+v, want %+v", got, want)
			}
		})
	}
}

func TestNamespaceGoesWithAllInIt(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	e.Create(controllers.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	d := deployment("web", 2)
	d.Namespace = "team"
	e.Create(controllers.Deployments, d)
	quiet(t, r)
	if controllertest.Get[*corev1.ServiceAccount](e, controllers.ServiceAccounts, "team", "default") == nil ||
		controllertest.Get[*corev1.ConfigMap](e, controllers.ConfigMaps, "team", "kube-root-ca.crt") == nil {
		t.Error("the namespace has no default service account or no CA")
	}
	e.Delete(controllers.Namespaces, "", "team", "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for controllertest.Get[*corev1.Namespace](e, controllers.Namespaces, "", "team") != nil {
		before := e.Store.Revision()
		quiet(t, r)
		if e.Store.Revision() == before {
			t.Fatalf("the namespace stays: %+v", controllertest.Get[*corev1.Namespace](e, controllers.Namespaces, "", "team"))
		}
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
	}
	if n := len(controllertest.List[*corev1.ConfigMap](e, controllers.ConfigMaps, "team")); n != 0 {
		t.Errorf("%d config maps are left", n)
	}
}
