package controllers

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A CertificateSigningRequest that was approved gets its certificate from the
// signer that it names. Key: a request. The four signers of Kubernetes are all
// played by the cluster's CA; each has a rule for what it signs, and a request
// that breaks it fails for good.

// SignCertificate makes the certificate of a request, as PEM; seconds is what the client asked for.
type SignCertificate func(req *x509.CertificateRequest, usages []certificatesv1.KeyUsage, seconds *int32) ([]byte, error)

// legacyUnknown is the signer of v1beta1's requests, which signs anything that an administrator approved.
const legacyUnknown = "kubernetes.io/legacy-unknown"

// CertificateSigning is certificatesigningrequest-signing-controller.
func CertificateSigning(sign SignCertificate) Controller {
	return Controller{
		Name: "certificatesigningrequest-signing-controller", Account: "certificate-controller",
		Keys: keyMap{SigningRequests: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				r := get[*certificatesv1.CertificateSigningRequest](v, SigningRequests, "", k.Name)
				if sign != nil && r != nil && len(r.Status.Certificate) == 0 &&
					requestIs(r, certificatesv1.CertificateApproved) && !requestIs(r, certificatesv1.CertificateFailed) {
					signRequest(v, k, r, sign, &out)
				}
			}
			return out
		},
	}
}

// requestIs tells whether the request has the condition.
func requestIs(r *certificatesv1.CertificateSigningRequest, t certificatesv1.RequestConditionType) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
		return c.Type == t && c.Status != corev1.ConditionFalse
	})
}

// signRequest writes the certificate, or why there is none.
func signRequest(v View, k Key, r *certificatesv1.CertificateSigningRequest, sign SignCertificate, out *Outcome) {
	rule := signers[r.Spec.SignerName]
	if rule == nil {
		return // somebody else's signer
	}
	var cert []byte
	req, err := parseRequest(r.Spec.Request)
	if err == nil {
		if err = rule(req, r.Spec.Usages); err == nil {
			cert, err = sign(req, r.Spec.Usages, r.Spec.ExpirationSeconds)
		}
	}
	now := metav1.NewTime(v.Now())
	w := mutation(k, SigningRequests, "status", r, func(o *certificatesv1.CertificateSigningRequest) error {
		if err == nil {
			o.Status.Certificate = cert
			return nil
		}
		o.Status.Conditions = append(o.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
			Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, Reason: "SignerValidationFailure",
			Message: err.Error(), LastUpdateTime: now,
		})
		return nil
	})
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// parseRequest reads the PEM of a request.
func parseRequest(text []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

type usages = []certificatesv1.KeyUsage

// signers are the rules of the signers; what they refuse with is told to the client.
var signers = map[string]func(*x509.CertificateRequest, usages) error{
	certificatesv1.KubeAPIServerClientSignerName:        func(_ *x509.CertificateRequest, u usages) error { return clientUsages(u) },
	certificatesv1.KubeAPIServerClientKubeletSignerName: kubeletClient,
	certificatesv1.KubeletServingSignerName:             kubeletServing,
	legacyUnknown:                                       func(*x509.CertificateRequest, usages) error { return nil },
}

func clientUsages(all usages) error {
	for _, u := range all {
		if u != certificatesv1.UsageDigitalSignature && u != certificatesv1.UsageKeyEncipherment && u != certificatesv1.UsageClientAuth {
			return fmt.Errorf("invalid usage for client certificate: %s", u)
		}
	}
	if !slices.Contains(all, certificatesv1.UsageClientAuth) {
		return fmt.Errorf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
	}
	return nil
}

// kubeletClient is the rule for what a kubelet shows to the API server.
func kubeletClient(req *x509.CertificateRequest, u usages) error {
	switch {
	case !slices.Equal(req.Subject.Organization, []string{"system:nodes"}):
		return errors.New("subject organization is not system:nodes")
	case len(req.DNSNames) > 0:
		return errors.New("DNS subjectAltNames are not allowed")
	case len(req.EmailAddresses) > 0:
		return errors.New("Email subjectAltNames are not allowed")
	case len(req.IPAddresses) > 0:
		return errors.New("IP subjectAltNames are not allowed")
	case len(req.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	}
	if err := nodeName(req); err != nil {
		return err
	}
	return nodeUsages(u, certificatesv1.UsageClientAuth)
}

// kubeletServing is the rule for what a kubelet shows to its clients.
func kubeletServing(req *x509.CertificateRequest, u usages) error {
	switch {
	case !slices.Equal(req.Subject.Organization, []string{"system:nodes"}):
		return errors.New("subject organization is not system:nodes")
	case len(req.DNSNames) == 0 && len(req.IPAddresses) == 0:
		return errors.New("DNS or IP subjectAltName is required")
	case len(req.EmailAddresses) > 0:
		return errors.New("Email subjectAltNames are not allowed")
	case len(req.URIs) > 0:
		return errors.New("URI subjectAltNames are not allowed")
	}
	if err := nodeUsages(u, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	return nodeName(req)
}

// nodeUsages checks the usages. Only RSA keys encipher keys, so that usage may be missing.
func nodeUsages(have usages, purpose certificatesv1.KeyUsage) error {
	need := usages{purpose, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
	slices.Sort(need)
	got := slices.Clone(have)
	slices.Sort(got)
	got = slices.Compact(got)
	without := slices.DeleteFunc(slices.Clone(need), func(u certificatesv1.KeyUsage) bool { return u == certificatesv1.UsageKeyEncipherment })
	if !slices.Equal(got, need) && !slices.Equal(got, without) {
		return fmt.Errorf("usages did not match %v", need)
	}
	return nil
}

func nodeName(req *x509.CertificateRequest) error {
	if !strings.HasPrefix(req.Subject.CommonName, nodeUserPrefix) {
		return errors.New("subject common name does not begin with system:node:")
	}
	return nil
}
