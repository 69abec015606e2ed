package apps

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// The rules of DaemonSet and StatefulSet.

func validateDaemonSet(_ *kinds.Context, d *appsv1.DaemonSet) field.ErrorList {
	return daemonSetSpec(d)
}

func daemonSetSpec(d *appsv1.DaemonSet) field.ErrorList {
	s, path := &d.Spec, field.NewPath("spec")
	template := path.Child("template")
	all := common.LabelSelector(s.Selector, path.Child("selector"))
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err == nil && !selector.Matches(labels.Set(s.Template.Labels)) {
		all = append(all, field.Invalid(template.Child("metadata", "labels"), s.Template.Labels, "`selector` does not match template `labels`"))
	}
	if s.Selector != nil && len(s.Selector.MatchLabels)+len(s.Selector.MatchExpressions) == 0 {
		all = append(all, field.Invalid(path.Child("selector"), s.Selector, "empty selector is invalid for daemonset"))
	}
	all = append(all, core.ValidatePodTemplateSpec(&s.Template, template)...)
	all = append(all, runsForever(&s.Template, "DaemonSet", template)...)
	all = append(all, common.NonNegative(int64(s.MinReadySeconds), path.Child("minReadySeconds"))...)
	all = append(all, daemonSetStrategy(&s.UpdateStrategy, path.Child("updateStrategy"))...)
	c := counts{path: path, all: all}
	c.optional("revisionHistoryLimit", s.RevisionHistoryLimit)
	return c.all
}

func daemonSetStrategy(s *appsv1.DaemonSetUpdateStrategy, path *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
		unavailable, surge := *s.RollingUpdate.MaxUnavailable, *s.RollingUpdate.MaxSurge
		pathU, pathS := path.Child("rollingUpdate", "maxUnavailable"), path.Child("rollingUpdate", "maxSurge")
		all := append(common.IntOrPercent(unavailable, pathU), common.IntOrPercent(surge, pathS)...)
		all = append(all, common.AtMost100Percent(unavailable, pathU)...)
		all = append(all, common.AtMost100Percent(surge, pathS)...)
		hasU, hasS := common.PercentOrInt(unavailable) != 0, common.PercentOrInt(surge) != 0
		if hasU && hasS {
			all = append(all, field.Invalid(pathS, surge, "may not be set when maxUnavailable is non-zero"))
		}
		if !hasU && !hasS {
			all = append(all, field.Required(pathU, "cannot be 0 when maxSurge is 0"))
		}
		return all
	}
	return field.ErrorList{field.NotSupported(path, common.Internal(s), []appsv1.DaemonSetUpdateStrategyType{
		appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
}

func validateDaemonSetUpdate(_ *kinds.Context, d, old *appsv1.DaemonSet) field.ErrorList {
	all := common.Immutable(d.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))
	return append(all, daemonSetSpec(d)...)
}

func validateDaemonSetStatus(_ *kinds.Context, d, old *appsv1.DaemonSet) field.ErrorList {
	c := counts{path: field.NewPath("status")}
	t := &d.Status
	c.notNegative("currentNumberScheduled", int64(t.CurrentNumberScheduled))
	c.notNegative("numberMisscheduled", int64(t.NumberMisscheduled))
	c.notNegative("desiredNumberScheduled", int64(t.DesiredNumberScheduled))
	c.notNegative("numberReady", int64(t.NumberReady))
	c.notNegative("observedGeneration", t.ObservedGeneration)
	c.notNegative("updatedNumberScheduled", int64(t.UpdatedNumberScheduled))
	c.notNegative("numberAvailable", int64(t.NumberAvailable))
	c.notNegative("numberUnavailable", int64(t.NumberUnavailable))
	c.optional("collisionCount", t.CollisionCount)
	return append(c.all, common.NotDecremented(t.CollisionCount, old.Status.CollisionCount, c.path.Child("collisionCount"))...)
}

func validateStatefulSet(_ *kinds.Context, s *appsv1.StatefulSet) field.ErrorList {
	return statefulSetSpec(&s.Spec, nil, field.NewPath("spec"))
}

// statefulSetSpec checks a new spec (old is nil) or a changed one: what cannot change any
// more is not held against an object that was stored under older rules.
func statefulSetSpec(s, old *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	all := statefulSetPolicies(s, path)
	if old == nil {
		for i := range s.VolumeClaimTemplates {
			all = append(all, core.ValidateClaimSpec(&s.VolumeClaimTemplates[i].Spec, path.Child("volumeClaimTemplates").Index(i).Child("spec"))...)
		}
	}
	c := counts{path: path, all: all}
	c.notNegative("replicas", int64(*s.Replicas))
	c.notNegative("minReadySeconds", int64(s.MinReadySeconds))
	if s.Ordinals != nil {
		c.notNegative("ordinals.start", int64(s.Ordinals.Start))
	}
	if old == nil && s.ServiceName != "" {
		c.all = append(c.all, common.DNSLabel(s.ServiceName, path.Child("serviceName"))...)
	}
	c.all = append(c.all, validateSelector(s.Selector, "statefulset", path.Child("selector"))...)
	return append(c.all, statefulSetTemplate(s, path)...)
}

func statefulSetPolicies(s *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if m := s.PodManagementPolicy; m != appsv1.OrderedReadyPodManagement && m != appsv1.ParallelPodManagement {
		all = append(all, field.Invalid(path.Child("podManagementPolicy"), m,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
	}
	update, rolling := path.Child("updateStrategy"), s.UpdateStrategy.RollingUpdate
	switch s.UpdateStrategy.Type {
	case appsv1.OnDeleteStatefulSetStrategyType:
		if rolling != nil {
			shown := rolling.DeepCopy()
			if shown.Partition == nil { // upstream's internal type has a plain number
				shown.Partition = new(int32(0))
			}
			all = append(all, field.Invalid(update.Child("rollingUpdate"), common.Internal(shown),
				fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType)))
		}
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if rolling != nil {
			all = append(all, statefulSetRolling(rolling, update.Child("rollingUpdate"))...)
		}
	default:
		all = append(all, field.Invalid(update, common.Internal(s.UpdateStrategy),
			fmt.Sprintf("must be '%s' or '%s'", appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType)))
	}
	keep := s.PersistentVolumeClaimRetentionPolicy
	for _, p := range []struct {
		name   string
		policy appsv1.PersistentVolumeClaimRetentionPolicyType
	}{{"whenDeleted", keep.WhenDeleted}, {"whenScaled", keep.WhenScaled}} {
		if p.policy != appsv1.RetainPersistentVolumeClaimRetentionPolicyType && p.policy != appsv1.DeletePersistentVolumeClaimRetentionPolicyType {
			all = append(all, field.NotSupported(path.Child("persistentVolumeClaimRetentionPolicy", p.name), p.policy,
				[]appsv1.PersistentVolumeClaimRetentionPolicyType{appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType}))
		}
	}
	return all
}

func statefulSetRolling(r *appsv1.RollingUpdateStatefulSetStrategy, path *field.Path) field.ErrorList {
	all := common.NonNegative(int64(*r.Partition), path.Child("partition"))
	if r.MaxUnavailable == nil {
		return all
	}
	unavailable := path.Child("maxUnavailable")
	all = append(all, common.IntOrPercent(*r.MaxUnavailable, unavailable)...)
	if common.PercentOrInt(*r.MaxUnavailable) == 0 {
		all = append(all, field.Invalid(unavailable, *r.MaxUnavailable, "cannot be 0"))
	}
	return append(all, common.AtMost100Percent(*r.MaxUnavailable, unavailable)...)
}

func statefulSetTemplate(s *appsv1.StatefulSetSpec, path *field.Path) field.ErrorList {
	template := path.Child("template")
	selector, err := metav1.LabelSelectorAsSelector(s.Selector)
	if err != nil {
		all := field.ErrorList{field.Invalid(path.Child("selector"), s.Selector, "")}
		return append(all, runsForever(&s.Template, "StatefulSet", template)...)
	}
	t := asRun(s)
	all := selectsTemplate(selector, t, template)
	all = append(all, core.ValidatePodTemplateSpec(t, template)...)
	all = append(all, common.Labels(t.Labels, template.Child("labels"))...)
	return append(all, runsForever(&s.Template, "StatefulSet", template)...)
}

// asRun is the template as the controller will use it: hostname and subdomain are set for
// each pod, and each claim template is a volume.
func asRun(s *appsv1.StatefulSetSpec) *corev1.PodTemplateSpec {
	t := s.Template.DeepCopy()
	t.Spec.Subdomain, t.Spec.Hostname = "", ""
	if len(s.VolumeClaimTemplates) == 0 {
		return t
	}
	claims := map[string]bool{}
	var volumes []corev1.Volume
	for i := range s.VolumeClaimTemplates {
		name := s.VolumeClaimTemplates[i].Name
		if !claims[name] {
			claims[name] = true
			volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
	}
	for _, v := range t.Spec.Volumes {
		if !claims[v.Name] {
			volumes = append(volumes, v)
		}
	}
	t.Spec.Volumes = volumes
	return t
}

func validateStatefulSetUpdate(_ *kinds.Context, s, old *appsv1.StatefulSet) field.ErrorList {
	path := field.NewPath("spec")
	all := statefulSetSpec(&s.Spec, &old.Spec, path)
	all = append(all, common.Immutable(s.Spec.Selector, old.Spec.Selector, path.Child("selector"))...)
	all = append(all, common.Immutable(s.Spec.VolumeClaimTemplates, old.Spec.VolumeClaimTemplates, path.Child("volumeClaimTemplates"))...)
	all = append(all, common.Immutable(s.Spec.ServiceName, old.Spec.ServiceName, path.Child("serviceName"))...)
	return append(all, common.Immutable(s.Spec.PodManagementPolicy, old.Spec.PodManagementPolicy, path.Child("podManagementPolicy"))...)
}

func validateStatefulSetStatus(_ *kinds.Context, s, old *appsv1.StatefulSet) field.ErrorList {
	c := counts{path: field.NewPath("status")}
	t := &s.Status
	c.notNegative("replicas", int64(t.Replicas))
	c.notNegative("readyReplicas", int64(t.ReadyReplicas))
	c.notNegative("currentReplicas", int64(t.CurrentReplicas))
	c.notNegative("updatedReplicas", int64(t.UpdatedReplicas))
	c.notNegative("availableReplicas", int64(t.AvailableReplicas))
	c.notNegative("observedGeneration", t.ObservedGeneration)
	c.optional("collisionCount", t.CollisionCount)
	c.atMost("readyReplicas", t.ReadyReplicas, t.Replicas, "status.replicas")
	c.atMost("currentReplicas", t.CurrentReplicas, t.Replicas, "status.replicas")
	c.atMost("updatedReplicas", t.UpdatedReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.ReadyReplicas, "status.readyReplicas")
	return append(c.all, common.NotDecremented(t.CollisionCount, old.Status.CollisionCount, c.path.Child("collisionCount"))...)
}
