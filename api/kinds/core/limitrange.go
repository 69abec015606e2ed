package core

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A LimitRange bounds and defaults the resources of the pods and claims of its
// namespace; admission applies it. For containers, what is not said follows
// from what is: default from max, defaultRequest from default, then from min.

func limitRanges() *kinds.Resource {
	return single(kinds.Resource{
		Name: "limitranges", Singular: "limitrange", ShortNames: []string{"limits"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/limitranges", StorageVersionHash: "EBKMFVe6cwo=",
		Strategy: common.Typed[corev1.LimitRange, *corev1.LimitRange]{
			Default: defaultLimitRange,
			PrepareForCreate: func(r *kinds.Context, l *corev1.LimitRange) {
				if l.Name == "" {
					l.Name = string(r.UID())
				}
			},
			Validate: validateLimitRange,
			ValidateUpdate: func(r *kinds.Context, l, _ *corev1.LimitRange) field.ErrorList {
				return validateLimitRange(r, l)
			},
			AllowCreateOnUpdate: true,
		}.Strategy(),
	}, common.Version[corev1.LimitRange, corev1.LimitRangeList](gvk("LimitRange")))
}

func defaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		if item.Type == corev1.LimitTypeContainer {
			item.Default = fill(item.Default, item.Max)
			item.DefaultRequest = fill(item.DefaultRequest, item.Default)
			item.DefaultRequest = fill(item.DefaultRequest, item.Min)
		}
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			roundUp(list)
		}
	}
}

// fill adds to a list what another has and it has not.
func fill(list, from corev1.ResourceList) corev1.ResourceList {
	out := from.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	maps.Copy(out, list)
	return out
}
