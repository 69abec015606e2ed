package kubelet

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers"
)

// Which pods read which config maps and secrets: when one changes, those pods are looked at.

// ref is a config map or secret that a pod reads.
type ref struct{ kind, namespace, name string }

// podRefs are those of its volumes and its environment.
func podRefs(pod *corev1.Pod) []ref {
	var out []ref
	add := func(kind, name string) {
		if r := (ref{kind, pod.Namespace, name}); name != "" && !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		switch {
		case v.ConfigMap != nil:
			add("configmap", v.ConfigMap.Name)
		case v.Secret != nil:
			add("secret", v.Secret.SecretName)
		case v.Projected != nil:
			for _, s := range v.Projected.Sources {
				if s.ConfigMap != nil {
					add("configmap", s.ConfigMap.Name)
				}
				if s.Secret != nil {
					add("secret", s.Secret.Name)
				}
			}
		}
	}
	for _, c := range allContainers(pod) {
		for _, e := range c.EnvFrom {
			if e.ConfigMapRef != nil {
				add("configmap", e.ConfigMapRef.Name)
			}
			if e.SecretRef != nil {
				add("secret", e.SecretRef.Name)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
				add("configmap", r.Name)
			}
			if r := e.ValueFrom.SecretKeyRef; r != nil {
				add("secret", r.Name)
			}
		}
	}
	return out
}

// addRefs indexes what a pod reads, dropRefs ends that. addRefs is called with k.mu held.
func (k *Kubelet) addRefs(pod *corev1.Pod) {
	for _, r := range podRefs(pod) {
		if k.refs[r] == nil {
			k.refs[r] = map[types.UID]bool{}
		}
		k.refs[r][pod.UID] = true
	}
}

func (k *Kubelet) dropRefs(pod *corev1.Pod) {
	if pod == nil {
		return
	}
	for _, r := range podRefs(pod) {
		delete(k.refs[r], pod.UID)
		if len(k.refs[r]) == 0 {
			delete(k.refs, r)
		}
	}
}

// refKeys gives the pods that read a changed config map or secret.
func (k *Kubelet) refKeys(kind string) func(controllers.View, controllers.Object) []controllers.Key {
	return func(_ controllers.View, o controllers.Object) []controllers.Key {
		obj := o.Now
		if obj == nil {
			obj = o.Prev
		}
		m, ok := obj.(interface {
			GetNamespace() string
			GetName() string
		})
		if !ok {
			return nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		var keys []controllers.Key
		for uid := range k.refs[ref{kind, m.GetNamespace(), m.GetName()}] {
			if w := k.pods[uid]; w != nil {
				w.mu.Lock()
				w.dirty = true // the pod is the same: this is why it is to be looked at
				w.mu.Unlock()
				keys = append(keys, w.key)
			}
		}
		return keys
	}
}
