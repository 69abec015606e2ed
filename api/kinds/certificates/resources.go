package certificates

import (
	"context"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

// Resources lists the resources of certificates.k8s.io, in discovery's order.
func Resources() []*kinds.Resource {
	return []*kinds.Resource{signingRequests(), clusterTrustBundles(), podCertificateRequests()}
}

func gvk(kind string) schema.GroupVersionKind {
	return certificatesv1.SchemeGroupVersion.WithKind(kind)
}

// AuthorizedForSigner says whether u has verb (approve, sign, attest) on a
// signer, or on all signers of its domain: example.com/*.
func AuthorizedForSigner(ctx context.Context, z authorizer.UnconditionalAuthorizer, u user.Info, verb, signer string) bool {
	domain, _, _ := strings.Cut(signer, "/")
	for _, name := range []string{signer, domain + "/*"} {
		decision, _, err := z.Authorize(ctx, authorizer.AttributesRecord{
			User: u, Verb: verb, Name: name, APIGroup: certificatesv1.GroupName, APIVersion: "*", Resource: "signers", ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return true
		}
	}
	return false
}
