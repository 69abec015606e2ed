package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
)

// The rules of a ReplicationController. What upstream declares in the API types comes last, as there.

func validateReplicationController(_ *kinds.Context, c *corev1.ReplicationController) field.ErrorList {
	var f faults
	s, at := &c.Spec, field.NewPath("spec")
	selector := labels.SelectorFromSet(s.Selector)
	if selector.Empty() {
		f.required(at.Child("selector"), "")
	}
	template := at.Child("template")
	if t := s.Template; t == nil {
		f.required(template, "")
	} else {
		if !selector.Empty() && !selector.Matches(labels.Set(t.Labels)) {
			f.invalid(template.Child("metadata", "labels"), t.Labels, "`selector` does not match template `labels`")
		}
		f.add(ValidatePodTemplateSpec(t, template))
		if t.Spec.RestartPolicy != corev1.RestartPolicyAlways {
			f.all = append(f.all, field.NotSupported(template.Child("spec", "restartPolicy"), t.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
		}
		if t.Spec.ActiveDeadlineSeconds != nil {
			f.forbidden(template.Child("spec", "activeDeadlineSeconds"), "activeDeadlineSeconds in ReplicationController is not Supported")
		}
	}
	f.nonNegative(at.Child("replicas"), int64(*s.Replicas))
	f.nonNegative(at.Child("minReadySeconds"), int64(s.MinReadySeconds))
	return f.all
}

func validateReplicationControllerUpdate(r *kinds.Context, c, _ *corev1.ReplicationController) field.ErrorList {
	return validateReplicationController(r, c)
}

func validateReplicationControllerStatus(_ *kinds.Context, c, _ *corev1.ReplicationController) field.ErrorList {
	var f faults
	s, at := &c.Status, field.NewPath("status")
	f.nonNegative(at.Child("replicas"), int64(s.Replicas))
	f.nonNegative(at.Child("fullyLabeledReplicas"), int64(s.FullyLabeledReplicas))
	f.nonNegative(at.Child("readyReplicas"), int64(s.ReadyReplicas))
	f.nonNegative(at.Child("availableReplicas"), int64(s.AvailableReplicas))
	f.nonNegative(at.Child("observedGeneration"), s.ObservedGeneration)
	for _, n := range []struct {
		name         string
		value, limit int32
		of           string
	}{
		{"fullyLabeledReplicas", s.FullyLabeledReplicas, s.Replicas, "status.replicas"},
		{"readyReplicas", s.ReadyReplicas, s.Replicas, "status.replicas"},
		{"availableReplicas", s.AvailableReplicas, s.Replicas, "status.replicas"},
		{"availableReplicas", s.AvailableReplicas, s.ReadyReplicas, "readyReplicas"},
	} {
		if n.value > n.limit {
			f.invalid(at.Child(n.name), n.value, "cannot be greater than "+n.of)
		}
	}
	return f.all
}
