package scheduler_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestClaimsThatWaitForTheirPod: the node is chosen first, and the pod waits until its claim is bound.
func TestClaimsThatWaitForTheirPod(t *testing.T) {
	wait, name := storagev1.VolumeBindingWaitForFirstConsumer, "late"
	class := func(provisioner string) *storagev1.StorageClass {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &wait}
	}
	room := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c-uid"}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: room}}}
	asked := claim.DeepCopy()
	asked.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "b"}
	local := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "v-uid"}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: name, Capacity: room, AccessModes: claim.Spec.AccessModes,
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "kubernetes.io/hostname", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}}}
	reserved := local.DeepCopy()
	reserved.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "c", UID: "c-uid"}
	none := "event Warning FailedScheduling: 0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. " +
		"preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
	for what, test := range map[string]struct {
		objs      []runtime.Object
		nominated string
		want      []string
	}{
		"no volume":           {[]runtime.Object{claim, class("kubernetes.io/no-provisioner")}, "", []string{none, "mutate pods/status p"}},
		"a volume of a node":  {[]runtime.Object{claim, class("kubernetes.io/no-provisioner"), local}, "", []string{"mutate pods/status p", "mutate persistentvolumes v"}},
		"reserved":            {[]runtime.Object{claim, class("kubernetes.io/no-provisioner"), reserved}, "b", nil},
		"one can be made":     {[]runtime.Object{claim, class("example.com/p")}, "", []string{"mutate pods/status p", "mutate persistentvolumeclaims c"}},
		"one is being made":   {[]runtime.Object{asked, class("example.com/p")}, "b", nil},
		"a volume is at hand": {[]runtime.Object{claim, class("example.com/p"), local}, "", nil},
	} {
		p := pod("p", func(p *corev1.Pod) {
			p.Status.NominatedNodeName = test.nominated
			p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}
		})
		_, _, told := schedule(t, append(slices.Clone(test.objs), p, node("a"), node("b"))...)
		if what == "a volume is at hand" { // either node will do, with the volume or without
			if len(told) != 2 {
				t.Errorf("%s: got %q", what, told)
			}
			continue
		}
		if !slices.Equal(told, test.want) {
			t.Errorf("%s: got %q, want %q", what, told, test.want)
		}
	}
}
