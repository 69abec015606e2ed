package admission

// Priority: a pod's priority is the number of its PriorityClass, or of the
// default class, or 0. Clients name a class and never write the number.

import (
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func priority(l *lookup) Plugin {
	return Plugin{
		Name: "Priority",
		Mutate: func(a *Attributes) error {
			if old, ok := a.Old.(*corev1.Pod); ok && a.Operation == update && a.is("", "pods", "") {
				keepPriority(a.Object.(*corev1.Pod), old)
				return nil
			}
			pod := a.newPod()
			if pod == nil {
				return nil
			}
			class, err := l.priority(a.Ctx, pod.Spec.PriorityClassName)
			if err != nil {
				return apierrors.NewInternalError(err)
			}
			if class == nil && pod.Spec.PriorityClassName != "" {
				return forbidden(a, "no PriorityClass with name %v was found", pod.Spec.PriorityClassName)
			}
			return setPriority(a, pod, class)
		},
		Validate: func(a *Attributes) error {
			class, ok := a.Object.(*schedulingv1.PriorityClass)
			if !ok || !class.GlobalDefault || a.Subresource != "" || a.Operation != create && a.Operation != update {
				return nil
			}
			other, err := l.priority(a.Ctx, "")
			if err != nil {
				return apierrors.NewInternalError(err)
			}
			if other != nil && (a.Operation == create || other.Name != class.Name) {
				return forbidden(a, "PriorityClass %v is already marked as default. Only one default can exist", other.Name)
			}
			return nil
		},
	}
}

func keepPriority(pod, old *corev1.Pod) {
	if pod.Spec.Priority == nil {
		pod.Spec.Priority = old.Spec.Priority
	}
	if pod.Spec.PreemptionPolicy == nil {
		pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
	}
}

func setPriority(a *Attributes, pod *corev1.Pod, class *schedulingv1.PriorityClass) error {
	value, policy := int32(0), new(corev1.PreemptLowerPriority)
	if class != nil {
		pod.Spec.PriorityClassName, value, policy = class.Name, class.Value, class.PreemptionPolicy
	}
	if p := pod.Spec.Priority; p != nil && *p != value {
		return forbidden(a, "the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *p, value)
	}
	pod.Spec.Priority = &value
	if policy == nil {
		return nil
	}
	if p := pod.Spec.PreemptionPolicy; p != nil && *p != *policy {
		return forbidden(a, "the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *p, *policy)
	}
	pod.Spec.PreemptionPolicy = new(*policy)
	return nil
}
