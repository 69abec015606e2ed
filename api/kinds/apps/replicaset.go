package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

func replicaSets() *kinds.Resource {
	parts := common.NewParts(
		func(s *appsv1.ReplicaSet) *appsv1.ReplicaSetSpec { return &s.Spec },
		func(s *appsv1.ReplicaSet) *appsv1.ReplicaSetStatus { return &s.Status })
	strategy := common.Typed[appsv1.ReplicaSet, *appsv1.ReplicaSet]{
		Default: func(s *appsv1.ReplicaSet) {
			if s.Spec.Replicas == nil {
				s.Spec.Replicas = new(int32(1))
			}
			core.DefaultPodTemplate(&s.Spec.Template)
		},
		Drop:             func(s *appsv1.ReplicaSet) { core.DropTemplateFields(&s.Spec.Template) },
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate:         validateReplicaSet,
		FreeUpdate:       true,
		ValidateUpdate:   validateReplicaSetUpdate,
		Warnings: func(_ *kinds.Context, s, old *appsv1.ReplicaSet) []string {
			path := field.NewPath("spec", "template")
			switch {
			case old == nil:
				return append(common.PodNameWarning(s.Name), core.PodTemplateWarnings(&s.Spec.Template, path)...)
			case s.Generation != old.Generation:
				return core.PodTemplateWarnings(&s.Spec.Template, path)
			}
			return nil
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateReplicaSetStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[appsv1.ReplicaSet, appsv1.ReplicaSetList](gvk("ReplicaSet"))
	return single(kinds.Resource{
		Name: "replicasets", Singular: "replicaset", ShortNames: []string{"rs"}, Categories: []string{"all"},
		Verbs: common.Verbs(), Prefix: "/registry/replicasets", StorageVersionHash: "P1RzHs8/mWQ=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			common.Scale(&kinds.Scale{Get: scaleOfReplicaSet, Set: setScaleOfReplicaSet}),
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func scaleOfReplicaSet(obj runtime.Object) (spec, status int32, selector string, err error) {
	s := obj.(*appsv1.ReplicaSet)
	selector, err = selectorText(s.Spec.Selector)
	return *s.Spec.Replicas, s.Status.Replicas, selector, err
}

func setScaleOfReplicaSet(obj runtime.Object, replicas int32) error {
	obj.(*appsv1.ReplicaSet).Spec.Replicas = &replicas
	return nil
}
