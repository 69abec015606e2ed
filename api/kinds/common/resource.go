package common

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// Verbs are the verbs of a resource that serves all of them, in discovery's order.
func Verbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

// StatusVerbs are the verbs of status, scale and other parts of an object.
func StatusVerbs() []string { return []string{"get", "patch", "update"} }

// ProxyVerbs are the verbs of the proxy subresources.
func ProxyVerbs() []string { return []string{"create", "delete", "get", "patch", "update"} }

// Status is the status subresource of a kind.
func Status(gvk schema.GroupVersionKind, strategy *kinds.Strategy) *kinds.Subresource {
	return &kinds.Subresource{Name: "status", GVK: gvk, Verbs: StatusVerbs(), Strategy: strategy}
}

// UnprintedStatus is the status subresource of one of the kinds whose status is shown as no Table.
func UnprintedStatus(gvk schema.GroupVersionKind, strategy *kinds.Strategy) *kinds.Subresource {
	s := Status(gvk, strategy)
	s.NoTable = true
	return s
}

// Scale is the scale subresource of a kind.
func Scale(scale *kinds.Scale) *kinds.Subresource {
	return &kinds.Subresource{
		Name: "scale", GVK: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Verbs: StatusVerbs(), Scale: scale,
	}
}
