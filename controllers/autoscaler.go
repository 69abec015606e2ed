package controllers

import (
	"fmt"
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
)

// The HorizontalPodAutoscaler controller, as it is on a cluster without metrics: it keeps the target between minReplicas and
// maxReplicas, and says that it can compute nothing else. Key: an autoscaler. Every 15 seconds all are looked at; a new or
// changed one at once.

const autoscalerPeriod = 15 * time.Second

var autoscalerKind = autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler")

// Autoscaler is horizontal-pod-autoscaler-controller.
func Autoscaler() Controller {
	return Controller{
		Name: "horizontal-pod-autoscaler-controller", Account: "horizontal-pod-autoscaler",
		Every: autoscalerPeriod,
		Keys: keyMap{HorizontalPodAutoscalers: func(_ View, c Object) []Key {
			if c.Now == nil || (c.Prev != nil && accessor(c.Now).GetGeneration() == accessor(c.Prev).GetGeneration()) {
				return nil
			}
			return []Key{NameKey(c.Now)}
		}},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if k == (Key{}) {
					for _, h := range typed[*autoscalingv2.HorizontalPodAutoscaler](v.List(HorizontalPodAutoscalers, "", nil)) {
						(&autoscale{v: v, k: k, stored: h, h: h.DeepCopy(), out: &out}).step()
					}
				} else if h := get[*autoscalingv2.HorizontalPodAutoscaler](v, HorizontalPodAutoscalers, k.Namespace, k.Name); h != nil {
					(&autoscale{v: v, k: k, stored: h, h: h.DeepCopy(), out: &out}).step()
				}
			}
			return out
		},
	}
}

// autoscale is one step of one autoscaler.
type autoscale struct {
	v         View
	k         Key
	stored, h *autoscalingv2.HorizontalPodAutoscaler
	out       *Outcome
}

// scaleTarget is what is scaled.
type scaleTarget struct {
	obj      runtime.Object
	gr       schema.GroupResource
	scale    *kinds.Scale
	size     int32
	selector string
}

// step does one.
func (a *autoscale) step() {
	target, err := a.target()
	if err != nil {
		a.tell(corev1.EventTypeWarning, "FailedGetScale", err.Error())
		a.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedGetScale", "the HPA controller was unable to get the target's current scale: "+err.Error())
		a.store()
		return
	}
	a.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededGetScale", "the HPA controller was able to get the target's current scale")
	least := int32(1)
	if a.h.Spec.MinReplicas != nil {
		least = *a.h.Spec.MinReplicas
	}
	switch {
	case target.size == 0 && least != 0:
		a.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "ScalingDisabled", "scaling is disabled since the replica count of the target is zero")
		a.status(0, 0, nil)
	case target.size > a.h.Spec.MaxReplicas:
		a.rescale(target, a.h.Spec.MaxReplicas, "Current number of replicas above Spec.MaxReplicas")
		return
	case target.size < least:
		a.rescale(target, least, "Current number of replicas below Spec.MinReplicas")
		return
	default:
		a.compute(target)
	}
	a.store()
}

// target finds the object by its kind, and the way to its size.
func (a *autoscale) target() (*scaleTarget, error) {
	ref := a.h.Spec.ScaleTargetRef
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil, err
	}
	for _, res := range a.v.Registry().All() {
		if res.Group != gv.Group || res.Kind != ref.Kind {
			continue
		}
		for _, sub := range res.Subresources {
			if sub.Scale == nil {
				continue
			}
			t := &scaleTarget{gr: res.GroupResource(), scale: sub.Scale, obj: a.v.Get(res.GroupResource(), a.h.Namespace, ref.Name)}
			if t.obj == nil {
				return nil, fmt.Errorf("%s %q not found", t.gr, ref.Name)
			}
			t.size, _, t.selector, err = sub.Scale.Get(t.obj)
			return t, err
		}
		return nil, fmt.Errorf("the server could not find the requested resource")
	}
	return nil, fmt.Errorf("no matches for kind %q in group %q", ref.Kind, gv.Group)
}

// rescale sets the target's size. What is said of it is stored when it is done.
func (a *autoscale) rescale(t *scaleTarget, size int32, why string) {
	w := mutation(a.k, t.gr, "scale", t.obj, func(obj runtime.Object) error { return t.scale.Set(obj, size) })
	w.Failed = func(err error) []Write {
		a.out = &Outcome{}
		a.tell(corev1.EventTypeWarning, "FailedRescale", fmt.Sprintf("New size: %d; reason: %s; error: %v", size, why, err))
		a.condition(autoscalingv2.AbleToScale, corev1.ConditionFalse, "FailedUpdateScale", fmt.Sprintf("the HPA controller was unable to update the target scale: %v", err))
		a.status(t.size, a.h.Status.DesiredReplicas, nil)
		a.store()
		return a.out.Writes
	}
	w.Done = func(runtime.Object) []Write {
		a.out = &Outcome{}
		a.condition(autoscalingv2.AbleToScale, corev1.ConditionTrue, "SucceededRescale", fmt.Sprintf("the HPA controller was able to update the target scale to %d", size))
		a.condition(autoscalingv2.ScaledToZero, corev1.ConditionFalse, "NotScaledToZero", "the HPA controller did not scale the workload to zero")
		a.tell(corev1.EventTypeNormal, "SuccessfulRescale", fmt.Sprintf("New size: %d; reason: %s", size, why))
		a.status(t.size, size, nil)
		now := metav1.NewTime(a.v.Now())
		a.h.Status.LastScaleTime = &now
		a.store()
		return a.out.Writes
	}
	a.out.Writes = append(a.out.Writes, w)
}

// compute fails for every metric: nothing serves them. The first failure is told.
func (a *autoscale) compute(t *scaleTarget) {
	size := t.size
	if rivals := a.rivals(t); len(rivals) > 1 {
		why := fmt.Sprintf("pods by selector %s are controlled by more than one HPA (e.g. %v)", t.selector, rivals[:2])
		a.status(size, a.h.Status.DesiredReplicas, nil)
		a.tell(corev1.EventTypeWarning, "AmbiguousSelector", why)
		a.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, "AmbiguousSelector", why)
		a.tell(corev1.EventTypeWarning, "FailedComputeMetricsReplicas", why)
		return
	}
	a.status(size, a.h.Status.DesiredReplicas, make([]autoscalingv2.MetricStatus, len(a.h.Spec.Metrics)))
	if len(a.h.Spec.Metrics) == 0 {
		return
	}
	for i := range a.h.Spec.Metrics {
		reason, why, _ := noMetric(a.h.Namespace, &a.h.Spec.Metrics[i])
		a.tell(corev1.EventTypeWarning, reason, why)
	}
	reason, why, what := noMetric(a.h.Namespace, &a.h.Spec.Metrics[0])
	a.condition(autoscalingv2.ScalingActive, corev1.ConditionFalse, reason, "the HPA was unable to compute the replica count: "+why)
	n := len(a.h.Spec.Metrics)
	a.tell(corev1.EventTypeWarning, "FailedComputeMetricsReplicas",
		fmt.Sprintf("invalid metrics (%d invalid out of %d), first error is: failed to get %s: %s", n, n, what, why))
}

// rivals names the autoscalers of the namespace, this one too, whose targets select any of this one's pods.
func (a *autoscale) rivals(t *scaleTarget) []string {
	mine, err := labels.Parse(t.selector)
	if err != nil {
		return nil
	}
	pods := a.v.List(Pods, a.h.Namespace, mine)
	var names []string
	for _, h := range typed[*autoscalingv2.HorizontalPodAutoscaler](a.v.List(HorizontalPodAutoscalers, a.h.Namespace, nil)) {
		other, err := (&autoscale{v: a.v, h: h}).target()
		if err != nil {
			continue
		}
		if s, err := labels.Parse(other.selector); err == nil && slices.ContainsFunc(pods, func(p runtime.Object) bool {
			return s.Matches(labels.Set(accessor(p).GetLabels()))
		}) {
			names = append(names, h.Namespace+"/"+h.Name)
		}
	}
	return names
}

// noMetric says in upstream's words that a metric is not served.
func noMetric(namespace string, m *autoscalingv2.MetricSpec) (reason, why, what string) {
	const absent = "the server could not find the requested resource"
	const custom = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
	usage := func(name corev1.ResourceName, t autoscalingv2.MetricTarget) string {
		of := "utilization"
		if t.AverageValue != nil {
			of = "usage"
		}
		return fmt.Sprintf("failed to get %s %s: unable to get metrics for resource %s: unable to fetch metrics from resource metrics API: %s (get pods.metrics.k8s.io)", name, of, name, absent)
	}
	switch {
	case m.Resource != nil:
		return "FailedGetResourceMetric", usage(m.Resource.Name, m.Resource.Target), fmt.Sprintf("%s resource metric value", m.Resource.Name)
	case m.ContainerResource != nil:
		return "FailedGetContainerResourceMetric", usage(m.ContainerResource.Name, m.ContainerResource.Target), m.ContainerResource.Container + " container metric value"
	case m.Pods != nil:
		return "FailedGetPodsMetric", fmt.Sprintf("unable to get metric %s: %s", m.Pods.Metric.Name, custom), "pods metric value"
	case m.Object != nil:
		o := m.Object.DescribedObject
		return "FailedGetObjectMetric", fmt.Sprintf("unable to get metric %s: %s on %s %s/%s", m.Object.Metric.Name, o.Kind, namespace, o.Name, custom), "object metric value"
	case m.External != nil:
		return "FailedGetExternalMetric", fmt.Sprintf("unable to get external metric %s/%s/%+v: unable to fetch metrics from external metrics API: %s (get %s.external.metrics.k8s.io)",
			namespace, m.External.Metric.Name, m.External.Metric.Selector, absent, m.External.Metric.Name), m.External.Metric.Name + " external metric value"
	}
	return "InvalidMetricSourceType", fmt.Sprintf("unknown metric source type %q", m.Type), "metric"
}

func (a *autoscale) status(current, desired int32, metrics []autoscalingv2.MetricStatus) {
	s := &a.h.Status
	s.CurrentReplicas, s.DesiredReplicas, s.CurrentMetrics, s.ObservedGeneration = current, desired, metrics, &a.h.Generation
}

func (a *autoscale) tell(eventType, reason, message string) {
	a.out.Writes = append(a.out.Writes, record(a.k, "horizontal-pod-autoscaler", Reference(a.stored, autoscalerKind), eventType, reason, message))
}

// condition sets one; its time is that of the last change of its status.
func (a *autoscale) condition(t autoscalingv2.HorizontalPodAutoscalerConditionType, status corev1.ConditionStatus, reason, message string) {
	list := a.h.Status.Conditions
	i := slices.IndexFunc(list, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool { return c.Type == t })
	if i < 0 {
		list, i = append(list, autoscalingv2.HorizontalPodAutoscalerCondition{Type: t}), len(list)
	}
	if list[i].Status != status {
		list[i].LastTransitionTime = metav1.NewTime(a.v.Now())
	}
	list[i].Status, list[i].Reason, list[i].Message = status, reason, message
	a.h.Status.Conditions = list
}

// store writes the status when it changed.
func (a *autoscale) store() {
	if equality.Semantic.DeepEqual(a.h.Status, a.stored.Status) {
		return
	}
	status := a.h.Status
	w := mutation(a.k, HorizontalPodAutoscalers, "status", a.stored, func(now *autoscalingv2.HorizontalPodAutoscaler) error {
		now.Status = *status.DeepCopy()
		return nil
	})
	w.Ignore = Gone
	a.out.Writes = append(a.out.Writes, w)
}
