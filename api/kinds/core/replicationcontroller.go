package core

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A ReplicationController is the ancestor of ReplicaSet. Its selector, and its
// own labels, default to the labels of its template.

func replicationControllers() *kinds.Resource {
	parts := common.NewParts(
		func(c *corev1.ReplicationController) *corev1.ReplicationControllerSpec { return &c.Spec },
		func(c *corev1.ReplicationController) *corev1.ReplicationControllerStatus { return &c.Status })
	strategy := common.Typed[corev1.ReplicationController, *corev1.ReplicationController]{
		Default: defaultReplicationController,
		Drop: func(c *corev1.ReplicationController) {
			if c.Spec.Template != nil {
				DropTemplateFields(c.Spec.Template)
			}
		},
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate:         validateReplicationController,
		ValidateUpdate:   validateReplicationControllerUpdate,
		Warnings:         replicationControllerWarnings,
		ValidateName:     common.NameMade,
		FieldNames:       []string{"status.replicas"},
		Fields: func(c *corev1.ReplicationController) []sqlstore.Pair {
			return common.Pairs("status.replicas", strconv.Itoa(int(c.Status.Replicas)))
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateReplicationControllerStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[corev1.ReplicationController, corev1.ReplicationControllerList](gvk("ReplicationController"))
	return single(kinds.Resource{
		Name: "replicationcontrollers", Singular: "replicationcontroller", Propagation: kinds.OrphanDependents, ShortNames: []string{"rc"}, Categories: []string{"all"},
		Namespaced: true, Verbs: common.Verbs(), Prefix: "/registry/controllers", StorageVersionHash: "Jond2If31h0=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			common.Scale(&kinds.Scale{Get: scaleOfRC, Set: setScaleOfRC}),
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultReplicationController(c *corev1.ReplicationController) {
	if c.Spec.Replicas == nil {
		c.Spec.Replicas = new(int32(1))
	}
	t := c.Spec.Template
	if t == nil {
		return
	}
	if t.Labels != nil {
		if len(c.Spec.Selector) == 0 {
			c.Spec.Selector = t.Labels
		}
		if len(c.Labels) == 0 {
			c.Labels = t.Labels
		}
	}
	DefaultPodTemplate(t)
}

func scaleOfRC(obj runtime.Object) (spec, status int32, selector string, err error) {
	c := obj.(*corev1.ReplicationController)
	return *c.Spec.Replicas, c.Status.Replicas, labels.SelectorFromSet(c.Spec.Selector).String(), nil
}

func setScaleOfRC(obj runtime.Object, replicas int32) error {
	obj.(*corev1.ReplicationController).Spec.Replicas = &replicas
	return nil
}

func replicationControllerWarnings(_ *kinds.Context, c, old *corev1.ReplicationController) []string {
	path := field.NewPath("spec", "template")
	if old == nil {
		return append(common.PodNameWarning(c.Name), PodTemplateWarnings(c.Spec.Template, path)...)
	}
	if c.Generation == old.Generation {
		return nil
	}
	return PodTemplateWarnings(old.Spec.Template, path) // as upstream, which takes the old template for the new one
}
