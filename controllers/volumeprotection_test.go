package controllers_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func TestAClassOfAttributesStaysWhileItIsNamed(t *testing.T) {
	now, gold := metav1.NewTime(controllertest.Now), "gold"
	class := &storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: gold, DeletionTimestamp: &now, Finalizers: []string{"kubernetes.io/vac-protection"}}}
	name := metav1.ObjectMeta{Namespace: "default", Name: "c"}
	for what, test := range map[string]struct {
		user  runtime.Object
		stays bool
	}{
		"nobody":   {&corev1.PersistentVolumeClaim{ObjectMeta: name}, false},
		"a claim":  {&corev1.PersistentVolumeClaim{ObjectMeta: name, Spec: corev1.PersistentVolumeClaimSpec{VolumeAttributesClassName: &gold}}, true},
		"a change": {&corev1.PersistentVolumeClaim{ObjectMeta: name, Status: corev1.PersistentVolumeClaimStatus{ModifyVolumeStatus: &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: gold}}}, true},
		"a volume": {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v"}, Spec: corev1.PersistentVolumeSpec{VolumeAttributesClassName: &gold}}, true},
	} {
		v := controllertest.NewView(t, class.DeepCopy(), test.user)
		out := controllers.AttributesClassProtection().Step(v, []controllers.Key{{Name: gold}})
		want := []string{"mutate volumeattributesclasses gold"}
		if test.stays {
			want = nil
		}
		if told := v.Told(out); !slices.Equal(told, want) {
			t.Errorf("%s: got %q, want %q", what, told, want)
		}
	}
}
