package controllers_test

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func TestAnAutoscalerWithoutMetricsKeepsTheBounds(t *testing.T) {
	const why = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: " +
		"the server could not find the requested resource (get pods.metrics.k8s.io)"
	least, half := int32(3), int32(50)
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "h", Generation: 1},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: &least, MaxReplicas: 5,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &half}}}}}}
	for size, test := range map[int32]struct {
		told   []string
		active string
		scaled int32
	}{
		0: {[]string{"mutate horizontalpodautoscalers/status h"}, "ScalingDisabled", 0},
		2: {[]string{"mutate deployments/scale web", "  event Normal SuccessfulRescale: New size: 3; reason: Current number of replicas below Spec.MinReplicas",
			"  mutate horizontalpodautoscalers/status h"}, "", 3},
		4: {[]string{"event Warning FailedGetResourceMetric: " + why,
			"event Warning FailedComputeMetricsReplicas: invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: " + why,
			"mutate horizontalpodautoscalers/status h"}, "FailedGetResourceMetric", 4},
		9: {[]string{"mutate deployments/scale web", "  event Normal SuccessfulRescale: New size: 5; reason: Current number of replicas above Spec.MaxReplicas",
			"  mutate horizontalpodautoscalers/status h"}, "", 5},
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			v := controllertest.NewView(t, h.DeepCopy(), deployment("web", size))
			out := controllers.Autoscaler().Step(v, []controllers.Key{{Namespace: "default", Name: "h"}})
			if got := v.Told(out); !slices.Equal(got, test.told) {
				t.Errorf("got  %q\nwant %q", got, test.told)
			}
			active := ""
			for _, c := range v.Changed(out, controllers.HorizontalPodAutoscalers, "default", "h").(*autoscalingv2.HorizontalPodAutoscaler).Status.Conditions {
				if c.Type == autoscalingv2.ScalingActive {
					active = c.Reason
				}
			}
			if active != test.active {
				t.Errorf("ScalingActive: %q, want %q", active, test.active)
			}
			if got := *v.Changed(out, controllers.Deployments, "default", "web").(*appsv1.Deployment).Spec.Replicas; got != test.scaled {
				t.Errorf("size %d, want %d", got, test.scaled)
			}
		})
	}
}

func TestAnAutoscalerScalesThroughTheScaleSubresource(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, cast(1)...)
	quiet(t, r)
	least := int32(3)
	e.Create(controllers.Deployments, deployment("web", 2))
	e.Create(controllers.HorizontalPodAutoscalers, &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "h"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: &least, MaxReplicas: 5,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}})
	quiet(t, r)
	d := controllertest.Get[*appsv1.Deployment](e, controllers.Deployments, "default", "web")
	h := controllertest.Get[*autoscalingv2.HorizontalPodAutoscaler](e, controllers.HorizontalPodAutoscalers, "default", "h")
	if d.Status.ReadyReplicas != 3 || h.Status.DesiredReplicas != 3 || h.Status.LastScaleTime == nil {
		t.Errorf("%d pods ready, autoscaler %+v", d.Status.ReadyReplicas, h.Status)
	}
}

func TestTwoAutoscalersOfTheSamePodsComputeNothing(t *testing.T) {
	of := func(name string) *autoscalingv2.HorizontalPodAutoscaler {
		return &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5, Metrics: make([]autoscalingv2.MetricSpec, 1),
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}}
	}
	web := deployment("web", 3)
	p := pod("web-1", nil, controllertest.Now)
	p.Labels = web.Spec.Selector.MatchLabels
	v := controllertest.NewView(t, of("a"), of("b"), web, p)
	why := "pods by selector " + metav1.FormatLabelSelector(web.Spec.Selector) + " are controlled by more than one HPA (e.g. [default/a default/b])"
	want := []string{"event Warning AmbiguousSelector: " + why, "event Warning FailedComputeMetricsReplicas: " + why, "mutate horizontalpodautoscalers/status a"}
	if got := v.Told(controllers.Autoscaler().Step(v, []controllers.Key{{Namespace: "default", Name: "a"}})); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
