package admission

import (
	corev1 "k8s.io/api/core/v1"
)

const notReadySeconds = 300

// defaultTolerationSeconds: a pod stays on a node that is not ready or
// unreachable for five minutes, unless it says something about that itself.
func defaultTolerationSeconds() Plugin {
	return Plugin{Name: "DefaultTolerationSeconds", Mutate: func(a *Attributes) error {
		pod, ok := a.Object.(*corev1.Pod)
		if !ok || !a.is("", "pods", "") || a.Operation != create && a.Operation != update {
			return nil
		}
		for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
			if !toleratesEviction(pod.Spec.Tolerations, taint) {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
					Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(notReadySeconds)),
				})
			}
		}
		return nil
	}}
}

func toleratesEviction(tolerations []corev1.Toleration, taint string) bool {
	for _, t := range tolerations {
		if (t.Key == taint || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}
