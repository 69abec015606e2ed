package admission

import (
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// podTopologyLabels: a pod that gets its node also gets the node's zone and
// region as labels, from a binding or when it is created with a node.
func podTopologyLabels() Plugin {
	return Plugin{Name: "PodTopologyLabels", Mutate: func(a *Attributes) error {
		if a.Operation != create {
			return nil
		}
		node, labels := "", (*map[string]string)(nil)
		switch o := a.Object.(type) {
		case *corev1.Pod:
			if a.Subresource == "" {
				node, labels = o.Spec.NodeName, &o.Labels
			}
		case *corev1.Binding:
			if o.Target.Kind == "Node" {
				node, labels = o.Target.Name, &o.Labels
			}
		}
		if node == "" {
			return nil
		}
		o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "nodes"}, "", node)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		n, ok := o.(*corev1.Node)
		if !ok {
			return nil
		}
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion} {
			if value, there := n.Labels[key]; there {
				if *labels == nil {
					*labels = map[string]string{}
				}
				(*labels)[key] = value
			}
		}
		return nil
	}}
}
