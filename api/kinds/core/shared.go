package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules of a PodSpec that other groups hold their kinds to.

// ValidateTolerations checks the tolerations of a pod, or those that its runtime class adds.
func ValidateTolerations(list []corev1.Toleration, path *field.Path) field.ErrorList {
	var f faults
	f.tolerations(list, path)
	return f.all
}

// ValidateLimits checks an amount of resources as the limits of a container, and names it so: path is their parent's.
func ValidateLimits(limits corev1.ResourceList, path *field.Path) field.ErrorList {
	c := &podCheck{spec: &corev1.PodSpec{}}
	c.checkRequirements(&corev1.ResourceRequirements{Limits: limits}, path, ValidateContainerResourceName)
	return c.all
}
