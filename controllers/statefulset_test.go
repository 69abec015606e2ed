package controllers_test

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

// statefulSet is one as the store has it.
func statefulSet(size int32, image string, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	labels, grace, partition, limit := map[string]string{"app": "db"}, int64(30), int32(0), int32(10)
	s := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db", Generation: 1},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &size, ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: labels}, RevisionHistoryLimit: &limit,
			PodManagementPolicy: appsv1.OrderedReadyPodManagement,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "c", Image: image, TerminationMessagePath: "/dev/termination-log",
					TerminationMessagePolicy: corev1.TerminationMessageReadFile, ImagePullPolicy: corev1.PullIfNotPresent}},
				RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, DNSPolicy: corev1.DNSClusterFirst,
				SecurityContext: &corev1.PodSecurityContext{}, SchedulerName: "default-scheduler"}},
		},
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// member is a pod of a set: available since an hour, unless changed.
func member(s *appsv1.StatefulSet, name, revision string, change ...func(*corev1.Pod)) *corev1.Pod {
	return pod(name, nil, controllertest.Now.Add(-time.Hour), append([]func(*corev1.Pod){func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		p.Labels = map[string]string{"app": "db", appsv1.StatefulSetPodNameLabel: name, appsv1.StatefulSetRevisionLabel: revision}
	}}, change...)...)
}

func unready(p *corev1.Pod) { p.Status.Conditions = nil }

func going(p *corev1.Pod) { now := metav1.NewTime(controllertest.Now); p.DeletionTimestamp = &now }

// The revisions' names are those that a v1.37 cluster gives to this set.
const oldDB, newDB = "db-7994d8f66d", "db-6fcc8755b9"

func TestStatefulSetSteps(t *testing.T) {
	uid := func(s *appsv1.StatefulSet) { s.UID = "db-uid" }
	parallel := func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
	onDelete := func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	partition := func(n int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = &n }
	}
	slow := func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 7200 }
	storage := func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
	}
	set := func(size int32, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		return statefulSet(size, "pg:2", append(change, uid)...)
	}
	s := set(2)
	a, b, c := member(s, "db-0", newDB), member(s, "db-1", newDB), member(s, "db-2", newDB)
	b1 := member(s, "db-1", oldDB)
	revision := "create controllerrevisions " + newDB
	created := func(name string) []string {
		return []string{"create pods " + name, "  event Normal SuccessfulCreate: Create Pod " + name + " in StatefulSet db successful"}
	}
	deleted := func(name string) []string {
		return []string{"delete pods " + name, "  event Normal SuccessfulDelete: Delete Pod " + name + " in StatefulSet db successful"}
	}
	for name, test := range map[string]struct {
		objs []runtime.Object
		want []string
	}{
		"the first pod, and nothing more":     {[]runtime.Object{s}, created("db-0")},
		"all at once":                         {[]runtime.Object{set(2, parallel)}, slices.Concat(created("db-0"), created("db-1"))},
		"the second when the first is ready":  {[]runtime.Object{s, a}, created("db-1")},
		"not while it is not":                 {[]runtime.Object{s, member(s, "db-0", newDB, unready)}, nil},
		"not before it is available":          {[]runtime.Object{set(2, slow), a}, nil},
		"not while it ends":                   {[]runtime.Object{s, member(s, "db-0", newDB, going), b}, nil},
		"an ended one is replaced":            {[]runtime.Object{s, member(s, "db-0", newDB, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), b}, deleted("db-0")},
		"the last of two surplus ones":        {[]runtime.Object{set(1), a, b, c}, deleted("db-2")},
		"both":                                {[]runtime.Object{set(1, parallel), a, b, c}, slices.Concat(deleted("db-2"), deleted("db-1"))},
		"surplus waits for what is not ready": {[]runtime.Object{set(1), a, member(s, "db-1", newDB, unready), c}, deleted("db-2")},
		"the outdated one":                    {[]runtime.Object{s, a, b1}, deleted("db-1")},
		"the higher of two":                   {[]runtime.Object{s, member(s, "db-0", oldDB), b1}, deleted("db-1")},
		"below the partition all stays":       {[]runtime.Object{set(2, partition(2)), a, b1}, nil},
		"OnDelete leaves that to you":         {[]runtime.Object{set(2, onDelete), a, b1}, nil},
		"the claim, then its pod": {[]runtime.Object{set(1, storage)}, slices.Concat([]string{"create persistentvolumeclaims data-db-0",
			"  event Normal SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success"}, created("db-0"))},
		"not while the claim goes": {[]runtime.Object{set(1, storage), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data-db-0", DeletionTimestamp: &metav1.Time{Time: controllertest.Now}}}},
			[]string{"event Warning FailedCreate: Create Pod db-0 in StatefulSet db failed error: pvc data-db-0 is being deleted"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := controllertest.NewView(t, test.objs...)
			out := controllers.StatefulSet().Step(v, []controllers.Key{{Namespace: "default", Name: "db"}})
			want := append(append([]string{revision}, test.want...), "mutate statefulsets/status db")
			if got := v.Told(out); !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func TestAStatefulSetRollsOutInOrder(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(2)...)
	quiet(t, r)
	e.Create(controllers.StatefulSets, statefulSet(3, "pg:1"))
	quiet(t, r)
	e.Mutate(controllers.StatefulSets, "default", "db", "", func(obj runtime.Object) {
		obj.(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Image = "pg:2"
	})
	quiet(t, r)
	var names []string
	for _, p := range controllertest.List[*corev1.Pod](e, controllers.Pods, "default") {
		names = append(names, p.Name+" "+p.Labels[appsv1.StatefulSetRevisionLabel]+" "+p.Spec.Hostname)
	}
	if want := []string{"db-0 " + newDB + " db-0", "db-1 " + newDB + " db-1", "db-2 " + newDB + " db-2"}; !slices.Equal(names, want) {
		t.Errorf("pods %q, want %q", names, want)
	}
	s := controllertest.Get[*appsv1.StatefulSet](e, controllers.StatefulSets, "default", "db").Status
	if s.CurrentRevision != newDB || s.CurrentReplicas != 3 || s.ReadyReplicas != 3 || s.UpdatedReplicas != 3 {
		t.Errorf("status %+v", s)
	}
	// Back: the first revision gets a new number, and none is made.
	e.Mutate(controllers.StatefulSets, "default", "db", "", func(obj runtime.Object) {
		obj.(*appsv1.StatefulSet).Spec.Template.Spec.Containers[0].Image = "pg:1"
	})
	quiet(t, r)
	for _, rev := range controllertest.List[*appsv1.ControllerRevision](e, controllers.ControllerRevisions, "default") {
		if want := map[string]int64{oldDB: 3, newDB: 2}[rev.Name]; rev.Revision != want {
			t.Errorf("revision %s has number %d, want %d", rev.Name, rev.Revision, want)
		}
	}
}
