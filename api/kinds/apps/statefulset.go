package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// A StatefulSet stores its claim templates with apiVersion and kind, unlike any
// other nested object: old servers did, and clients compare.

func statefulSets() *kinds.Resource {
	parts := common.NewParts(
		func(s *appsv1.StatefulSet) *appsv1.StatefulSetSpec { return &s.Spec },
		func(s *appsv1.StatefulSet) *appsv1.StatefulSetStatus { return &s.Status })
	strategy := common.Typed[appsv1.StatefulSet, *appsv1.StatefulSet]{
		Default:          defaultStatefulSet,
		Drop:             func(s *appsv1.StatefulSet) { core.DropTemplateFields(&s.Spec.Template) },
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate:         validateStatefulSet,
		FreeUpdate:       true,
		ValidateUpdate:   validateStatefulSetUpdate,
		Warnings:         statefulSetWarnings,
		ValidateName:     common.NameLabel,
		ResetFields:      []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateStatefulSetStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[appsv1.StatefulSet, appsv1.StatefulSetList](gvk("StatefulSet"))
	return single(kinds.Resource{
		Name: "statefulsets", Singular: "statefulset", ShortNames: []string{"sts"}, Categories: []string{"all"},
		Verbs: common.Verbs(), Prefix: "/registry/statefulsets", StorageVersionHash: "H+vl74LkKdo=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			common.Scale(&kinds.Scale{Get: scaleOfStatefulSet, Set: setScaleOfStatefulSet}),
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultStatefulSet(s *appsv1.StatefulSet) {
	p := &s.Spec
	if p.PodManagementPolicy == "" {
		p.PodManagementPolicy = appsv1.OrderedReadyPodManagement
	}
	if p.UpdateStrategy.Type == "" {
		p.UpdateStrategy.Type = appsv1.RollingUpdateStatefulSetStrategyType
		if p.UpdateStrategy.RollingUpdate == nil {
			p.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{}
		}
	}
	if u := p.UpdateStrategy.RollingUpdate; u != nil && p.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		if u.Partition == nil {
			u.Partition = new(int32(0))
		}
		if u.MaxUnavailable == nil {
			u.MaxUnavailable = new(intstr.FromInt32(1))
		}
	}
	if p.PersistentVolumeClaimRetentionPolicy == nil {
		p.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{}
	}
	keep := p.PersistentVolumeClaimRetentionPolicy
	if keep.WhenDeleted == "" {
		keep.WhenDeleted = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	if keep.WhenScaled == "" {
		keep.WhenScaled = appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	}
	if p.Replicas == nil {
		p.Replicas = new(int32(1))
	}
	if p.RevisionHistoryLimit == nil {
		p.RevisionHistoryLimit = new(int32(10))
	}
	core.DefaultPodTemplate(&p.Template)
	for i := range p.VolumeClaimTemplates {
		claim := &p.VolumeClaimTemplates[i]
		core.DefaultVolumeClaim(claim)
		claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	}
}

func statefulSetWarnings(_ *kinds.Context, s, old *appsv1.StatefulSet) []string {
	var out []string
	template, claims := field.NewPath("spec", "template"), field.NewPath("spec", "volumeClaimTemplates")
	if old == nil {
		out = core.PodTemplateWarnings(&s.Spec.Template, template)
	} else if s.Generation != old.Generation {
		out = core.PodTemplateWarnings(&s.Spec.Template, template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		path := claims.Index(i)
		if old != nil {
			path = path.Child("Spec") // upstream's spelling, kept
		}
		out = append(out, core.ClaimSpecWarnings(&s.Spec.VolumeClaimTemplates[i].Spec, path)...)
	}
	if l := s.Spec.RevisionHistoryLimit; l != nil && *l < 0 {
		out = append(out, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return out
}

func scaleOfStatefulSet(obj runtime.Object) (spec, status int32, selector string, err error) {
	s := obj.(*appsv1.StatefulSet)
	selector, err = selectorText(s.Spec.Selector)
	return *s.Spec.Replicas, s.Status.Replicas, selector, err
}

func setScaleOfStatefulSet(obj runtime.Object, replicas int32) error {
	obj.(*appsv1.StatefulSet).Spec.Replicas = &replicas
	return nil
}
