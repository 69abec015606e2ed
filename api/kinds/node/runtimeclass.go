// RuntimeClass: a pod names one in spec.runtimeClassName and gets its handler,
// its overhead and its node constraints.
package node

import (
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

func runtimeClasses() *kinds.Resource {
	gvk := nodev1.SchemeGroupVersion.WithKind("RuntimeClass")
	v1 := common.Version[nodev1.RuntimeClass, nodev1.RuntimeClassList](gvk)
	return &kinds.Resource{
		Group: gvk.Group, Name: "runtimeclasses", Singular: "runtimeclass", Kind: gvk.Kind,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: v1, Prefix: "/registry/runtimeclasses",
		Strategy: common.Typed[nodev1.RuntimeClass, *nodev1.RuntimeClass]{
			Validate: func(_ *kinds.Context, obj *nodev1.RuntimeClass) field.ErrorList {
				return validateRuntimeClass(obj)
			},
			ValidateUpdate: func(_ *kinds.Context, obj, old *nodev1.RuntimeClass) field.ErrorList {
				if fixed := common.Immutable(obj.Handler, old.Handler, field.NewPath("handler")); len(fixed) > 0 {
					return append(validateParts(obj), fixed...)
				}
				return validateRuntimeClass(obj)
			},
			AllowCreateOnUpdate:       true,
			ForbidUnconditionalUpdate: true,
			FreeFinalizers:            true,
		}.Strategy(),
	}
}

func validateRuntimeClass(obj *nodev1.RuntimeClass) field.ErrorList {
	all := validateParts(obj)
	if obj.Handler == "" {
		return append(all, field.Required(field.NewPath("handler"), ""))
	}
	for _, m := range apivalidation.NameIsDNSLabel(obj.Handler, false) {
		all = append(all, field.Invalid(field.NewPath("handler"), obj.Handler, m))
	}
	return all
}

func validateParts(obj *nodev1.RuntimeClass) field.ErrorList {
	var all field.ErrorList
	if obj.Overhead != nil {
		all = append(all, validateOverhead(obj.Overhead.PodFixed, field.NewPath("overhead", "limits"))...)
	}
	if s := obj.Scheduling; s != nil {
		path := field.NewPath("scheduling")
		all = append(all, common.Labels(s.NodeSelector, path.Child("nodeSelector"))...)
		all = append(all, validateTolerations(s.Tolerations, path.Child("tolerations"))...)
	}
	return all
}

// validateOverhead: the path says limits, since the overhead is judged as a container's limits are.
func validateOverhead(overhead corev1.ResourceList, path *field.Path) field.ErrorList {
	var all field.ErrorList
	names := make([]string, 0, len(overhead))
	for name := range overhead {
		names = append(names, string(name))
	}
	sort.Strings(names)
	for _, name := range names {
		at, q := path.Key(name), overhead[corev1.ResourceName(name)]
		all = append(all, common.QualifiedName(name, at)...)
		if !strings.Contains(name, "/") && !containerResource(name) {
			all = append(all, field.Invalid(at, name, "must be a standard resource for containers"))
		}
		if q.Sign() < 0 {
			all = append(all, field.Invalid(at, q.String(), apivalidation.IsNegativeErrorMsg))
		}
	}
	return all
}

func containerResource(name string) bool {
	switch corev1.ResourceName(name) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return true
	}
	return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix)
}

func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var all field.ErrorList
	for i := range tolerations {
		all = append(all, validateToleration(&tolerations[i], path.Index(i))...)
	}
	seen := map[corev1.Toleration]bool{}
	for i, t := range tolerations {
		key := corev1.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect}
		if seen[key] {
			all = append(all, field.Duplicate(path.Index(i), t))
		}
		seen[key] = true
	}
	return all
}

func validateToleration(t *corev1.Toleration, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if t.Key != "" {
		all = append(all, metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	} else if t.Operator != corev1.TolerationOpExists {
		all = append(all, field.Invalid(path.Child("operator"), t.Operator,
			"operator must be Exists when `key` is empty, which means \"match all values and all keys\""))
	}
	if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
		all = append(all, field.Invalid(path.Child("effect"), t.Effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"))
	}
	switch t.Operator {
	case corev1.TolerationOpEqual, "":
		if m := validation.IsValidLabelValue(t.Value); len(m) > 0 {
			all = append(all, field.Invalid(path.Child("operator"), t.Value, strings.Join(m, ";")))
		}
	case corev1.TolerationOpExists:
		if t.Value != "" {
			all = append(all, field.Invalid(path.Child("operator"), t.Value, "value must be empty when `operator` is 'Exists'"))
		}
	case corev1.TolerationOpLt, corev1.TolerationOpGt:
		all = append(all, field.NotSupported(path.Child("operator"), t.Operator, []corev1.TolerationOperator{
			corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt}))
	default:
		all = append(all, field.NotSupported(path.Child("operator"), t.Operator,
			[]corev1.TolerationOperator{corev1.TolerationOpEqual, corev1.TolerationOpExists}))
	}
	switch t.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		all = append(all, field.NotSupported(path.Child("effect"), t.Effect, []corev1.TaintEffect{
			corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}))
	}
	return all
}
