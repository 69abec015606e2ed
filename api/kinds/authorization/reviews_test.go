package authorization

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

// door allows alice to list, and remembers what it was asked.
type door struct {
	kinds.Access
	asked *authorizer.AttributesRecord
}

func (d door) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	*d.asked = a.(authorizer.AttributesRecord)
	if a.GetUser().GetName() == "alice" && a.GetVerb() == "list" {
		return authorizer.DecisionAllow, "because", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func ask(t *testing.T, create kinds.CreateFunc, in runtime.Object) (runtime.Object, authorizer.AttributesRecord, error) {
	t.Helper()
	var asked authorizer.AttributesRecord
	out, err := create(&kinds.Context{Ctx: t.Context(), User: &user.DefaultInfo{Name: "alice"}, Cluster: &kinds.Cluster{Access: door{asked: &asked}}}, in)
	return out, asked, err
}

func TestReviewIsTheAuthorizersAnswer(t *testing.T) {
	list := &authorizationv1.ResourceAttributes{Verb: "list", Resource: "pods", Namespace: "ns",
		LabelSelector: &authorizationv1.LabelSelectorAttributes{Requirements: []metav1.LabelSelectorRequirement{
			{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"b"}}, {Key: "c", Operator: "Newer", Values: []string{"d"}}}}}
	out, asked, err := ask(t, selfSubjectAccessReview, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: list}})
	if err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectAccessReviewStatus{Allowed: true, Reason: "because",
		EvaluationError: "spec.resourceAttributes.labelSelector partially ignored due to parse error"}
	if got := out.(*authorizationv1.SelfSubjectAccessReview).Status; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if asked.APIVersion != "*" || asked.Namespace != "ns" || !asked.ResourceRequest || len(asked.LabelSelectorRequirements) != 1 {
		t.Errorf("asked %+v", asked)
	}
	out, asked, err = ask(t, subjectAccessReview, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "bob", Groups: []string{"g"}, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}}})
	if err != nil || out.(*authorizationv1.SubjectAccessReview).Status.Allowed || asked.User.GetName() != "bob" || asked.Path != "/metrics" || asked.ResourceRequest {
		t.Errorf("%+v %v %+v", out, err, asked)
	}
}

func TestBadReviews(t *testing.T) {
	list := &authorizationv1.ResourceAttributes{Verb: "list", Namespace: "ns"}
	for want, spec := range map[string]authorizationv1.SubjectAccessReviewSpec{
		`.authorization.k8s.io "" is invalid: spec.user: Invalid value: "": at least one of user or group must be specified`: {ResourceAttributes: list},
		`.authorization.k8s.io "" is invalid: spec: Invalid value: {"Path":"/","Verb":""}: exactly one of nonResourceAttributes or resourceAttributes must be specified`: {
			User: "a", ResourceAttributes: list, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: "/"}},
		`.authorization.k8s.io "" is invalid: spec: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified`: {User: "a"},
	} {
		if _, _, err := ask(t, subjectAccessReview, &authorizationv1.SubjectAccessReview{Spec: spec}); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	_, _, err := ask(t, localSubjectAccessReview, &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: "other"},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "a", ResourceAttributes: list}})
	if want := `.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "ns": must match metadata.namespace`; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
