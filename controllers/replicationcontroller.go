package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The ReplicationController controller does for these what the ReplicaSet
// controller does for those: it looks at one as if it were a ReplicaSet.
// Key: a ReplicationController. Woken by it and by its pods.

var replicationControllerKind = corev1.SchemeGroupVersion.WithKind("ReplicationController")

// ReplicationController is replicationcontroller-controller.
func ReplicationController() Controller {
	return Controller{
		Name:    "replicationcontroller-controller",
		Account: "replication-controller",
		Keys: keyMap{
			ReplicationControllers: itself,
			Pods:                   podOwnerKeys("ReplicationController", replicationControllersFor),
		},
		Step: stepReplicationControllers,
	}
}

// replicationControllersFor finds who may adopt a pod.
func replicationControllersFor(v View, pod *corev1.Pod) []Key {
	var keys []Key
	for _, c := range typed[*corev1.ReplicationController](v.List(ReplicationControllers, pod.Namespace, nil)) {
		if len(c.Spec.Selector) > 0 && labels.SelectorFromSet(c.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			keys = append(keys, NameKey(c))
		}
	}
	return keys
}

func stepReplicationControllers(v View, keys []Key) Outcome {
	var out Outcome
	for _, k := range keys {
		c := get[*corev1.ReplicationController](v, ReplicationControllers, k.Namespace, k.Name)
		if c == nil || c.Spec.Replicas == nil || c.Spec.Template == nil {
			continue
		}
		rc := &replicaCount{
			set: asReplicaSet(c), gvk: replicationControllerKind, gr: ReplicationControllers,
			component: "replication-controller", selector: labels.SelectorFromSet(c.Spec.Selector),
			write: func(s appsv1.ReplicaSetStatus) Write {
				return mutation(k, ReplicationControllers, "status", c, func(now *corev1.ReplicationController) error {
					now.Status = asControllerStatus(s)
					return nil
				})
			},
			related: func() []*corev1.Pod { return typed[*corev1.Pod](v.Owned(Pods, c.UID)) },
		}
		rc.step(v, k, &out)
	}
	return out
}

// asReplicaSet shows a ReplicationController as a ReplicaSet.
func asReplicaSet(c *corev1.ReplicationController) *appsv1.ReplicaSet {
	rs := &appsv1.ReplicaSet{
		ObjectMeta: c.ObjectMeta,
		Spec: appsv1.ReplicaSetSpec{
			Replicas: c.Spec.Replicas, MinReadySeconds: c.Spec.MinReadySeconds,
			Selector: &metav1.LabelSelector{MatchLabels: c.Spec.Selector}, Template: *c.Spec.Template,
		},
		Status: appsv1.ReplicaSetStatus{
			Replicas: c.Status.Replicas, FullyLabeledReplicas: c.Status.FullyLabeledReplicas, ReadyReplicas: c.Status.ReadyReplicas,
			AvailableReplicas: c.Status.AvailableReplicas, ObservedGeneration: c.Status.ObservedGeneration,
		},
	}
	for _, cond := range c.Status.Conditions {
		rs.Status.Conditions = append(rs.Status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetConditionType(cond.Type), Status: cond.Status, LastTransitionTime: cond.LastTransitionTime,
			Reason: cond.Reason, Message: cond.Message,
		})
	}
	return rs
}

// asControllerStatus is the way back.
func asControllerStatus(s appsv1.ReplicaSetStatus) corev1.ReplicationControllerStatus {
	out := corev1.ReplicationControllerStatus{
		Replicas: s.Replicas, FullyLabeledReplicas: s.FullyLabeledReplicas, ReadyReplicas: s.ReadyReplicas,
		AvailableReplicas: s.AvailableReplicas, ObservedGeneration: s.ObservedGeneration,
	}
	for _, cond := range s.Conditions {
		out.Conditions = append(out.Conditions, corev1.ReplicationControllerCondition{
			Type: corev1.ReplicationControllerConditionType(cond.Type), Status: cond.Status, LastTransitionTime: cond.LastTransitionTime,
			Reason: cond.Reason, Message: cond.Message,
		})
	}
	return out
}
