package admission

import (
	corev1 "k8s.io/api/core/v1"
)

// taintNodesByCondition: a new node takes no pods until the node lifecycle
// controller has seen that it is ready.
func taintNodesByCondition() Plugin {
	return Plugin{Name: "TaintNodesByCondition", Mutate: func(a *Attributes) error {
		node, ok := a.Object.(*corev1.Node)
		if !ok || a.Operation != create || a.Subresource != "" {
			return nil
		}
		taint := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
		for _, t := range node.Spec.Taints {
			if t.MatchTaint(&taint) {
				return nil
			}
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
		return nil
	}}
}
