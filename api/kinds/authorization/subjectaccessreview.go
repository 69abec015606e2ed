package authorization

// The three forms of one question: may USER do VERB with RESOURCE.

import (
	"errors"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

func subjectAccessReview(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	review := in.(*authorizationv1.SubjectAccessReview)
	errs := validateSpec(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, &review.Spec)
	if !emptyMeta(review.ObjectMeta) {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), review.ObjectMeta, "must be empty"))
	}
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	var err error
	review.Status, err = answer(r, subject(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, err
}

func localSubjectAccessReview(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	review := in.(*authorizationv1.LocalSubjectAccessReview)
	errs := validateSpec(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, &review.Spec)
	m := review.ObjectMeta
	m.Namespace = ""
	if !emptyMeta(m) {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), review.ObjectMeta, "must be empty except for namespace"))
	}
	if a := review.Spec.ResourceAttributes; a != nil && a.Namespace != review.Namespace {
		errs = append(errs, field.Invalid(field.NewPath("spec.resourceAttributes.namespace"), a.Namespace, "must match metadata.namespace"))
	}
	if a := review.Spec.NonResourceAttributes; a != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec.nonResourceAttributes"), shownNonResource(a), "disallowed on this kind of request"))
	}
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	var err error
	review.Status, err = answer(r, subject(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, err
}

func selfSubjectAccessReview(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	review := in.(*authorizationv1.SelfSubjectAccessReview)
	errs := validateSpec(review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, nil)
	if !emptyMeta(review.ObjectMeta) {
		errs = append(errs, field.Invalid(field.NewPath("metadata"), review.ObjectMeta, "must be empty"))
	}
	if len(errs) > 0 {
		return nil, invalid(errs)
	}
	var err error
	review.Status, err = answer(r, r.User, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, err
}

// invalid names no kind, since upstream looks for it where the decoder has already removed it.
func invalid(errs field.ErrorList) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName}, "", errs)
}

func emptyMeta(m metav1.ObjectMeta) bool {
	m.ManagedFields = nil
	return apiequality.Semantic.DeepEqual(metav1.ObjectMeta{}, m)
}

// validateSpec checks one question; spec is nil when it is about the sender himself.
func validateSpec(resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes, spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	var errs field.ErrorList
	if (resource == nil) == (other == nil) {
		errs = append(errs, field.Invalid(field.NewPath("spec"), shownNonResource(other), "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	if spec != nil && spec.User == "" && len(spec.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "user"), spec.User, "at least one of user or group must be specified"))
	}
	if resource != nil {
		errs = append(errs, validateSelectors(resource, field.NewPath("spec.resourceAttributes"))...)
	}
	return errs
}

// shownNonResource prints with the field names of Kubernetes' internal type.
func shownNonResource(a *authorizationv1.NonResourceAttributes) any {
	if a == nil {
		return (*struct{})(nil)
	}
	return struct{ Path, Verb string }{a.Path, a.Verb}
}

func subject(spec authorizationv1.SubjectAccessReviewSpec) user.Info {
	u := &user.DefaultInfo{Name: spec.User, Groups: spec.Groups, UID: spec.UID}
	for k, v := range spec.Extra {
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		u.Extra[k] = v
	}
	return u
}

func answer(r *kinds.Context, u user.Info, resource *authorizationv1.ResourceAttributes, other *authorizationv1.NonResourceAttributes) (authorizationv1.SubjectAccessReviewStatus, error) {
	if r.Cluster == nil || r.Cluster.Access == nil {
		return authorizationv1.SubjectAccessReviewStatus{}, apierrors.NewInternalError(errors.New("review access: there is no authorizer"))
	}
	var a authorizer.AttributesRecord
	if resource != nil {
		a = resourceAttributes(u, resource)
	} else {
		a = authorizer.AttributesRecord{User: u, Path: other.Path, Verb: other.Verb}
	}
	decision, reason, err := r.Cluster.Access.Authorize(r.Ctx, a)
	return authorizationv1.SubjectAccessReviewStatus{
		Allowed: decision == authorizer.DecisionAllow, Denied: decision == authorizer.DecisionDeny, Reason: reason,
		EvaluationError: evaluationError(err, a),
	}, nil
}

func evaluationError(err error, a authorizer.AttributesRecord) string {
	var parts []string
	if err != nil {
		parts = append(parts, err.Error())
	}
	part := func(name string, err error, left int) {
		switch {
		case err == nil:
		case left > 0:
			parts = append(parts, "spec.resourceAttributes."+name+" partially ignored due to parse error")
		default:
			parts = append(parts, "spec.resourceAttributes."+name+" ignored due to parse error")
		}
	}
	part("fieldSelector", a.FieldSelectorParsingErr, len(a.FieldSelectorRequirements))
	part("labelSelector", a.LabelSelectorParsingErr, len(a.LabelSelectorRequirements))
	return strings.Join(parts, "; ")
}
