package scheduling

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The classes of the system, and what users may not exceed.
const (
	HighestUserPriority   int32 = 1000000000
	SystemCritical              = 2 * HighestUserPriority
	SystemClusterCritical       = "system-cluster-critical"
	SystemNodeCritical          = "system-node-critical"

	systemPrefix = "system-"
)

var systemValues = map[string]int32{SystemClusterCritical: SystemCritical, SystemNodeCritical: SystemCritical + 1000}

// Resources lists the resources of scheduling.k8s.io.
func Resources() []*kinds.Resource {
	v := common.Version[schedulingv1.PriorityClass, schedulingv1.PriorityClassList](schedulingv1.SchemeGroupVersion.WithKind("PriorityClass"))
	return []*kinds.Resource{{
		Group: schedulingv1.GroupName, Name: "priorityclasses", Singular: "priorityclass", Kind: "PriorityClass", ShortNames: []string{"pc"},
		Verbs: common.Verbs(), Versions: []*kinds.Version{v}, Hub: v, Prefix: "/registry/priorityclasses", StorageVersionHash: "1QwjyaZjj3Y=",
		Strategy: common.Typed[schedulingv1.PriorityClass, *schedulingv1.PriorityClass]{
			Default: func(o *schedulingv1.PriorityClass) {
				if o.PreemptionPolicy == nil {
					o.PreemptionPolicy = new(corev1.PreemptLowerPriority)
				}
			},
			PrepareForCreate: func(_ *kinds.Context, o *schedulingv1.PriorityClass) { o.Generation = 1 },
			Validate:         validate,
			FreeUpdate:       true,
			ValidateUpdate:   validateUpdate,
			CheckDelete:      keepSystemClass,
		}.Strategy(),
	}}
}

// keepSystemClass refuses the deletion of a class of the system by its name. Upstream
// looks only there, so a deletion of all classes takes these too.
func keepSystemClass(r *kinds.Context, o *schedulingv1.PriorityClass) error {
	if _, system := systemValues[o.Name]; system && r.Verb == "delete" {
		return apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), o.Name, errors.New("this is a system priority class and cannot be deleted"))
	}
	return nil
}

func validate(_ *kinds.Context, o *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if strings.HasPrefix(o.Name, systemPrefix) {
		if text := notSystem(o); text != "" {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				"priority class names with '"+systemPrefix+"' prefix are reserved for system use only. error: "+text))
		}
	} else if o.Value > HighestUserPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %v", HighestUserPriority)))
	}
	if p := o.PreemptionPolicy; p != nil {
		switch *p {
		case corev1.PreemptLowerPriority, corev1.PreemptNever:
		case "":
			errs = append(errs, field.Required(field.NewPath("preemptionPolicy"), ""))
		default:
			errs = append(errs, field.NotSupported(field.NewPath("preemptionPolicy"), *p, []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}))
		}
	}
	return errs
}

// notSystem says why o is none of the system's own classes.
func notSystem(o *schedulingv1.PriorityClass) string {
	value, known := systemValues[o.Name]
	switch {
	case !known:
		return o.Name + " is not a known system priority class"
	case value != o.Value:
		return fmt.Sprintf("value of %v PriorityClass must be %v", o.Name, value)
	case o.GlobalDefault:
		return fmt.Sprintf("globalDefault of %v PriorityClass must be %v", o.Name, false)
	}
	return ""
}

func validateUpdate(_ *kinds.Context, o, old *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if o.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, common.Immutable(o.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
}
