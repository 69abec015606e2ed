package core

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A ResourceQuota bounds the sum of what its namespace uses; admission counts,
// and a controller repairs the counts in status.

func resourceQuotas() *kinds.Resource {
	parts := common.NewParts(
		func(q *corev1.ResourceQuota) *corev1.ResourceQuotaSpec { return &q.Spec },
		func(q *corev1.ResourceQuota) *corev1.ResourceQuotaStatus { return &q.Status })
	strategy := common.Typed[corev1.ResourceQuota, *corev1.ResourceQuota]{
		Default: func(q *corev1.ResourceQuota) {
			roundUp(q.Spec.Hard)
			roundUp(q.Status.Hard)
			roundUp(q.Status.Used)
		},
		PrepareForCreate: func(_ *kinds.Context, q *corev1.ResourceQuota) { q.Status = corev1.ResourceQuotaStatus{} },
		PrepareForUpdate: func(_ *kinds.Context, q, old *corev1.ResourceQuota) { q.Status = old.Status },
		Validate:         validateResourceQuota,
		FreeUpdate:       true,
		ValidateUpdate:   validateResourceQuotaUpdate,
		Warnings:         quotaWarnings,
		ResetFields:      []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = parts.PrepareStatus
	status.ValidateUpdate = validateResourceQuotaStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[corev1.ResourceQuota, corev1.ResourceQuotaList](gvk("ResourceQuota"))
	return single(kinds.Resource{
		Name: "resourcequotas", Singular: "resourcequota", ReturnsDeleted: true, ShortNames: []string{"quota"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/resourcequotas", StorageVersionHash: "8uhSgffRX6w=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

// quotaWarnings points out a quota that allows more requests than limits.
func quotaWarnings(_ *kinds.Context, q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var out []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage} {
		requestName, limitName := "requests."+name, "limits."+name
		request, has := q.Spec.Hard[requestName]
		if !has && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			if request, has = q.Spec.Hard[name]; has {
				requestName = name
			}
		}
		limit, limited := q.Spec.Hard[limitName]
		if has && limited && request.Cmp(limit) > 0 {
			out = append(out, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", requestName, request.String(), limitName, limit.String()))
		}
	}
	return out
}
