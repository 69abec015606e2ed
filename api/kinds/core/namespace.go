package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

// A Namespace is deleted in two steps: DELETE marks it and sets the phase to
// Terminating; when the namespace controller has emptied it, it takes the
// finalizer out of spec through the finalize path, and then the row goes.
// spec.finalizers works like metadata.finalizers but has that path of its own.

func namespaces() *kinds.Resource {
	strategy := common.Typed[corev1.Namespace, *corev1.Namespace]{
		Default:          defaultNamespace,
		PrepareForCreate: prepareNamespace,
		PrepareForUpdate: func(_ *kinds.Context, n, old *corev1.Namespace) {
			n.Spec.Finalizers = old.Spec.Finalizers
			n.Status = old.Status
		},
		Validate:       validateNamespace,
		ValidateUpdate: func(r *kinds.Context, n, _ *corev1.Namespace) field.ErrorList { return validateNamespace(r, n) },
		Canonicalize:   labelNamespace,
		CheckDelete:    terminateNamespace,
		ValidateName:   common.NameLabel,
		FieldNames:     []string{"status.phase"},
		Fields: func(n *corev1.Namespace) []sqlstore.Pair {
			return common.Pairs("status.phase", string(n.Status.Phase))
		},
		ResetFields: []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(_ *kinds.Context, n, old *corev1.Namespace) { n.Spec = old.Spec }
	status.ValidateUpdate = validateNamespaceStatus
	status.ResetFields = []string{"spec"}
	finalize := strategy
	finalize.PrepareForUpdate = func(_ *kinds.Context, n, old *corev1.Namespace) { n.Status = old.Status }
	finalize.ValidateUpdate = validateNamespaceFinalize
	v := common.Version[corev1.Namespace, corev1.NamespaceList](gvk("Namespace"))
	return single(kinds.Resource{
		Name: "namespaces", Singular: "namespace", ReturnsDeleted: true,
		Holds:      func(obj runtime.Object) bool { return len(obj.(*corev1.Namespace).Spec.Finalizers) > 0 },
		ShortNames: []string{"ns"},
		Verbs:      []string{"create", "delete", "get", "list", "patch", "update", "watch"},
		Prefix:     "/registry/namespaces", StorageVersionHash: "Q3oi5N2YM8M=",
		Strategy: strategy.Strategy(),
		Subresources: []*kinds.Subresource{
			{Name: "finalize", GVK: v.GVK, Verbs: []string{"update"}, Strategy: finalize.Strategy()},
			common.Status(v.GVK, status.Strategy()),
		},
	}, v)
}

func defaultNamespace(n *corev1.Namespace) {
	if n.Name != "" {
		labelNamespace(n)
	}
	if n.Status.Phase == "" {
		n.Status.Phase = corev1.NamespaceActive
	}
}

// labelNamespace lets label selectors find a namespace by name. It runs again
// after a generated name is known.
func labelNamespace(n *corev1.Namespace) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[corev1.LabelMetadataName] = n.Name
}

func prepareNamespace(_ *kinds.Context, n *corev1.Namespace) {
	n.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
	if !slices.Contains(n.Spec.Finalizers, corev1.FinalizerKubernetes) {
		n.Spec.Finalizers = append(n.Spec.Finalizers, corev1.FinalizerKubernetes)
	}
}

func validateNamespace(_ *kinds.Context, n *corev1.Namespace) field.ErrorList {
	var all field.ErrorList
	for _, f := range n.Spec.Finalizers {
		all = append(all, finalizerName(string(f), field.NewPath("spec", "finalizers"))...)
	}
	return all
}

// validateNamespaceFinalize names the place in the list, which the other paths do not.
func validateNamespaceFinalize(_ *kinds.Context, n, _ *corev1.Namespace) field.ErrorList {
	var all field.ErrorList
	for i, f := range n.Spec.Finalizers {
		all = append(all, finalizerName(string(f), field.NewPath("spec", "finalizers").Index(i))...)
	}
	return all
}

func finalizerName(name string, path *field.Path) field.ErrorList {
	all := common.QualifiedName(name, path)
	if !hasSlash(name) && name != string(corev1.FinalizerKubernetes) && name != "orphan" && name != "foregroundDeletion" {
		all = append(all, field.Invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified"))
	}
	return all
}

func hasSlash(s string) bool { return slices.Contains([]byte(s), '/') }

func validateNamespaceStatus(_ *kinds.Context, n, _ *corev1.Namespace) field.ErrorList {
	phase := field.NewPath("status", "Phase") // upstream's path
	if n.DeletionTimestamp.IsZero() {
		if n.Status.Phase != corev1.NamespaceActive {
			return field.ErrorList{field.Invalid(phase, n.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")}
		}
	} else if n.Status.Phase != corev1.NamespaceTerminating {
		return field.ErrorList{field.Invalid(phase, n.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}

// terminateNamespace shows a deletion in the phase, which is what kubectl prints.
func terminateNamespace(_ *kinds.Context, n *corev1.Namespace) error {
	n.Status.Phase = corev1.NamespaceTerminating
	return nil
}
