package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// A Deployment. Its generation also counts changes of annotations, because they
// are copied to its ReplicaSets.

func deployments() *kinds.Resource {
	parts := common.NewParts(
		func(d *appsv1.Deployment) *appsv1.DeploymentSpec { return &d.Spec },
		func(d *appsv1.Deployment) *appsv1.DeploymentStatus { return &d.Status })
	strategy := common.Typed[appsv1.Deployment, *appsv1.Deployment]{
		Default:          defaultDeployment,
		Drop:             func(d *appsv1.Deployment) { core.DropTemplateFields(&d.Spec.Template) },
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: func(r *kinds.Context, d, old *appsv1.Deployment) {
			d.Status = old.Status
			changed := !common.Equal(d.Spec, old.Spec) || !common.Equal(d.Annotations, old.Annotations)
			common.BumpGeneration(d, old, changed)
		},
		Validate:       validateDeployment,
		FreeUpdate:     true,
		ValidateUpdate: validateDeploymentUpdate,
		Warnings: func(_ *kinds.Context, d, old *appsv1.Deployment) []string {
			path := field.NewPath("spec", "template")
			switch {
			case old == nil:
				return append(common.PodNameWarning(d.Name), core.PodTemplateWarnings(&d.Spec.Template, path)...)
			case d.Generation != old.Generation:
				return core.PodTemplateWarnings(&d.Spec.Template, path)
			}
			return nil
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(r *kinds.Context, d, old *appsv1.Deployment) {
		parts.PrepareStatus(r, d, old)
		d.Labels = old.Labels
	}
	status.ValidateUpdate = validateDeploymentStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec", "metadata.labels"}
	v := common.Version[appsv1.Deployment, appsv1.DeploymentList](gvk("Deployment"))
	return single(kinds.Resource{
		Name: "deployments", Singular: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"},
		Verbs: common.Verbs(), Prefix: "/registry/deployments", StorageVersionHash: "8aSe+NMegvE=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			common.Scale(&kinds.Scale{Get: scaleOfDeployment, Set: setScaleOfDeployment}),
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultDeployment(d *appsv1.Deployment) {
	s := &d.Spec
	if s.Replicas == nil {
		s.Replicas = new(int32(1))
	}
	if s.Strategy.Type == "" {
		s.Strategy.Type = appsv1.RollingUpdateDeploymentStrategyType
	}
	if s.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType {
		if s.Strategy.RollingUpdate == nil {
			s.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{}
		}
		r := s.Strategy.RollingUpdate
		if r.MaxUnavailable == nil {
			r.MaxUnavailable = new(intstr.FromString("25%"))
		}
		if r.MaxSurge == nil {
			r.MaxSurge = new(intstr.FromString("25%"))
		}
	}
	if s.RevisionHistoryLimit == nil {
		s.RevisionHistoryLimit = new(int32(10))
	}
	if s.ProgressDeadlineSeconds == nil {
		s.ProgressDeadlineSeconds = new(int32(600))
	}
	core.DefaultPodTemplate(&s.Template)
}

func scaleOfDeployment(obj runtime.Object) (spec, status int32, selector string, err error) {
	d := obj.(*appsv1.Deployment)
	selector, err = selectorText(d.Spec.Selector)
	return *d.Spec.Replicas, d.Status.Replicas, selector, err
}

func setScaleOfDeployment(obj runtime.Object, replicas int32) error {
	obj.(*appsv1.Deployment).Spec.Replicas = &replicas
	return nil
}
