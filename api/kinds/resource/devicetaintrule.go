// DeviceTaintRule puts a taint on all devices that its selector matches.
package resource

import (
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

const maxRuleConditions = 8

func deviceTaintRules() *kinds.Resource {
	gvk := resourcev1.SchemeGroupVersion.WithKind("DeviceTaintRule")
	v1 := common.Version[resourcev1.DeviceTaintRule, resourcev1.DeviceTaintRuleList](gvk)
	main := common.Typed[resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRule]{
		ResetFields: []string{"status"},
		Default: func(obj *resourcev1.DeviceTaintRule) {
			if t := &obj.Spec.Taint; t.TimeAdded == nil {
				t.TimeAdded = new(metav1.Time) // stamped later; who leaves it out owns the field all the same
			}
		},
		PrepareForCreate: func(r *kinds.Context, obj *resourcev1.DeviceTaintRule) {
			obj.Status = resourcev1.DeviceTaintRuleStatus{}
			obj.Generation = 1
			stamp(&obj.Spec.Taint, r.Now)
		},
		PrepareForUpdate: func(r *kinds.Context, obj, old *resourcev1.DeviceTaintRule) {
			obj.Status = old.Status
			if obj.Spec.Taint.Effect != old.Spec.Taint.Effect && obj.Spec.Taint.TimeAdded.Equal(old.Spec.Taint.TimeAdded) {
				obj.Spec.Taint.TimeAdded = nil // a new effect counts from now
			}
			stamp(&obj.Spec.Taint, r.Now)
			common.BumpGeneration(obj, old, !common.Equal(obj.Spec, old.Spec))
		},
		Validate: func(_ *kinds.Context, obj *resourcev1.DeviceTaintRule) field.ErrorList {
			return validateTaintRule(&obj.Spec, nil)
		},
		FreeUpdate: true,
		ValidateUpdate: func(_ *kinds.Context, obj, old *resourcev1.DeviceTaintRule) field.ErrorList {
			return validateTaintRule(&obj.Spec, &old.Spec.Taint)
		},
		ForbidUnconditionalUpdate: true,
	}
	status := common.Typed[resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRule]{
		ResetFields: []string{"metadata", "spec"},
		PrepareForUpdate: func(_ *kinds.Context, obj, old *resourcev1.DeviceTaintRule) {
			obj.Spec = old.Spec
			metav1.ResetObjectMetaForStatus(obj, old)
		},
		ValidateUpdate: func(_ *kinds.Context, obj, _ *resourcev1.DeviceTaintRule) field.ErrorList {
			path := field.NewPath("status", "conditions")
			all := metavalidation.ValidateConditions(obj.Status.Conditions, path)
			if n := len(obj.Status.Conditions); n > maxRuleConditions {
				all = append(all, field.TooMany(path, n, maxRuleConditions))
			}
			return all
		},
		ForbidUnconditionalUpdate: true,
	}
	return &kinds.Resource{
		Group: gvk.Group, Name: "devicetaintrules", Singular: "devicetaintrule", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/devicetaintrules",
		StorageVersionHash: "i+85+TcIKpA=", // of v1beta2, in which upstream stores it
		Strategy:           main.Strategy(),
		Subresources:       []*kinds.Subresource{common.UnprintedStatus(gvk, status.Strategy())},
	}
}

// stamp sets when a taint was added, from the request's clock.
func stamp(t *resourcev1.DeviceTaint, now time.Time) {
	if t.TimeAdded.IsZero() {
		t.TimeAdded = &metav1.Time{Time: now.Truncate(time.Second)}
	}
}

func validateTaintRule(spec *resourcev1.DeviceTaintRuleSpec, old *resourcev1.DeviceTaint) field.ErrorList {
	path := field.NewPath("spec")
	var all field.ErrorList
	if s := spec.DeviceSelector; s != nil {
		at := path.Child("deviceSelector")
		if s.Driver != nil {
			all = append(all, driverName(*s.Driver, at.Child("driver"))...)
		}
		if s.Pool != nil {
			all = append(all, poolName(*s.Pool, at.Child("pool"))...)
		}
		if s.Device != nil {
			all = append(all, common.DNSLabel(*s.Device, at.Child("device"))...)
		}
	}
	at := path.Child("taint")
	all = append(all, validateTaint(&spec.Taint, at)...)
	if old == nil || old.Effect != spec.Taint.Effect {
		all = append(all, declaredEffect(spec.Taint.Effect, at.Child("effect"))...)
	}
	return all
}
