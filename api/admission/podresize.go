package admission

// PodResizeValidator: a running pod may only grow to what its node can give. It
// asks the node; a pod that is on none yet is the scheduler's business.

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-helpers/resource"
)

func podResize() Plugin {
	return Plugin{Name: "PodResizeValidator", Validate: func(a *Attributes) error {
		if !a.is("", "pods", "resize") || a.Operation != update {
			return nil
		}
		pod, old := a.Object.(*corev1.Pod), a.Old.(*corev1.Pod)
		if pod.Spec.NodeName == "" || pod.Generation == old.Generation {
			return nil
		}
		node, err := nodeOf(a, pod)
		if err != nil {
			return err
		}
		return nodeFits(a, pod, node)
	}}
}

// nodeOf is the node that the pod is on. Without it nothing about the pod may change that it has a say in.
func nodeOf(a *Attributes, pod *corev1.Pod) (*corev1.Node, error) {
	o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "nodes"}, "", pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
		return nil, forbidden(a, "node %q not found", pod.Spec.NodeName)
	case err != nil:
		return nil, forbidden(a, "failed to get node %q: %w", pod.Spec.NodeName, err)
	}
	return o.(*corev1.Node), nil
}

// nodeFits compares the pod's requests with all that the node has, whatever other pods have taken of it.
func nodeFits(a *Attributes, pod *corev1.Pod, node *corev1.Node) error {
	if os, there := node.Labels[corev1.LabelOSStable]; there && os != "linux" {
		return unresized(a, "UnsupportedPlatform", fmt.Sprintf("pod resize is only supported on linux nodes, node %q is %q", node.Name, os))
	}
	requests := resource.PodRequests(pod, resource.PodResourcesOptions{})
	var lacks []string
	if cpu, has := requests.Cpu(), node.Status.Allocatable.Cpu(); cpu.Cmp(*has) > 0 {
		lacks = append(lacks, fmt.Sprintf("cpu, requested: %d, allocatable: %d", cpu.MilliValue(), has.MilliValue()))
	}
	if memory, has := requests.Memory(), node.Status.Allocatable.Memory(); memory.Cmp(*has) > 0 {
		lacks = append(lacks, fmt.Sprintf("memory, requested: %d, allocatable: %d", memory.Value(), has.Value()))
	}
	if len(lacks) == 0 {
		return nil
	}
	return unresized(a, "NodeCapacity", "node didn't have enough allocatable resources: "+strings.Join(lacks, "; "))
}

// unresized is a refusal with a cause that an autoscaler can read.
func unresized(a *Attributes, cause metav1.CauseType, text string) error {
	refusal := forbidden(a, "%s", text)
	refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause})
	return refusal
}
