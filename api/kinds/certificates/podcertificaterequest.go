package certificates

// PodCertificateRequest: a kubelet asks a signer for the certificate of a pod.
// Its status changes once, to issued, denied or failed.

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

type podRequest = certificatesv1.PodCertificateRequest

// Limits of a request, and how long its certificate may last: 24 hours from a signer of Kubernetes, 91 days from others.
const (
	maxStubRequest  = 10 << 10
	maxChain        = 100 << 10
	shortestLife    = 3600
	longestLife     = 91 * 24 * 3600
	longestOwnLife  = 24 * 3600
	defaultLifetime = 24 * 3600
)

func podCertificateRequests() *kinds.Resource {
	v := common.Version[podRequest, certificatesv1.PodCertificateRequestList](gvk("PodCertificateRequest"))
	strategy := common.Typed[podRequest, *podRequest]{
		Default: func(o *podRequest) {
			if o.Spec.MaxExpirationSeconds == nil {
				o.Spec.MaxExpirationSeconds = new(int32(defaultLifetime))
			}
		},
		PrepareForCreate: func(_ *kinds.Context, o *podRequest) { o.Status = certificatesv1.PodCertificateRequestStatus{} },
		PrepareForUpdate: func(_ *kinds.Context, o, old *podRequest) { o.Status = old.Status },
		Validate:         func(_ *kinds.Context, o *podRequest) field.ErrorList { return validatePodRequest(o) },
		ValidateUpdate: func(_ *kinds.Context, o, old *podRequest) field.ErrorList {
			return common.Immutable(o.Spec, old.Spec, field.NewPath("spec"))
		},
		FieldNames: []string{"spec.nodeName", "spec.podName", "spec.signerName"},
		Fields: func(o *podRequest) []sqlstore.Pair {
			return common.Pairs("spec.nodeName", string(o.Spec.NodeName), "spec.podName", o.Spec.PodName, "spec.signerName", o.Spec.SignerName)
		},
		ResetFields:               []string{"status"},
		ForbidUnconditionalUpdate: true,
	}
	status := strategy
	status.PrepareForUpdate = func(_ *kinds.Context, o, old *podRequest) {
		o.Spec = old.Spec
		metav1.ResetObjectMetaForStatus(&o.ObjectMeta, &old.ObjectMeta)
	}
	status.ValidateUpdate = validatePodStatus
	status.ResetFields = []string{"metadata", "spec"}
	return &kinds.Resource{
		Group: certificatesv1.GroupName, Name: "podcertificaterequests", Singular: "podcertificaterequest", Kind: "PodCertificateRequest", Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v}, Hub: v, Prefix: "/registry/podcertificaterequests", StorageVersionHash: "wYA9yXQH8fg=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}
}

func validatePodRequest(o *podRequest) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validateSignerName(spec.Child("signerName"), o.Spec.SignerName)
	errs = append(errs, common.UserAnnotations(o.Spec.UnverifiedUserAnnotations, spec.Child("unverifiedUserAnnotations"))...)
	for _, n := range []struct {
		path, name string
		uid        types.UID
		check      func(string, bool) []string
	}{
		{"pod", o.Spec.PodName, o.Spec.PodUID, apivalidation.NameIsDNSSubdomain},
		{"serviceAccount", o.Spec.ServiceAccountName, o.Spec.ServiceAccountUID, apivalidation.ValidateServiceAccountName},
		{"node", string(o.Spec.NodeName), o.Spec.NodeUID, apivalidation.NameIsDNSSubdomain},
	} {
		errs = append(errs, common.Invalid(n.check(n.name, false), n.name, spec.Child(n.path+"Name"))...)
		if n.uid == "" {
			errs = append(errs, field.Invalid(spec.Child(n.path+"UID"), n.uid, "must not be empty"))
		}
		if len(n.uid) > 128 {
			errs = append(errs, field.TooLong(spec.Child(n.path+"UID"), n.uid, 128))
		}
	}
	longest := int32(longestLife)
	if kubernetesSigner(o.Spec.SignerName) {
		longest = longestOwnLife
	}
	if s := o.Spec.MaxExpirationSeconds; s == nil {
		return append(errs, field.Required(spec.Child("maxExpirationSeconds"), "must be set"))
	} else if *s < shortestLife || *s > longest {
		errs = append(errs, field.Invalid(spec.Child("maxExpirationSeconds"), *s, fmt.Sprintf("must be in the range [%d, %d]", shortestLife, longest)))
	}
	return append(errs, validateStub(o.Spec.StubPKCS10Request, spec.Child("stubPKCS10Request"))...)
}

// validateStub checks key and signature of the request; its contents are not looked at.
func validateStub(data []byte, path *field.Path) field.ErrorList {
	if len(data) > maxStubRequest {
		return field.ErrorList{field.TooLong(path, data, maxStubRequest)}
	}
	one := func(value any, msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, value, msg)} }
	stub, err := x509.ParseCertificateRequest(data)
	if err != nil {
		return one(field.OmitValueType{}, "must be a valid PKCS#10 CSR")
	}
	switch key := stub.PublicKey.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() && key.Curve != elliptic.P521() {
			return one("curve "+key.Curve.Params().Name, "elliptic public keys must use curve P256, P384, or P521")
		}
	case *rsa.PublicKey:
		if bits := key.Size() * 8; bits != 3072 && bits != 4096 {
			return one(fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")
		}
	default:
		return one(field.OmitValueType{}, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")
	}
	if stub.CheckSignature() != nil {
		return one(field.OmitValueType{}, "invalid signature")
	}
	return nil
}
