package admission

// The plugins of certificates: who approves, signs or attests for a signer
// needs that verb on the signer, beside the right to write the object; and
// nobody gets a client certificate of system:masters by way of a request.

import (
	"bytes"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/api/kinds/certificates"
)

func maySign(a *Attributes, verb, signer string) (bool, error) {
	access, err := accessOf(a)
	if err != nil {
		return false, err
	}
	return certificates.AuthorizedForSigner(a.Ctx, access, a.User, verb, signer), nil
}

// certificateApproval looks at the signer of the old object: a request cannot change it, but could try.
func certificateApproval() Plugin {
	return Plugin{Name: "CertificateApproval", Validate: func(a *Attributes) error {
		old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
		if !ok || a.Operation != update || a.Subresource != "approval" {
			return nil
		}
		if may, err := maySign(a, "approve", old.Spec.SignerName); err != nil || may {
			return err
		}
		return forbidden(a, "user not permitted to approve requests with signerName %q", old.Spec.SignerName)
	}}
}

func certificateSigning() Plugin {
	return Plugin{Name: "CertificateSigning", Validate: func(a *Attributes) error {
		old, ok := a.Old.(*certificatesv1.CertificateSigningRequest)
		csr, is := a.Object.(*certificatesv1.CertificateSigningRequest)
		if !ok || !is || a.Operation != update || a.Subresource != "status" {
			return nil
		}
		if bytes.Equal(old.Status.Certificate, csr.Status.Certificate) && apiequality.Semantic.DeepEqual(old.Status.Conditions, csr.Status.Conditions) {
			return nil
		}
		if may, err := maySign(a, "sign", old.Spec.SignerName); err != nil || may {
			return err
		}
		return forbidden(a, "user not permitted to sign requests with signerName %q", old.Spec.SignerName)
	}}
}

func clusterTrustBundleAttest() Plugin {
	return Plugin{Name: "ClusterTrustBundleAttest", Validate: func(a *Attributes) error {
		bundle, ok := a.Object.(*certificatesv1.ClusterTrustBundle)
		if !ok || bundle.Spec.SignerName == "" || a.Operation != create && a.Operation != update {
			return nil
		}
		if old, ok := a.Old.(*certificatesv1.ClusterTrustBundle); ok && apiequality.Semantic.DeepEqual(old.Spec, bundle.Spec) &&
			apiequality.Semantic.DeepEqual(old.Labels, bundle.Labels) && apiequality.Semantic.DeepEqual(old.Annotations, bundle.Annotations) {
			return nil // the garbage collector changes owners and finalizers
		}
		if may, err := maySign(a, "attest", bundle.Spec.SignerName); err != nil || may {
			return err
		}
		return forbidden(a, "user not permitted to attest for signerName %q", bundle.Spec.SignerName)
	}}
}

func certificateSubjectRestriction() Plugin {
	return Plugin{Name: "CertificateSubjectRestriction", Validate: func(a *Attributes) error {
		csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
		if !ok || a.Operation != create || a.Subresource != "" || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientSignerName {
			return nil
		}
		parsed, err := certificates.ParseRequest(csr.Spec.Request)
		if err != nil {
			return forbidden(a, "failed to parse CSR: %w", err)
		}
		if slices.Contains(parsed.Subject.Organization, user.SystemPrivilegedGroup) {
			return forbidden(a, "use of %s signer with %s group is not allowed", csr.Spec.SignerName, user.SystemPrivilegedGroup)
		}
		return nil
	}}
}
