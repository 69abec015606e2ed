package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The ReplicaSet controller keeps as many pods as spec.replicas says.
// Key: a ReplicaSet. Woken by it and by its pods.

var replicaSetKind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// ReplicaSet is replicaset-controller.
func ReplicaSet() Controller {
	return Controller{
		Name: "replicaset-controller",
		Keys: keyMap{
			ReplicaSets: itself,
			Pods:        podOwnerKeys("ReplicaSet", replicaSetsFor),
		},
		Step: stepReplicaSets,
	}
}

// replicaSetsFor finds who may adopt a pod.
func replicaSetsFor(v View, pod *corev1.Pod) []Key {
	var keys []Key
	for _, rs := range typed[*appsv1.ReplicaSet](v.List(ReplicaSets, pod.Namespace, nil)) {
		s := selectorOf(rs.Spec.Selector)
		if !s.Empty() && s.Matches(labels.Set(pod.Labels)) {
			keys = append(keys, NameKey(rs))
		}
	}
	return keys
}

func stepReplicaSets(v View, keys []Key) Outcome {
	var out Outcome
	for _, k := range keys {
		rs := get[*appsv1.ReplicaSet](v, ReplicaSets, k.Namespace, k.Name)
		if rs == nil || rs.Spec.Replicas == nil {
			continue
		}
		rc := &replicaCount{
			set: rs, gvk: replicaSetKind, gr: ReplicaSets, component: "replicaset-controller", countGone: true, selector: selectorOf(rs.Spec.Selector),
			write: func(s appsv1.ReplicaSetStatus) Write {
				return mutation(k, ReplicaSets, "status", rs, func(now *appsv1.ReplicaSet) error {
					now.Status = s
					return nil
				})
			},
			related: func() []*corev1.Pod { return siblingPods(v, rs) },
		}
		rc.step(v, k, &out)
	}
	return out
}

// siblingPods gives the pods of all ReplicaSets of rs's owner.
func siblingPods(v View, rs *appsv1.ReplicaSet) []*corev1.Pod {
	ref := controllerOf(rs)
	if ref == nil {
		return typed[*corev1.Pod](v.Owned(Pods, rs.UID))
	}
	var pods []*corev1.Pod
	for _, sibling := range typed[*appsv1.ReplicaSet](v.Owned(ReplicaSets, ref.UID)) {
		pods = append(pods, typed[*corev1.Pod](v.Owned(Pods, sibling.UID))...)
	}
	return pods
}
