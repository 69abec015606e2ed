package admission

// RuntimeClass: what a runtime costs (overhead) and where it is (node selector,
// tolerations) is written into the pods that use it.

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func runtimeClass() Plugin {
	return Plugin{
		Name: "RuntimeClass",
		Mutate: func(a *Attributes) error {
			pod := a.newPod()
			if pod == nil {
				return nil
			}
			class, err := findRuntimeClass(a, pod)
			if err != nil || class == nil {
				return err
			}
			if o := class.Overhead; o != nil {
				if len(pod.Spec.Overhead) > 0 && !apiequality.Semantic.DeepEqual(o.PodFixed, pod.Spec.Overhead) {
					return forbidden(a, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
				}
				pod.Spec.Overhead = o.PodFixed.DeepCopy()
			}
			return setRuntimeScheduling(a, pod, class.Scheduling)
		},
		Validate: func(a *Attributes) error {
			pod := a.newPod()
			if pod == nil {
				return nil
			}
			class, err := findRuntimeClass(a, pod)
			switch {
			case err != nil:
				return err
			case class != nil && class.Overhead != nil:
				if !apiequality.Semantic.DeepEqual(class.Overhead.PodFixed, pod.Spec.Overhead) {
					return forbidden(a, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
				}
			case pod.Spec.Overhead != nil:
				return forbidden(a, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
			}
			return nil
		},
	}
}

func findRuntimeClass(a *Attributes, pod *corev1.Pod) (*nodev1.RuntimeClass, error) {
	if pod.Spec.RuntimeClassName == nil {
		return nil, nil
	}
	if *pod.Spec.RuntimeClassName == "" {
		// Upstream's client refuses to ask for it, and that becomes a server error.
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "resource name may not be empty",
		}}
	}
	o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Group: nodev1.GroupName, Resource: "runtimeclasses"}, "", *pod.Spec.RuntimeClassName)
	if apierrors.IsNotFound(err) {
		return nil, forbidden(a, "pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName)
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	class, _ := o.(*nodev1.RuntimeClass)
	return class, nil
}

func setRuntimeScheduling(a *Attributes, pod *corev1.Pod, s *nodev1.Scheduling) error {
	if s == nil {
		return nil
	}
	for key, value := range s.NodeSelector {
		if v, there := pod.Spec.NodeSelector[key]; there && v != value {
			return forbidden(a, "conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, value, key, v)
		}
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	}
	for _, t := range s.Tolerations {
		if !tolerated(pod.Spec.Tolerations, t) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	return nil
}

func tolerated(all []corev1.Toleration, t corev1.Toleration) bool {
	for i := range all {
		if apiequality.Semantic.DeepEqual(all[i], t) {
			return true
		}
	}
	return false
}
