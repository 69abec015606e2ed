package autoscaling

import (
	"encoding/json"
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds/common"
)

// Between v1 and v2. Annotations of the v1 form:
//
//	metrics          metrics other than the CPU's utilization, in the forms of v1
//	current-metrics  status.currentMetrics, all of them
//	conditions       status.conditions
//	behavior         spec.behavior, with Go field names
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	currentAnnotation    = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
	toleranceDown        = "autoscaling.alpha.kubernetes.io/scale-down-tolerance"
	toleranceUp          = "autoscaling.alpha.kubernetes.io/scale-up-tolerance"
)

func conversionAnnotations() []string {
	return []string{metricsAnnotation, currentAnnotation, conditionsAnnotation, behaviorAnnotation, toleranceDown, toleranceUp}
}

// withoutConversion copies the annotations only when there is something to take out.
func withoutConversion(in map[string]string) map[string]string {
	out := in
	for _, name := range conversionAnnotations() {
		if _, has := out[name]; has {
			if len(out) == len(in) {
				out = maps.Clone(in)
			}
			delete(out, name)
		}
	}
	return out
}

func toV1(h *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: *h.ObjectMeta.DeepCopy()}
	out.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	out.Annotations = withoutConversion(out.Annotations)
	out.Spec.ScaleTargetRef = autoscalingv1.CrossVersionObjectReference(h.Spec.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = h.Spec.MinReplicas, h.Spec.MaxReplicas
	others := make([]autoscalingv1.MetricSpec, 0, len(h.Spec.Metrics))
	for i := range h.Spec.Metrics {
		m := &h.Spec.Metrics[i]
		if percent := utilization(m); percent == nil {
			others = append(others, metricToV1(m))
		} else if out.Spec.TargetCPUUtilizationPercentage == nil {
			out.Spec.TargetCPUUtilizationPercentage = new(*percent)
		}
	}
	statusToV1(&h.Status, &out.Status)
	current := make([]autoscalingv1.MetricStatus, 0, len(h.Status.CurrentMetrics))
	for i := range h.Status.CurrentMetrics {
		current = append(current, metricStatusToV1(&h.Status.CurrentMetrics[i]))
	}
	conditions := make([]autoscalingv1.HorizontalPodAutoscalerCondition, 0, len(h.Status.Conditions))
	for _, c := range h.Status.Conditions {
		conditions = append(conditions, conditionToV1(c))
	}
	for _, a := range []struct {
		name  string
		value any
		there bool
	}{
		{metricsAnnotation, others, len(others) > 0},
		{currentAnnotation, current, len(current) > 0},
		{behaviorAnnotation, common.Internal(h.Spec.Behavior), h.Spec.Behavior != nil},
		{conditionsAnnotation, conditions, len(conditions) > 0},
	} {
		if !a.there {
			continue
		}
		text, err := json.Marshal(a.value)
		if err != nil {
			return nil, fmt.Errorf("encode annotation %s: %w", a.name, err)
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[a.name] = string(text)
	}
	return out, nil
}

// utilization is the target of a metric that v1 has a field for.
func utilization(m *autoscalingv2.MetricSpec) *int32 {
	if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU {
		return m.Resource.Target.AverageUtilization
	}
	return nil
}

func statusToV1(in *autoscalingv2.HorizontalPodAutoscalerStatus, out *autoscalingv1.HorizontalPodAutoscalerStatus) {
	out.ObservedGeneration, out.LastScaleTime = in.ObservedGeneration, in.LastScaleTime
	out.CurrentReplicas, out.DesiredReplicas = in.CurrentReplicas, in.DesiredReplicas
	for i := range in.CurrentMetrics {
		m := &in.CurrentMetrics[i]
		if m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU && m.Resource.Current.AverageUtilization != nil {
			out.CurrentCPUUtilizationPercentage = new(*m.Resource.Current.AverageUtilization)
		}
	}
}

func toV2(h *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *h.ObjectMeta.DeepCopy()}
	out.SetGroupVersionKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	out.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference(h.Spec.ScaleTargetRef)
	out.Spec.MinReplicas, out.Spec.MaxReplicas = h.Spec.MinReplicas, h.Spec.MaxReplicas
	// An annotation that cannot be read is left out, as upstream does: somebody edited it.
	var others []autoscalingv1.MetricSpec
	if readAnnotation(h, metricsAnnotation, &others) {
		for i := range others {
			out.Spec.Metrics = append(out.Spec.Metrics, metricToV2(&others[i]))
		}
	}
	if p := h.Spec.TargetCPUUtilizationPercentage; p != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuUtilization(*p))
	}
	if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{cpuUtilization(defaultUtilization)}
	}
	var behavior autoscalingv2.HorizontalPodAutoscalerBehavior
	if readAnnotation(h, behaviorAnnotation, &behavior) && behavior != (autoscalingv2.HorizontalPodAutoscalerBehavior{}) {
		out.Spec.Behavior = &behavior
	}
	statusToV2(h, &out.Status)
	out.Annotations = withoutConversion(out.Annotations)
	return out, nil
}

// readAnnotation relies on encoding/json ignoring the case of field names.
func readAnnotation(h *autoscalingv1.HorizontalPodAutoscaler, name string, into any) bool {
	text, has := h.Annotations[name]
	return has && json.Unmarshal([]byte(text), into) == nil
}

func statusToV2(h *autoscalingv1.HorizontalPodAutoscaler, out *autoscalingv2.HorizontalPodAutoscalerStatus) {
	in := &h.Status
	out.ObservedGeneration, out.LastScaleTime = in.ObservedGeneration, in.LastScaleTime
	out.CurrentReplicas, out.DesiredReplicas = in.CurrentReplicas, in.DesiredReplicas
	if p := in.CurrentCPUUtilizationPercentage; p != nil {
		out.CurrentMetrics = []autoscalingv2.MetricStatus{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: new(*p)},
			},
		}}
	}
	var current []autoscalingv1.MetricStatus
	if readAnnotation(h, currentAnnotation, &current) {
		out.CurrentMetrics = make([]autoscalingv2.MetricStatus, 0, len(current))
		for i := range current {
			out.CurrentMetrics = append(out.CurrentMetrics, metricStatusToV2(&current[i]))
		}
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	if readAnnotation(h, conditionsAnnotation, &conditions) {
		for _, c := range conditions {
			out.Conditions = append(out.Conditions, conditionToV2(c))
		}
	}
}
