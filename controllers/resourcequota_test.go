package controllers_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func TestQuotasCountWhatIsThere(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	quiet(t, r)
	e.Create(controllers.ResourceQuotas, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourceConfigMaps: resource.MustParse("5"), corev1.ResourcePods: resource.MustParse("2")}},
	})
	quiet(t, r)
	used := func(name corev1.ResourceName, want int64) {
		t.Helper()
		q := controllertest.Get[*corev1.ResourceQuota](e, controllers.ResourceQuotas, "default", "q").Status.Used[name]
		if q.Value() != want {
			t.Errorf("used %s: %s, want %d", name, q.String(), want)
		}
	}
	used(corev1.ResourceConfigMaps, 1) // the cluster's CA
	e.Create(controllers.ConfigMaps, configMap("a"))
	quiet(t, r)
	used(corev1.ResourceConfigMaps, 2)
	e.Delete(controllers.ConfigMaps, "default", "a", "")
	quiet(t, r)
	used(corev1.ResourceConfigMaps, 1)
	e.Create(controllers.Deployments, deployment("web", 4))
	quiet(t, r)
	used(corev1.ResourcePods, 2)
}

// A charge whose object is not there yet is counted away; so whatever was changed is counted again.
func TestQuotasAreCountedAgain(t *testing.T) {
	five, one := resource.MustParse("5"), resource.MustParse("1")
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "q"}}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceConfigMaps: five}
	q.Status.Hard, q.Status.Used = q.Spec.Hard, corev1.ResourceList{corev1.ResourceConfigMaps: one}
	key := controllers.Key{Namespace: "default", Name: "q"}
	step := func(objs ...runtime.Object) (writes int, again time.Duration) {
		v := controllertest.NewView(t, objs...)
		out := controllers.ResourceQuota().Step(v, []controllers.Key{key})
		if at, ok := out.Again[key]; ok {
			again = at.Sub(v.Now())
		}
		return len(out.Writes), again
	}
	if writes, again := step(q); writes != 1 || again != time.Second {
		t.Errorf("counted away: %d writes, again in %s", writes, again)
	}
	if writes, again := step(q, configMap("a")); writes != 0 || again != 0 {
		t.Errorf("counted right: %d writes, again in %s", writes, again)
	}
}
