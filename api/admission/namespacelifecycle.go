package admission

// NamespaceLifecycle: nothing is created in a namespace that does not exist or
// is being deleted, and the namespaces of the system cannot be deleted.

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var immortalNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

func namespaceLifecycle(l *lookup) Plugin {
	return Plugin{Name: "NamespaceLifecycle", Mutate: func(a *Attributes) error {
		if a.is("", "namespaces", "") {
			if a.Operation == remove && slices.Contains(immortalNamespaces, a.Name) {
				return forbidden(a, "this namespace may not be deleted")
			}
			return nil
		}
		// An access review must not tell whether a namespace exists.
		if a.Namespace == "" || a.Operation != create || a.is("authorization.k8s.io", "localsubjectaccessreviews", "") {
			return nil
		}
		ns, err := l.namespace(a.Ctx, a.Namespace)
		switch {
		case err != nil:
			return apierrors.NewInternalError(err)
		case ns == nil:
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.Namespace)
		case ns.Status.Phase != corev1.NamespaceTerminating:
			return nil
		}
		refusal := forbidden(a, "unable to create new content in namespace %s because it is being terminated", a.Namespace)
		refusal.ErrStatus.Details.Causes = append(refusal.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: corev1.NamespaceTerminatingCause, Field: "metadata.namespace", Message: "namespace " + a.Namespace + " is being terminated",
		})
		return refusal
	}}
}
