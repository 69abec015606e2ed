package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds"
)

// selfSubjectReview answers kubectl auth whoami: the user as he is after impersonation.
func selfSubjectReview(r *kinds.Context, _ runtime.Object) (runtime.Object, error) {
	return &authenticationv1.SelfSubjectReview{
		TypeMeta:   metav1.TypeMeta{APIVersion: authenticationv1.SchemeGroupVersion.String(), Kind: "SelfSubjectReview"},
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(r.Now)},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: kinds.UserInfo(r.User)},
	}, nil
}
