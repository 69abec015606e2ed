package common

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds"
)

// Parts knows where the spec (S) and the status (U) of a kind (T) are, and
// keeps their writers apart. Its methods fit the fields of Typed.
type Parts[T, S, U any, P interface {
	pointer[T]
	metav1.Object
}] struct {
	Spec   func(obj *T) *S
	Status func(obj *T) *U
}

// NewParts exists so that callers need not spell the type parameters.
func NewParts[T, S, U any, P interface {
	pointer[T]
	metav1.Object
}](spec func(obj *T) *S, status func(obj *T) *U) Parts[T, S, U, P] {
	return Parts[T, S, U, P]{Spec: spec, Status: status}
}

// PrepareForCreate clears the status and starts the generation at 1.
func (p Parts[T, S, U, P]) PrepareForCreate(_ *kinds.Context, obj *T) {
	var none U
	*p.Status(obj) = none
	P(obj).SetGeneration(1)
}

// PrepareForUpdate keeps the old status, and counts the generation up when the spec differs.
func (p Parts[T, S, U, P]) PrepareForUpdate(_ *kinds.Context, obj, old *T) {
	*p.Status(obj) = *p.Status(old)
	BumpGeneration(P(obj), P(old), !Equal(*p.Spec(obj), *p.Spec(old)))
}

// PrepareStatus keeps all but the status: what the status path may not change. Labels and annotations
// stay changeable, as upstream leaves them for most kinds.
func (p Parts[T, S, U, P]) PrepareStatus(_ *kinds.Context, obj, old *T) {
	*p.Spec(obj) = *p.Spec(old)
	P(obj).SetGeneration(P(old).GetGeneration())
}

// BumpGeneration sets the generation of obj to that of old, one more when the desired state changed.
func BumpGeneration(obj, old metav1.Object, changed bool) {
	generation := old.GetGeneration()
	if changed {
		generation++
	}
	obj.SetGeneration(generation)
}

// Equal compares as upstream does: empty and nil are the same, quantities by their amount.
func Equal(a, b any) bool { return apiequality.Semantic.DeepEqual(a, b) }
