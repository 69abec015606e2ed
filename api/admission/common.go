package admission

// Small things that the plugins share.

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
)

// The operations.
const (
	create = "CREATE"
	update = "UPDATE"
	remove = "DELETE"
)

// forbidden is a plugin's refusal. It names the object, whose name may not be generated yet.
func forbidden(a *Attributes, format string, args ...any) *apierrors.StatusError {
	name := a.Name
	if name == "" {
		name = "Unknown"
		if m, err := meta.Accessor(a.Object); err == nil {
			if m.GetName() != "" {
				name = m.GetName()
			} else if m.GetGenerateName() != "" {
				name = m.GetGenerateName()
			}
		}
	}
	return apierrors.NewForbidden(a.Resource.GroupResource(), name, fmt.Errorf(format, args...))
}

// failed is an error that upstream's plugin returns as it is, so that it becomes a 500.
func failed(format string, args ...any) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: fmt.Sprintf(format, args...)}}
}

// is says whether the write is about the resource itself (sub "") or one of its subresources.
func (a *Attributes) is(group, resource, sub string) bool {
	return a.Resource.Group == group && a.Resource.Name == resource && a.Subresource == sub
}

// newPod gives the pod that is about to be created; nil for every other write.
func (a *Attributes) newPod() *corev1.Pod {
	if a.Operation != create || !a.is("", "pods", "") {
		return nil
	}
	pod, _ := a.Object.(*corev1.Pod)
	return pod
}

func mirrorPod(pod *corev1.Pod) bool {
	_, is := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return is
}

// list reads all objects of a kind that is asked for rarely.
func list[T any](a *Attributes, gr schema.GroupResource) ([]T, error) {
	objects, err := a.Reader.List(a.Ctx, gr, "", nil)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var out []T
	for _, o := range objects {
		if t, ok := o.(T); ok {
			out = append(out, t)
		}
	}
	return out, nil
}

func accessOf(a *Attributes) (kinds.Access, error) {
	if a.Cluster == nil || a.Cluster.Access == nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("admit %s: there is no authorizer", a.Resource.Name))
	}
	return a.Cluster.Access, nil
}
