package quota

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var now = time.Unix(1e9, 0)

func pod(requests corev1.ResourceList, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}}}}
	if change != nil {
		change(p)
	}
	return p
}

func TestUsage(t *testing.T) {
	requests := corev1.ResourceList{"cpu": resource.MustParse("500m"), "example.com/gpu": resource.MustParse("2")}
	for _, c := range []struct {
		gr   string
		o    runtime.Object
		want string
	}{
		{"pods", pod(requests, nil), "count/pods=1,cpu=500m,pods=1,requests.cpu=500m,requests.example.com/gpu=2"},
		{"pods", pod(requests, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), "count/pods=1"},
		{"pods", pod(requests, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: now.Add(-time.Minute)}, new(int64(30))
		}), "count/pods=1"},
		{"services", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: make([]corev1.ServicePort, 2)}},
			"count/services=1,services=1,services.loadbalancers=0,services.nodeports=2"},
		{"persistentvolumeclaims", &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: new("gold"),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}},
			"count/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/persistentvolumeclaims=1,gold.storageclass.storage.k8s.io/requests.storage=1Gi,persistentvolumeclaims=1,requests.storage=1Gi"},
		{"secrets", &corev1.Secret{}, "count/secrets=1,secrets=1"},
		{"deployments.apps", &corev1.Secret{}, "count/deployments.apps=1"},
	} {
		if got := Text(Usage(schema.ParseGroupResource(c.gr), c.o, now)); got != c.want {
			t.Errorf("%s: %s, want %s", c.gr, got, c.want)
		}
	}
}

func TestScopes(t *testing.T) {
	quota := func(s corev1.ScopedResourceSelectorRequirement) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("1")},
			ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{s}}}}
	}
	is := func(name corev1.ResourceQuotaScope) corev1.ScopedResourceSelectorRequirement {
		return corev1.ScopedResourceSelectorRequirement{ScopeName: name, Operator: corev1.ScopeSelectorOpExists}
	}
	class := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"high"}}
	plain, busy := pod(nil, nil), pod(corev1.ResourceList{"cpu": resource.MustParse("1")}, func(p *corev1.Pod) {
		p.Spec.ActiveDeadlineSeconds, p.Spec.PriorityClassName = new(int64(5)), "high"
	})
	for _, c := range []struct {
		s           corev1.ScopedResourceSelectorRequirement
		plain, busy bool
	}{
		{is(corev1.ResourceQuotaScopeBestEffort), true, false},
		{is(corev1.ResourceQuotaScopeNotBestEffort), false, true},
		{is(corev1.ResourceQuotaScopeTerminating), false, true},
		{is(corev1.ResourceQuotaScopeNotTerminating), true, false},
		{is(corev1.ResourceQuotaScopePriorityClass), false, true},
		{class, false, true},
		{is(corev1.ResourceQuotaScopeCrossNamespacePodAffinity), false, false},
	} {
		q, gr := quota(c.s), schema.GroupResource{Resource: "pods"}
		if p, b := Matches(q, gr, plain), Matches(q, gr, busy); p != c.plain || b != c.busy {
			t.Errorf("%s: %v %v, want %v %v", c.s.ScopeName, p, b, c.plain, c.busy)
		}
	}
}
