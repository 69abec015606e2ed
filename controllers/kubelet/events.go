package kubelet

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// Events that the kubelet tells: they wait here until the next Step hands them
// to the runner's recorder. Workers tell while they work, so a pod's key is woken.

// told keeps what has been told; mu guards it.
type told struct {
	mu     sync.Mutex
	writes []controllers.Write
}

// event tells something about a pod, or about a container when field is its path.
func (k *Kubelet) event(pod *corev1.Pod, field, kind, why, message string) {
	key := controllers.Key{Namespace: pod.Namespace, Name: pod.Name}
	w := controllers.Write{
		Verb: controllers.Record, Key: key,
		Write: kinds.Write{User: controllers.NodeUser(pod.Spec.NodeName), Agent: Name},
		Event: &controllers.Event{
			Regarding: corev1.ObjectReference{
				APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
				ResourceVersion: pod.ResourceVersion, FieldPath: field,
			},
			Type: kind, Reason: why, Message: message, Component: "kubelet", Host: pod.Spec.NodeName,
		},
	}
	k.told.mu.Lock()
	first := len(k.told.writes) == 0
	k.told.writes = append(k.told.writes, w)
	k.told.mu.Unlock()
	if first && k.sim == nil {
		k.Wake(key)
	}
}

// take gives what has been told since the last take.
func (t *told) take() []controllers.Write {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.writes
	t.writes = nil
	return out
}
