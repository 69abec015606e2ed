package authentication

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Resources lists the resources of authentication.k8s.io, in discovery's order.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{
		review("selfsubjectreviews", "selfsubjectreview", selfSubjectReview,
			common.Version[authenticationv1.SelfSubjectReview, authenticationv1.SelfSubjectReview](authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"))),
		review("tokenreviews", "tokenreview", tokenReview,
			common.Version[authenticationv1.TokenReview, authenticationv1.TokenReview](authenticationv1.SchemeGroupVersion.WithKind("TokenReview"))),
	}
}

func review(name, singular string, create kinds.CreateFunc, v *kinds.Version) *kinds.Resource {
	v.NewList = nil // a review is never listed
	return &kinds.Resource{
		Group: v.GVK.Group, Name: name, Singular: singular, Kind: v.GVK.Kind, Verbs: []string{"create"},
		Versions: []*kinds.Version{v}, Hub: v, Create: create,
	}
}
