package authorization

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Resources lists the resources of authorization.k8s.io, in discovery's order.
func Resources() []*kinds.Resource {
	local := review("localsubjectaccessreviews", "localsubjectaccessreview", localSubjectAccessReview,
		common.Version[authorizationv1.LocalSubjectAccessReview, authorizationv1.LocalSubjectAccessReview](gvk("LocalSubjectAccessReview")))
	local.Namespaced = true
	return []*kinds.Resource{
		local,
		review("selfsubjectaccessreviews", "selfsubjectaccessreview", selfSubjectAccessReview,
			common.Version[authorizationv1.SelfSubjectAccessReview, authorizationv1.SelfSubjectAccessReview](gvk("SelfSubjectAccessReview"))),
		review("selfsubjectrulesreviews", "selfsubjectrulesreview", selfSubjectRulesReview,
			common.Version[authorizationv1.SelfSubjectRulesReview, authorizationv1.SelfSubjectRulesReview](gvk("SelfSubjectRulesReview"))),
		review("subjectaccessreviews", "subjectaccessreview", subjectAccessReview,
			common.Version[authorizationv1.SubjectAccessReview, authorizationv1.SubjectAccessReview](gvk("SubjectAccessReview"))),
	}
}

func gvk(kind string) schema.GroupVersionKind {
	return authorizationv1.SchemeGroupVersion.WithKind(kind)
}

func review(name, singular string, create kinds.CreateFunc, v *kinds.Version) *kinds.Resource {
	v.NewList = nil // a review is never listed
	return &kinds.Resource{
		Group: v.GVK.Group, Name: name, Singular: singular, Kind: v.GVK.Kind, Verbs: []string{"create"},
		Versions: []*kinds.Version{v}, Hub: v, Create: create,
	}
}
