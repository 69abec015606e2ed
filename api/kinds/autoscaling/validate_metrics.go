package autoscaling

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

// The rules of metrics: the source that the type names, and no other.

const (
	otherSource   = "must populate the given metric source only"
	missingSource = "must populate information for the given metric source"
)

func sourceTypes() []autoscalingv2.MetricSourceType {
	return []autoscalingv2.MetricSourceType{
		autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType, autoscalingv2.ObjectMetricSourceType,
		autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
	}
}

func metrics(s *autoscalingv2.HorizontalPodAutoscalerSpec, object groupRule, path *field.Path) field.ErrorList {
	var all field.ErrorList
	outside := false // a metric that is there when no pod is
	for i := range s.Metrics {
		m := &s.Metrics[i]
		all = append(all, metric(m, object, path.Index(i))...)
		outside = outside || m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !outside {
		all = append(all, field.Forbidden(path, "must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	return all
}

func metric(m *autoscalingv2.MetricSpec, object groupRule, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if m.Type == "" {
		all = append(all, field.Required(path.Child("type"), "must specify a metric source type"))
	}
	known := slices.Contains(sourceTypes(), m.Type)
	if !known {
		all = append(all, field.NotSupported(path.Child("type"), m.Type, sourceTypes()))
	}
	present := false
	var others []string
	missing := true
	for _, s := range sources(m, object) {
		expected := s.kind == m.Type
		if !s.there {
			if expected {
				all = append(all, field.Required(path.Child(s.name), missingSource))
			}
			continue
		}
		if !present {
			all = append(all, s.check(path.Child(s.name))...)
		}
		present = true
		if expected {
			missing = false
		} else {
			others = append(others, s.name)
		}
	}
	if !known {
		all = append(all, field.NotSupported(path.Child("type"), m.Type, sourceTypes()))
	}
	if len(others) > 1 || (len(others) == 1 && !missing) {
		for _, name := range others {
			all = append(all, field.Forbidden(path.Child(name), otherSource))
		}
	}
	return all
}

type source struct {
	name  string
	kind  autoscalingv2.MetricSourceType
	there bool
	check func(path *field.Path) field.ErrorList
}

func sources(m *autoscalingv2.MetricSpec, object groupRule) []source {
	return []source{
		{"object", autoscalingv2.ObjectMetricSourceType, m.Object != nil, func(p *field.Path) field.ErrorList { return objectSource(m.Object, object, p) }},
		{"external", autoscalingv2.ExternalMetricSourceType, m.External != nil, func(p *field.Path) field.ErrorList { return externalSource(m.External, p) }},
		{"pods", autoscalingv2.PodsMetricSourceType, m.Pods != nil, func(p *field.Path) field.ErrorList { return podsSource(m.Pods, p) }},
		{"resource", autoscalingv2.ResourceMetricSourceType, m.Resource != nil, func(p *field.Path) field.ErrorList { return resourceSource(m.Resource, p) }},
		{"containerResource", autoscalingv2.ContainerResourceMetricSourceType, m.ContainerResource != nil, func(p *field.Path) field.ErrorList {
			return containerSource(m.ContainerResource, p)
		}},
	}
}

func objectSource(s *autoscalingv2.ObjectMetricSource, object groupRule, path *field.Path) field.ErrorList {
	all := reference(s.DescribedObject, object, path.Child("describedObject"))
	all = append(all, named(s.Metric, s.Target, path)...)
	if s.Target.Value == nil && s.Target.AverageValue == nil {
		all = append(all, field.Required(path.Child("target", "averageValue"), "must set either a target value or averageValue"))
	}
	return all
}

func externalSource(s *autoscalingv2.ExternalMetricSource, path *field.Path) field.ErrorList {
	all := named(s.Metric, s.Target, path)
	if s.Target.Value == nil && s.Target.AverageValue == nil {
		all = append(all, field.Required(path.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target"))
	}
	if s.Target.Value != nil && s.Target.AverageValue != nil {
		all = append(all, field.Forbidden(path.Child("target", "value"), "may not set both a target value for metric and a per-pod target"))
	}
	return all
}

func podsSource(s *autoscalingv2.PodsMetricSource, path *field.Path) field.ErrorList {
	all := named(s.Metric, s.Target, path)
	if s.Target.AverageValue == nil {
		all = append(all, field.Required(path.Child("target", "averageValue"), "must specify a positive target averageValue"))
	}
	return all
}

func resourceSource(s *autoscalingv2.ResourceMetricSource, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if s.Name == "" {
		all = append(all, field.Required(path.Child("name"), "must specify a resource name"))
	}
	return append(all, resourceTargetRules(s.Target, path.Child("target"))...)
}

func containerSource(s *autoscalingv2.ContainerResourceMetricSource, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if s.Name == "" {
		all = append(all, field.Required(path.Child("name"), "must specify a resource name"))
	} else {
		all = append(all, core.ValidateContainerResourceName(s.Name, path.Child("name"))...)
	}
	if s.Container == "" {
		all = append(all, field.Required(path.Child("container"), "must specify a container"))
	} else {
		all = append(all, common.DNSLabel(s.Container, path.Child("container"))...)
	}
	return append(all, resourceTargetRules(s.Target, path.Child("target"))...)
}

func named(id autoscalingv2.MetricIdentifier, t autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	return append(segment(id.Name, "must specify a metric name", path.Child("metric", "name")), targetRules(t, path.Child("target"))...)
}

func resourceTargetRules(t autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	all := targetRules(t, path)
	if t.AverageUtilization == nil && t.AverageValue == nil {
		all = append(all, field.Required(path.Child("averageUtilization"), "must set either a target raw value or a target utilization"))
	}
	if t.AverageUtilization != nil && t.AverageValue != nil {
		all = append(all, field.Forbidden(path.Child("averageValue"), "may not set both a target raw value and a target utilization"))
	}
	return all
}

func targetRules(t autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if t.Type == "" {
		all = append(all, field.Required(path.Child("type"), "must specify a metric target type"))
	}
	if t.Type != autoscalingv2.UtilizationMetricType && t.Type != autoscalingv2.ValueMetricType && t.Type != autoscalingv2.AverageValueMetricType {
		all = append(all, field.Invalid(path.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.Value != nil && t.Value.Sign() != 1 {
		all = append(all, field.Invalid(path.Child("value"), t.Value, "must be positive"))
	}
	if t.AverageValue != nil && t.AverageValue.Sign() != 1 {
		all = append(all, field.Invalid(path.Child("averageValue"), t.AverageValue, "must be positive"))
	}
	if t.AverageUtilization != nil && *t.AverageUtilization < 1 {
		all = append(all, field.Invalid(path.Child("averageUtilization"), t.AverageUtilization, "must be greater than 0"))
	}
	return all
}
