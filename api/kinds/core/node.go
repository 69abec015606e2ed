package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A Node's status may be set when it is created (a kubelet registers itself
// with one POST); afterwards only through the status path.

func nodes() *kinds.Resource {
	parts := common.NewParts(
		func(n *corev1.Node) *corev1.NodeSpec { return &n.Spec },
		func(n *corev1.Node) *corev1.NodeStatus { return &n.Status })
	strategy := common.Typed[corev1.Node, *corev1.Node]{
		Default: defaultNode,
		PrepareForCreate: func(_ *kinds.Context, n *corev1.Node) {
			n.Spec.ConfigSource, n.Status.Config = nil, nil
			n.Spec.PodPreemptionPolicy = nil
		},
		PrepareForUpdate: func(_ *kinds.Context, n, old *corev1.Node) {
			n.Status = old.Status
			if old.Spec.ConfigSource == nil {
				n.Spec.ConfigSource = nil
			}
			if old.Spec.PodPreemptionPolicy == nil {
				n.Spec.PodPreemptionPolicy = nil
			}
		},
		Validate:       validateNode,
		ValidateUpdate: validateNodeUpdate,
		Warnings:       nodeWarnings,
		FieldNames:     []string{"spec.unschedulable"},
		Fields: func(n *corev1.Node) []sqlstore.Pair {
			return common.Pairs("spec.unschedulable", fmt.Sprint(n.Spec.Unschedulable))
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(r *kinds.Context, n, old *corev1.Node) {
		parts.PrepareStatus(r, n, old)
		if old.Status.Config == nil {
			n.Status.Config = nil
		}
	}
	status.ValidateUpdate = validateNodeStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[corev1.Node, corev1.NodeList](gvk("Node"))
	return single(kinds.Resource{
		Name: "nodes", Singular: "node", ShortNames: []string{"no"},
		Verbs: common.Verbs(), Prefix: "/registry/minions", StorageVersionHash: "XwShjMxG9Fs=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			{Name: "proxy", GVK: gvk("NodeProxyOptions"), Verbs: common.ProxyVerbs(), Connect: true},
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultNode(n *corev1.Node) {
	// The range of old and the list of ranges: the first of the list is the range.
	if s := &n.Spec; s.PodCIDR != "" && (len(s.PodCIDRs) == 0 || s.PodCIDRs[0] != s.PodCIDR) {
		s.PodCIDRs = []string{s.PodCIDR}
	} else if len(s.PodCIDRs) > 0 {
		s.PodCIDR = s.PodCIDRs[0]
	}
	if len(n.Status.Allocatable) == 0 && n.Status.Capacity != nil {
		n.Status.Allocatable = n.Status.Capacity.DeepCopy()
	}
	roundUp(n.Status.Capacity)
	roundUp(n.Status.Allocatable)
}
