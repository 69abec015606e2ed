package autoscaling

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Resources lists the group autoscaling. The Scale kind is no resource of its own, it is the body
// of the scale subresources.
func Resources() []*kinds.Resource {
	const kind = "HorizontalPodAutoscaler"
	v2 := common.Version[autoscalingv2.HorizontalPodAutoscaler, autoscalingv2.HorizontalPodAutoscalerList](autoscalingv2.SchemeGroupVersion.WithKind(kind))
	v1 := common.Version[autoscalingv1.HorizontalPodAutoscaler, autoscalingv1.HorizontalPodAutoscalerList](autoscalingv1.SchemeGroupVersion.WithKind(kind))
	common.Convert(v1, toV2, toV1)
	v1.Default = func(hub runtime.Object) { defaultTargets(hub.(*autoscalingv2.HorizontalPodAutoscaler)) }
	parts := common.NewParts(
		func(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerSpec {
			return &h.Spec
		},
		func(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerStatus {
			return &h.Status
		})
	strategy := common.Typed[autoscalingv2.HorizontalPodAutoscaler, *autoscalingv2.HorizontalPodAutoscaler]{
		Default:          defaultAutoscaler,
		Canonicalize:     defaultBehavior, // what a client of v1 left out is filled in when it was found valid without
		PrepareForCreate: parts.PrepareForCreate,
		PrepareForUpdate: parts.PrepareForUpdate,
		Validate:         validate,
		FreeUpdate:       true,
		ValidateUpdate:   validateUpdate,
		ResetFields:      []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateStatus
	status.ResetFields = []string{"spec"}
	return []*kinds.Resource{{
		Group: "autoscaling", Kind: kind, Name: "horizontalpodautoscalers", Singular: "horizontalpodautoscaler",
		ShortNames: []string{"hpa"}, Categories: []string{"all"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/horizontalpodautoscalers", StorageVersionHash: "qwQve8ut294=",
		Versions: []*kinds.Version{v2, v1}, Hub: v2, Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{common.Status(v2.GVK, status.Strategy())},
	}}
}

// defaultUtilization is what is aimed at when no metric is named, in percent of the requests.
const defaultUtilization = 80

func defaultAutoscaler(h *autoscalingv2.HorizontalPodAutoscaler) {
	defaultTargets(h)
	defaultBehavior(h)
}

// defaultTargets is all that a client of v1 gets before validation: his annotation must have a whole behavior.
func defaultTargets(h *autoscalingv2.HorizontalPodAutoscaler) {
	// The conversion annotations have no meaning in the hub.
	h.Annotations = withoutConversion(h.Annotations)
	s := &h.Spec
	if s.MinReplicas == nil {
		s.MinReplicas = new(int32(1))
	}
	if len(s.Metrics) == 0 {
		s.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
}

func defaultBehavior(h *autoscalingv2.HorizontalPodAutoscaler) {
	s := &h.Spec
	if s.Behavior == nil {
		return
	}
	s.Behavior.ScaleUp = fillRules(s.Behavior.ScaleUp, autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: new(int32(0)),
		Policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		},
	})
	// The window for scaling down is a setting of the controller, so it has no default here.
	s.Behavior.ScaleDown = fillRules(s.Behavior.ScaleDown, autoscalingv2.HPAScalingRules{
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
	})
}

func fillRules(rules *autoscalingv2.HPAScalingRules, defaults autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	if rules == nil {
		rules = &autoscalingv2.HPAScalingRules{}
	}
	if rules.SelectPolicy == nil {
		rules.SelectPolicy = new(autoscalingv2.MaxChangePolicySelect)
	}
	if rules.StabilizationWindowSeconds == nil {
		rules.StabilizationWindowSeconds = defaults.StabilizationWindowSeconds
	}
	if rules.Policies == nil {
		rules.Policies = defaults.Policies
	}
	return rules
}

func cpuUtilization(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		},
	}
}
