package autoscaling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds/common/kindtest"
)

func example() *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	h.SetGroupVersionKind(autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"))
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	h.Spec.MaxReplicas = 5
	return h
}

func TestDefaultsAimAtTheCPU(t *testing.T) {
	h := example()
	if faults := kindtest.Create(new(kindtest.Cluster).Context(), Resources()[0].Strategy, h); faults != nil {
		t.Fatal(faults)
	}
	if d := cmp.Diff([]autoscalingv2.MetricSpec{cpuUtilization(80)}, h.Spec.Metrics); d != "" || *h.Spec.MinReplicas != 1 {
		t.Errorf("minReplicas %d, metrics (-want +got)\n%s", *h.Spec.MinReplicas, d)
	}
}

// TestV1HasWholeBehavior: an annotation of v1 is validated as it is, and what it left out is filled in afterwards.
func TestV1HasWholeBehavior(t *testing.T) {
	res := Resources()[0]
	for _, c := range []struct {
		rules autoscalingv2.HPAScalingRules
		want  string
	}{
		{autoscalingv2.HPAScalingRules{}, "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"},
		{autoscalingv2.HPAScalingRules{Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 15}}}, ""},
	} {
		h := example()
		h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &c.rules}
		res.Versions[1].Default(h)
		faults := validate(nil, h)
		if got := faults.ToAggregate(); (got == nil) != (c.want == "") || got != nil && got.Error() != c.want {
			t.Errorf("got %v, want %q", got, c.want)
		}
		if res.Strategy.Canonicalize(h); h.Spec.Behavior.ScaleUp.SelectPolicy == nil || h.Spec.Behavior.ScaleDown == nil {
			t.Errorf("not filled in: %v", h.Spec.Behavior)
		}
	}
}

func TestV1LosesNothing(t *testing.T) {
	h := example()
	h.Annotations = map[string]string{"mine": "kept"}
	h.Spec.MinReplicas = new(int32(2))
	h.Spec.Metrics = []autoscalingv2.MetricSpec{
		{Type: autoscalingv2.PodsMetricSourceType, Pods: &autoscalingv2.PodsMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "requests"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("10"))},
		}},
		cpuUtilization(60),
	}
	h.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(60))},
	}
	h.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue}}
	before := h.DeepCopy()
	v1, err := toV1(h)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, h); d != "" {
		t.Errorf("converting changed the object (-before +after)\n%s", d)
	}
	if *v1.Spec.TargetCPUUtilizationPercentage != 60 || v1.Annotations[metricsAnnotation] == "" {
		t.Errorf("v1: %+v", v1)
	}
	back, err := toV2(v1)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, back); d != "" {
		t.Errorf("(-before +after v1)\n%s", d)
	}
}

func TestBoundsComeLast(t *testing.T) {
	h := example()
	h.Spec.MaxReplicas, h.Spec.ScaleTargetRef.APIVersion = 0, ""
	faults := kindtest.Create(new(kindtest.Cluster).Context(), Resources()[0].Strategy, h)
	want := []string{
		"spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
		`spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group`,
		"spec.maxReplicas: Required value",
	}
	if d := cmp.Diff(want, faults); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
