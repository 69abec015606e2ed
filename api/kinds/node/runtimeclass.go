// RuntimeClass: a pod names one in spec.runtimeClassName and gets its handler,
// its overhead and its node constraints.
package node

import (
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/api/kinds/core"
)

func runtimeClasses() *kinds.Resource {
	gvk := nodev1.SchemeGroupVersion.WithKind("RuntimeClass")
	v1 := common.Version[nodev1.RuntimeClass, nodev1.RuntimeClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "runtimeclasses", Singular: "runtimeclass", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/runtimeclasses",
		Strategy: common.Typed[nodev1.RuntimeClass, *nodev1.RuntimeClass]{
			Validate: func(_ *kinds.Context, obj *nodev1.RuntimeClass) field.ErrorList {
				return common.Declared(validateRuntimeClass(obj), declaredHandler(obj.Handler))
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *nodev1.RuntimeClass) field.ErrorList {
				return validateUpdate(obj, old)
			},
			Warnings: func(_ *kinds.Context, obj, _ *nodev1.RuntimeClass) []string {
				return runtimeClassWarnings(obj.Scheduling)
			},
			AllowCreateOnUpdate:       true,
			ForbidUnconditionalUpdate: true,
			FreeFinalizers:            true,
		}.Strategy(),
	}
}

// declaredHandler: the handler is a DNS label.
func declaredHandler(handler string) field.ErrorList {
	return common.Wanted(handler, field.NewPath("handler"), validate.ShortName[string])
}

// validateUpdate: of a handler that changed, only that it is missing is told in the declared words.
func validateUpdate(obj, old *nodev1.RuntimeClass) field.ErrorList {
	declared := common.Frozen(obj.Handler, old.Handler, field.NewPath("handler"))
	if obj.Handler == "" {
		declared = append(declared, declaredHandler("")...)
	}
	return common.Declared(validateRuntimeClass(obj), declared)
}

func validateRuntimeClass(obj *nodev1.RuntimeClass) field.ErrorList {
	var all field.ErrorList
	if obj.Handler != "" {
		for _, m := range apivalidation.NameIsDNSLabel(obj.Handler, false) {
			all = append(all, field.Invalid(field.NewPath("handler"), obj.Handler, m).WithOrigin("format=k8s-short-name"))
		}
	}
	if obj.Overhead != nil {
		all = append(all, core.ValidateLimits(obj.Overhead.PodFixed, field.NewPath("overhead"))...)
	}
	if s := obj.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		all = append(all, common.Labels(s.NodeSelector, path.Child("nodeSelector"))...)
		all = append(all, validateTolerations(s.Tolerations, path.Child("tolerations"))...)
	}
	return all
}

func runtimeClassWarnings(s *nodev1.Scheduling) []string {
	if s == nil {
		return nil
	}
	var out []string
	deprecated := core.DeprecatedNodeLabels()
	for _, key := range common.Keys(s.NodeSelector) {
		if m, is := deprecated[key]; is {
			out = append(out, "scheduling.nodeSelector: "+m)
		}
	}
	return out
}

// validateTolerations: the class adds them to its pods' own, so each stands only once.
func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	all := core.ValidateTolerations(tolerations, path)
	seen := map[corev1.Toleration]bool{}
	for i, t := range tolerations {
		key := corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
		if seen[key] {
			all = append(all, field.Duplicate(path.Index(i), common.Internal(t)))
		}
		seen[key] = true
	}
	return all
}
