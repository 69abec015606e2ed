package controllers_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

var webKey = controllers.Key{Namespace: "default", Name: "web"}

// stored is a Deployment as it stands in the store.
func stored(replicas int32, image string, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := deployment("web", replicas)
	d.UID, d.Generation = "web-uid", 1
	d.Spec.Template.Spec.Containers[0].Image = image
	quarter, deadline, limit := intstr.FromString("25%"), int32(600), int32(10)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}}
	d.Spec.ProgressDeadlineSeconds, d.Spec.RevisionHistoryLimit = &deadline, &limit
	for _, f := range change {
		f(d)
	}
	return d
}

// setOf is a ReplicaSet of it, all pods ready.
func setOf(d *appsv1.Deployment, name, image, revision string, size int32) *appsv1.ReplicaSet {
	zero := int32(0)
	rs := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web", "pod-template-hash": name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
			Annotations: map[string]string{"deployment.kubernetes.io/revision": revision,
				"deployment.kubernetes.io/desired-replicas": "4", "deployment.kubernetes.io/max-replicas": "5"}},
		Spec:   appsv1.ReplicaSetSpec{Replicas: &size, Template: *d.Spec.Template.DeepCopy()},
		Status: appsv1.ReplicaSetStatus{Replicas: size, ReadyReplicas: size, AvailableReplicas: size, TerminatingReplicas: &zero, ObservedGeneration: 1},
	}
	rs.Spec.Template.Labels["pod-template-hash"] = name
	rs.Spec.Template.Spec.Containers[0].Image = image
	return rs
}

func TestDeploymentSteps(t *testing.T) {
	d := stored(4, "new")
	paused := stored(4, "new", func(d *appsv1.Deployment) { d.Spec.Paused = true })
	recreate := stored(4, "new", func(d *appsv1.Deployment) {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	})
	scaled := stored(8, "old")
	rollback := stored(4, "new", func(d *appsv1.Deployment) { d.Annotations = map[string]string{appsv1.DeprecatedRollbackTo: "1"} })
	short := func(d *appsv1.Deployment) *appsv1.ReplicaSet { // one new pod, not ready yet
		rs := setOf(d, "web-new", "new", "2", 1)
		rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 0, 0
		return rs
	}
	for name, test := range map[string]struct {
		objs []runtime.Object
		want []string
	}{
		"unhealthy old pods go first": {
			[]runtime.Object{d, func() *appsv1.ReplicaSet {
				rs := setOf(d, "web-old", "old", "1", 4)
				rs.Status.AvailableReplicas = 3
				return rs
			}(), short(d)},
			[]string{"mutate replicasets web-old", "event Normal ScalingReplicaSet: Scaled down replica set web-old from 4 to 3", "mutate deployments/status web"},
		},
		"a healthy old set gives up maxUnavailable": {
			[]runtime.Object{d, setOf(d, "web-old", "old", "1", 4), short(d)},
			[]string{"mutate replicasets web-old", "event Normal ScalingReplicaSet: Scaled down replica set web-old from 4 to 3", "mutate deployments/status web"},
		},
		"a paused one makes nothing new": {
			[]runtime.Object{paused, setOf(paused, "web-old", "old", "1", 4)},
			[]string{"mutate deployments/status web"},
		},
		"Recreate first empties the old set": {
			[]runtime.Object{recreate, setOf(recreate, "web-old", "old", "1", 4)},
			[]string{"mutate replicasets web-old", "event Normal ScalingReplicaSet: Scaled down replica set web-old from 4 to 0", "mutate deployments/status web"},
		},
		"scaling changes sizes only": {
			[]runtime.Object{scaled, setOf(scaled, "web-old", "old", "1", 4)},
			[]string{"mutate replicasets web-old", "event Normal ScalingReplicaSet: Scaled up replica set web-old from 4 to 8", "mutate deployments/status web"},
		},
		"a rollback copies the template": {
			[]runtime.Object{rollback, setOf(rollback, "web-old", "old", "1", 0), setOf(rollback, "web-new", "new", "2", 4)},
			[]string{"mutate deployments web", `event Normal DeploymentRollback: Rolled back deployment "web" to revision 1`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := controllertest.NewView(t, test.objs...)
			out := controllers.Deployment().Step(v, []controllers.Key{webKey})
			if diff := cmp.Diff(test.want, v.Told(out)); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDeploymentTimesOut(t *testing.T) {
	began := metav1.NewTime(controllertest.Now)
	d := stored(4, "new", func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.UnavailableReplicas, d.Status.ObservedGeneration = 4, 4, 4, 1
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
			Reason: "NewReplicaSetCreated", LastUpdateTime: began, LastTransitionTime: began}}
	})
	rs := setOf(d, "web-new", "new", "1", 4)
	rs.Status.ReadyReplicas, rs.Status.AvailableReplicas = 0, 0
	v := controllertest.NewView(t, d, rs)
	reason := func() (string, time.Time) {
		out := controllers.Deployment().Step(v, []controllers.Key{webKey})
		for _, c := range v.Changed(out, controllers.Deployments, "default", "web").(*appsv1.Deployment).Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing {
				return c.Reason, out.Again[webKey]
			}
		}
		return "", out.Again[webKey]
	}
	got, again := reason()
	if want := began.Add(601 * time.Second); got != "NewReplicaSetCreated" || !again.Equal(want) {
		t.Errorf("before the deadline: reason %s, again at %v; want NewReplicaSetCreated, %v", got, again, want)
	}
	v.Time = again
	if got, again := reason(); got != "ProgressDeadlineExceeded" || !again.IsZero() {
		t.Errorf("after the deadline: reason %s, again at %v; want ProgressDeadlineExceeded and never", got, again)
	}
}
