package controllers

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// What a Job's podFailurePolicy says of a pod that failed.

// failurePolicy asks spec.podFailurePolicy about a failed pod: whether it counts, and why the whole Job fails ("" when it does not).
func failurePolicy(j *batchv1.Job, p *corev1.Pod) (counts bool, why string) {
	if j.Spec.PodFailurePolicy == nil || p.Status.Phase != corev1.PodFailed {
		return true, ""
	}
	for i, rule := range j.Spec.PodFailurePolicy.Rules {
		what := ""
		if rule.OnExitCodes != nil {
			what = matchExitCode(rule.OnExitCodes, p)
		} else {
			what = matchPodCondition(rule.OnPodConditions, p)
		}
		if what == "" {
			continue
		}
		switch rule.Action {
		case batchv1.PodFailurePolicyActionIgnore:
			return false, ""
		case batchv1.PodFailurePolicyActionFailJob:
			return true, fmt.Sprintf("%s matching FailJob rule at index %d", what, i)
		default:
			return true, ""
		}
	}
	return true, ""
}

// matchExitCode finds a container that ended as the rule says.
func matchExitCode(rule *batchv1.PodFailurePolicyOnExitCodesRequirement, p *corev1.Pod) string {
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			if (rule.ContainerName != nil && *rule.ContainerName != c.Name) || c.State.Terminated == nil || c.State.Terminated.ExitCode == 0 {
				continue
			}
			in := slices.Contains(rule.Values, c.State.Terminated.ExitCode)
			if in == (rule.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn) {
				return fmt.Sprintf("Container %s for pod %s/%s failed with exit code %d", c.Name, p.Namespace, p.Name, c.State.Terminated.ExitCode)
			}
		}
	}
	return ""
}

// matchPodCondition finds a condition that the rule names.
func matchPodCondition(rules []batchv1.PodFailurePolicyOnPodConditionsPattern, p *corev1.Pod) string {
	for _, rule := range rules {
		if c := podCondition(p, rule.Type); c != nil && c.Status == rule.Status {
			return fmt.Sprintf("Pod %s/%s has condition %s", p.Namespace, p.Name, c.Type)
		}
	}
	return ""
}
