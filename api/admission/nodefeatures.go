package admission

// NodeDeclaredFeatureValidator (KEP-5328): a pod on a node may only change in ways that its
// node says it can follow, in status.declaredFeatures. Which change wants which feature, the library knows.

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/component-helpers/nodedeclaredfeatures"
)

// featuresOf is the version of Kubernetes whose nodes are asked for features.
var featuresOf = version.MustParse("1.37.2")

func nodeDeclaredFeatures() Plugin {
	return Plugin{Name: "NodeDeclaredFeatureValidator", Validate: func(a *Attributes) error {
		if !a.is("", "pods", "") && !a.is("", "pods", "resize") || a.Operation != update {
			return nil
		}
		pod, old := a.Object.(*corev1.Pod), a.Old.(*corev1.Pod)
		if pod.Spec.NodeName == "" || pod.Generation == old.Generation {
			return nil
		}
		known := nodedeclaredfeatures.DefaultFramework
		wanted, err := known.InferForPodUpdate(&nodedeclaredfeatures.PodInfo{Spec: &old.Spec, Status: &old.Status},
			&nodedeclaredfeatures.PodInfo{Spec: &pod.Spec, Status: &pod.Status}, featuresOf)
		if err != nil {
			return forbidden(a, "failed to infer pod capability requirements: %w", err)
		}
		if wanted.IsEmpty() {
			return nil
		}
		node, err := nodeOf(a, pod)
		if err != nil {
			return err
		}
		result, err := known.MatchNode(wanted, node)
		if err != nil {
			return forbidden(a, "failed to match pod requirements against node %q: %w", node.Name, err)
		}
		if !result.IsMatch {
			return forbidden(a, "pod update requires features %s which are not available on node %q", strings.Join(result.UnsatisfiedRequirements, ", "), node.Name)
		}
		return nil
	}}
}
