package apps

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// A DaemonSet. Before ControllerRevisions it counted its templates itself: what
// the internal type calls templateGeneration is kept in this annotation, and only
// the server writes it.

func daemonSets() *kinds.Resource {
	parts := common.NewParts(
		func(d *appsv1.DaemonSet) *appsv1.DaemonSetSpec { return &d.Spec },
		func(d *appsv1.DaemonSet) *appsv1.DaemonSetStatus { return &d.Status })
	strategy := common.Typed[appsv1.DaemonSet, *appsv1.DaemonSet]{
		Default: defaultDaemonSet,
		Drop:    func(d *appsv1.DaemonSet) { core.DropTemplateFields(&d.Spec.Template) },
		PrepareForCreate: func(r *kinds.Context, d *appsv1.DaemonSet) {
			parts.PrepareForCreate(r, d)
			setTemplateGeneration(d, max(1, templateGeneration(d)))
		},
		PrepareForUpdate: func(r *kinds.Context, d, old *appsv1.DaemonSet) {
			parts.PrepareForUpdate(r, d, old)
			generation := templateGeneration(old)
			if !common.Equal(d.Spec.Template, old.Spec.Template) {
				generation++
			}
			setTemplateGeneration(d, generation)
		},
		Validate:       validateDaemonSet,
		FreeUpdate:     true,
		ValidateUpdate: validateDaemonSetUpdate,
		Warnings: func(_ *kinds.Context, d, old *appsv1.DaemonSet) []string {
			path := field.NewPath("spec", "template")
			switch {
			case old == nil:
				return core.PodTemplateWarnings(&d.Spec.Template, path)
			case templateGeneration(d) != templateGeneration(old):
				return core.PodTemplateWarnings(&d.Spec.Template, path)
			}
			return nil
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(r *kinds.Context, d, old *appsv1.DaemonSet) {
		parts.PrepareStatus(r, d, old)
		setTemplateGeneration(d, templateGeneration(old)) // a part of the spec, though it looks like an annotation
	}
	status.ValidateUpdate = validateDaemonSetStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[appsv1.DaemonSet, appsv1.DaemonSetList](gvk("DaemonSet"))
	return single(kinds.Resource{
		Name: "daemonsets", Singular: "daemonset", ShortNames: []string{"ds"}, Categories: []string{"all"},
		Verbs: common.Verbs(), Prefix: "/registry/daemonsets", StorageVersionHash: "dd7pWHUlMKQ=",
		HiddenAnnotation: appsv1.DeprecatedTemplateGeneration,
		Strategy:         strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

func defaultDaemonSet(d *appsv1.DaemonSet) {
	u := &d.Spec.UpdateStrategy
	if u.Type == "" {
		u.Type = appsv1.RollingUpdateDaemonSetStrategyType
	}
	rolls := u.Type == appsv1.RollingUpdateDaemonSetStrategyType
	if rolls && u.RollingUpdate == nil {
		u.RollingUpdate = &appsv1.RollingUpdateDaemonSet{}
	}
	if r := u.RollingUpdate; r != nil { // where nothing rolls, what was left out is 0, as in upstream's internal type
		if r.MaxUnavailable == nil && rolls {
			r.MaxUnavailable = new(intstr.FromInt32(1))
		} else if r.MaxUnavailable == nil {
			r.MaxUnavailable = new(intstr.FromInt32(0))
		}
		if r.MaxSurge == nil {
			r.MaxSurge = new(intstr.FromInt32(0))
		}
	}
	if d.Spec.RevisionHistoryLimit == nil {
		d.Spec.RevisionHistoryLimit = new(int32(10))
	}
	core.DefaultPodTemplate(&d.Spec.Template)
	// The preparation counts; that the annotation is there already now makes it the writer's field.
	setTemplateGeneration(d, templateGeneration(d))
}

func templateGeneration(d *appsv1.DaemonSet) int64 {
	n, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedTemplateGeneration], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func setTemplateGeneration(d *appsv1.DaemonSet, n int64) {
	if d.Annotations == nil {
		d.Annotations = map[string]string{}
	}
	d.Annotations[appsv1.DeprecatedTemplateGeneration] = strconv.FormatInt(n, 10)
}
