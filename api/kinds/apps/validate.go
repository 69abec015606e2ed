package apps

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// The rules of Deployment and ReplicaSet, and what the workloads share. The
// order of the checks is the order of the causes that a client reads.

// selector wants one that selects something; kind is the word in the message.
func validateSelector(s *metav1.LabelSelector, kind string, path *field.Path) field.ErrorList {
	if s == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	all := common.LabelSelector(s, path)
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		all = append(all, field.Invalid(path, s, "empty selector is invalid for "+kind))
	}
	return all
}

// selectsTemplate: a workload that does not select its own pods would make them for ever.
func selectsTemplate(selector labels.Selector, t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	if selector.Empty() || selector.Matches(labels.Set(t.Labels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("metadata", "labels"), t.Labels, "`selector` does not match template `labels`")}
}

// runsForever: the pods of these kinds are restarted always and have no deadline.
func runsForever(t *corev1.PodTemplateSpec, kind string, path *field.Path) field.ErrorList {
	var all field.ErrorList
	spec := path.Child("spec")
	if t.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		all = append(all, field.NotSupported(spec.Child("restartPolicy"), t.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		all = append(all, field.Forbidden(spec.Child("activeDeadlineSeconds"), "activeDeadlineSeconds in "+kind+" is not Supported"))
	}
	return all
}

// replicatedTemplate are the rules of a Deployment's and a ReplicaSet's template.
func replicatedTemplate(s *metav1.LabelSelector, t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return field.ErrorList{field.Invalid(path.Child("selector"), s, "invalid label selector")}
	}
	template := path.Child("template")
	all := selectsTemplate(selector, t, template)
	all = append(all, core.ValidatePodTemplateSpec(t, template)...)
	return append(all, runsForever(t, "ReplicaSet", template)...)
}

func validateReplicaSet(_ *kinds.Context, s *appsv1.ReplicaSet) field.ErrorList {
	return replicaSetSpec(s)
}

func replicaSetSpec(s *appsv1.ReplicaSet) field.ErrorList {
	path := field.NewPath("spec")
	all := common.NonNegative(int64(*s.Spec.Replicas), path.Child("replicas"))
	all = append(all, common.NonNegative(int64(s.Spec.MinReadySeconds), path.Child("minReadySeconds"))...)
	all = append(all, validateSelector(s.Spec.Selector, "deployment", path.Child("selector"))...)
	return append(all, replicatedTemplate(s.Spec.Selector, &s.Spec.Template, path)...)
}

func validateReplicaSetUpdate(_ *kinds.Context, s, old *appsv1.ReplicaSet) field.ErrorList {
	all := replicaSetSpec(s)
	return append(all, common.Immutable(s.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

func validateReplicaSetStatus(_ *kinds.Context, s, _ *appsv1.ReplicaSet) field.ErrorList {
	c := counts{path: field.NewPath("status")}
	t := &s.Status
	c.notNegative("replicas", int64(t.Replicas))
	c.notNegative("fullyLabeledReplicas", int64(t.FullyLabeledReplicas))
	c.notNegative("readyReplicas", int64(t.ReadyReplicas))
	c.notNegative("availableReplicas", int64(t.AvailableReplicas))
	c.notNegative("observedGeneration", t.ObservedGeneration)
	c.optional("terminatingReplicas", t.TerminatingReplicas)
	c.atMost("fullyLabeledReplicas", t.FullyLabeledReplicas, t.Replicas, "status.replicas")
	c.atMost("readyReplicas", t.ReadyReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.ReadyReplicas, "readyReplicas")
	return c.all
}

// counts collects what is wrong with the numbers of a status.
type counts struct {
	path *field.Path
	all  field.ErrorList
}

func (c *counts) notNegative(name string, n int64) {
	c.all = append(c.all, common.NonNegative(n, c.path.Child(name))...)
}

func (c *counts) optional(name string, n *int32) {
	if n != nil {
		c.notNegative(name, int64(*n))
	}
}

func (c *counts) atMost(name string, n, limit int32, of string) {
	if n > limit {
		c.all = append(c.all, field.Invalid(c.path.Child(name), n, "cannot be greater than "+of))
	}
}

func validateDeployment(_ *kinds.Context, d *appsv1.Deployment) field.ErrorList {
	return deploymentSpec(d)
}

func deploymentSpec(d *appsv1.Deployment) field.ErrorList {
	s, path := &d.Spec, field.NewPath("spec")
	all := common.NonNegative(int64(*s.Replicas), path.Child("replicas"))
	all = append(all, validateSelector(s.Selector, "deployment", path.Child("selector"))...)
	all = append(all, replicatedTemplate(s.Selector, &s.Template, path)...)
	all = append(all, deploymentStrategy(&s.Strategy, path.Child("strategy"))...)
	c := counts{path: path, all: all}
	c.notNegative("minReadySeconds", int64(s.MinReadySeconds))
	c.optional("revisionHistoryLimit", s.RevisionHistoryLimit)
	c.optional("progressDeadlineSeconds", s.ProgressDeadlineSeconds)
	if p := s.ProgressDeadlineSeconds; p != nil && *p <= s.MinReadySeconds {
		c.all = append(c.all, field.Invalid(path.Child("progressDeadlineSeconds"), p, "must be greater than minReadySeconds"))
	}
	return c.all
}

func deploymentStrategy(s *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	rolling := path.Child("rollingUpdate")
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(rolling, "may not be specified when strategy `type` is '"+string(s.Type)+"'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		unavailable, surge := *s.RollingUpdate.MaxUnavailable, *s.RollingUpdate.MaxSurge
		path := rolling.Child("maxUnavailable")
		all := common.IntOrPercent(unavailable, path)
		all = append(all, common.IntOrPercent(surge, rolling.Child("maxSurge"))...)
		if common.PercentOrInt(unavailable) == 0 && common.PercentOrInt(surge) == 0 {
			all = append(all, field.Invalid(path, unavailable, "may not be 0 when `maxSurge` is 0"))
		}
		return append(all, common.AtMost100Percent(unavailable, path)...)
	}
	return field.ErrorList{field.NotSupported(path, common.Internal(s), []appsv1.DeploymentStrategyType{
		appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
}

func validateDeploymentUpdate(_ *kinds.Context, d, old *appsv1.Deployment) field.ErrorList {
	all := deploymentSpec(d)
	return append(all, common.Immutable(d.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

func validateDeploymentStatus(_ *kinds.Context, d, old *appsv1.Deployment) field.ErrorList {
	c := counts{path: field.NewPath("status")}
	t := &d.Status
	c.notNegative("observedGeneration", t.ObservedGeneration)
	c.notNegative("replicas", int64(t.Replicas))
	c.notNegative("updatedReplicas", int64(t.UpdatedReplicas))
	c.notNegative("readyReplicas", int64(t.ReadyReplicas))
	c.notNegative("availableReplicas", int64(t.AvailableReplicas))
	c.notNegative("unavailableReplicas", int64(t.UnavailableReplicas))
	c.optional("terminatingReplicas", t.TerminatingReplicas)
	c.optional("collisionCount", t.CollisionCount)
	c.atMost("updatedReplicas", t.UpdatedReplicas, t.Replicas, "status.replicas")
	c.atMost("readyReplicas", t.ReadyReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.Replicas, "status.replicas")
	c.atMost("availableReplicas", t.AvailableReplicas, t.ReadyReplicas, "readyReplicas")
	return append(c.all, common.NotDecremented(t.CollisionCount, old.Status.CollisionCount, c.path.Child("collisionCount"))...)
}
