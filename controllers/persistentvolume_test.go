package controllers_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func storage(size string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
}

func volume(name, size string, phase corev1.PersistentVolumePhase, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: []string{"kubernetes.io/pv-protection"}},
		Spec: corev1.PersistentVolumeSpec{Capacity: storage(size), StorageClassName: "manual", PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x"}}},
		Status: corev1.PersistentVolumeStatus{Phase: phase}}
	for _, f := range change {
		f(pv)
	}
	return pv
}

func claim(change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	class := "manual"
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "c", UID: "c-uid", Finalizers: []string{"kubernetes.io/pvc-protection"}},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: storage("1Gi")}},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}
	for _, f := range change {
		f(c)
	}
	return c
}

func TestTheBinderSteps(t *testing.T) {
	ours := func(pv *corev1.PersistentVolume) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "c", UID: "c-uid"}
	}
	others := func(pv *corev1.PersistentVolume) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "other", UID: "other-uid"}
	}
	named := func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "v" }
	bound := func(c *corev1.PersistentVolumeClaim) {
		named(c)
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: c.Spec.AccessModes, Capacity: storage("5Gi")}
	}
	class := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
	}
	policy := func(p corev1.PersistentVolumeReclaimPolicy, path string) func(*corev1.PersistentVolume) {
		return func(pv *corev1.PersistentVolume) {
			ours(pv)
			pv.Spec.PersistentVolumeReclaimPolicy, pv.Spec.HostPath.Path = p, path
		}
	}
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	binds := func(v string) []string {
		return []string{"mutate persistentvolumes " + v, "mutate persistentvolumes/status " + v, "mutate persistentvolumeclaims c", "mutate persistentvolumeclaims/status c"}
	}
	claimKey := controllers.Key{Namespace: "default", Name: "c", Resource: controllers.PersistentVolumeClaims}
	volumeKey := controllers.Key{Name: "v", Resource: controllers.PersistentVolumes}
	for name, test := range map[string]struct {
		key  controllers.Key
		objs []runtime.Object
		want []string
	}{
		"the smallest that fits": {claimKey, []runtime.Object{claim(), volume("v1", "9Gi", "Available"), volume("v2", "5Gi", "Available"), volume("v3", "1Mi", "Available")}, binds("v2")},
		"one that is reserved":   {claimKey, []runtime.Object{claim(), volume("v1", "1Gi", "Available"), volume("v2", "5Gi", "Available", ours)}, binds("v2")[1:]},
		"none is left": {claimKey, []runtime.Object{claim(class("")), volume("v1", "5Gi", "Bound", others)},
			[]string{"event Normal FailedBinding: no persistent volumes available for this claim and no storage class is set"}},
		"no such class": {claimKey, []runtime.Object{claim(class("nosuch"))}, []string{`event Warning ProvisioningFailed: storageclass.storage.k8s.io "nosuch" not found`}},
		"the scheduler shall choose": {claimKey, []runtime.Object{claim(), volume("v", "5Gi", "Available"), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "manual"}, VolumeBindingMode: &wait}},
			[]string{"event Normal WaitForFirstConsumer: waiting for first consumer to be created before binding"}},
		"a volume by name":                {claimKey, []runtime.Object{claim(named), volume("v", "5Gi", "Available")}, binds("v")},
		"too small a one":                 {claimKey, []runtime.Object{claim(named), volume("v", "1Mi", "Available")}, []string{`event Warning VolumeMismatch: Cannot bind to requested volume "v": requested PV is too small`}},
		"one that another has":            {claimKey, []runtime.Object{claim(named), volume("v", "5Gi", "Bound", others)}, []string{`event Warning FailedBinding: volume "v" already bound to a different claim.`}},
		"all done":                        {claimKey, []runtime.Object{claim(bound), volume("v", "5Gi", "Bound", ours)}, nil},
		"the volume is gone":              {claimKey, []runtime.Object{claim(bound)}, []string{"mutate persistentvolumeclaims/status c", "event Warning ClaimLost: Bound claim has lost its PersistentVolume. Data on the volume is lost!"}},
		"a new volume":                    {volumeKey, []runtime.Object{volume("v", "5Gi", "Pending")}, []string{"mutate persistentvolumes/status v"}},
		"its claim is gone":               {volumeKey, []runtime.Object{volume("v", "5Gi", "Bound", ours)}, []string{"mutate persistentvolumes/status v"}},
		"released, and kept":              {volumeKey, []runtime.Object{volume("v", "5Gi", "Released", ours)}, nil},
		"released, and deleted":           {volumeKey, []runtime.Object{volume("v", "5Gi", "Released", policy("Delete", "/tmp/x"))}, []string{"delete persistentvolumes v"}},
		"released, and not ours to touch": {volumeKey, []runtime.Object{volume("v", "5Gi", "Released", policy("Delete", "/srv/x"))}, []string{"mutate persistentvolumes/status v", "event Warning VolumeFailedDelete: host_path deleter only supports /tmp/.+ but received provided /srv/x"}},
		"its claim went elsewhere": {volumeKey, []runtime.Object{volume("v", "5Gi", "Bound", ours), claim(func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "w" })},
			[]string{"mutate persistentvolumes v", "mutate persistentvolumes/status v"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := controllertest.NewView(t, test.objs...)
			if got := v.Told(controllers.VolumeBinder().Step(v, []controllers.Key{test.key})); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestWhatIsInUseStays(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	quiet(t, r)
	e.Create(controllers.PersistentVolumes, volume("v", "5Gi", "", func(pv *corev1.PersistentVolume) {
		pv.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
	}))
	e.Create(controllers.PersistentVolumeClaims, claim(func(c *corev1.PersistentVolumeClaim) {
		c.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		c.UID = ""
	}))
	quiet(t, r)
	e.Create(controllers.Pods, &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "user"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1"}}, Volumes: []corev1.Volume{{Name: "v",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "c"}}}}}})
	quiet(t, r)
	look := func() (*corev1.PersistentVolumeClaim, corev1.PersistentVolumePhase) {
		pv := controllertest.Get[*corev1.PersistentVolume](e, controllers.PersistentVolumes, "", "v")
		return controllertest.Get[*corev1.PersistentVolumeClaim](e, controllers.PersistentVolumeClaims, "default", "c"), pv.Status.Phase
	}
	c, phase := look()
	if c.Status.Phase != corev1.ClaimBound || c.Spec.VolumeName != "v" || phase != corev1.VolumeBound || len(c.Status.Conditions) != 1 || c.Status.Conditions[0].Reason != "PodUsingPVC" {
		t.Fatalf("claim %+v, volume %s", c.Status, phase)
	}
	e.Delete(controllers.PersistentVolumeClaims, "default", "c", "")
	quiet(t, r)
	if c, _ := look(); c == nil || len(c.Finalizers) != 1 {
		t.Fatalf("a claim in use: %+v", c)
	}
	e.Delete(controllers.Pods, "default", "user", "")
	quiet(t, r)
	if c, phase := look(); c != nil || phase != corev1.VolumeReleased {
		t.Errorf("after the pod: claim %v, volume %s", c, phase)
	}
}
