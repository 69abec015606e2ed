package controllers_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func TestAnEphemeralVolumeGetsItsClaim(t *testing.T) {
	p := pod("web", nil, controllertest.Now)
	p.UID = "web-uid"
	p.Spec.Volumes = []corev1.Volume{{Name: "plain"}, {Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v"}}}}}}
	c := controllers.EphemeralVolume()
	keys := c.Keys[controllers.Pods](nil, controllers.Object{Now: p})
	if want := []controllers.Key{{Namespace: p.Namespace, Name: "web"}}; !slices.Equal(keys, want) {
		t.Fatalf("keys: got %v, want %v", keys, want)
	}
	v := controllertest.NewView(t, p)
	claim := c.Step(v, keys).Writes[0].Object.(*corev1.PersistentVolumeClaim)
	if claim.Name != "web-scratch" || !metav1.IsControlledBy(claim, p) || claim.Labels["a"] != "b" || claim.Spec.VolumeName != "v" {
		t.Errorf("the claim: %+v", claim)
	}
	claim.OwnerReferences = nil
	v = controllertest.NewView(t, p, claim)
	want := []string{"event Warning FailedBinding: ephemeral volume scratch: PVC default/web-scratch was not created for pod default/web (pod is not owner)"}
	if told := v.Told(c.Step(v, keys)); !slices.Equal(told, want) {
		t.Errorf("another's claim: got %q, want %q", told, want)
	}
}
