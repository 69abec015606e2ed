package controllers_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
