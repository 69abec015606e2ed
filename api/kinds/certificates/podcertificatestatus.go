package certificates

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/mail"
	"strconv"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

var podOutcomes = []string{certificatesv1.PodCertificateRequestConditionTypeIssued,
	certificatesv1.PodCertificateRequestConditionTypeDenied, certificatesv1.PodCertificateRequestConditionTypeFailed}

// validatePodStatus allows one change: to one of the three outcomes, by someone who may sign for the signer.
func validatePodStatus(r *kinds.Context, o, old *podRequest) field.ErrorList {
	errs := validateOutcome(r, o, old)
	if len(errs) > 0 || common.Equal(o.Status, old.Status) {
		return errs
	}
	signer := field.NewPath("spec", "signerName")
	if r.Cluster == nil || r.Cluster.Access == nil {
		return field.ErrorList{field.InternalError(signer, errors.New("there is no authorizer"))}
	}
	if !AuthorizedForSigner(r.Ctx, r.Cluster.Access, r.User, "sign", old.Spec.SignerName) {
		return field.ErrorList{field.Forbidden(signer, fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", r.User.GetName(), old.Spec.SignerName))}
	}
	return nil
}

func validateOutcome(r *kinds.Context, o, old *podRequest) field.ErrorList {
	if errs := validatePodConditions(o.Status.Conditions); len(errs) > 0 {
		return errs
	}
	status := field.NewPath("status")
	same := func(want certificatesv1.PodCertificateRequestStatus, msg string) field.ErrorList {
		if common.Equal(o.Status, want) {
			return nil
		}
		return field.ErrorList{field.Invalid(status, field.OmitValueType{}, msg)}
	}
	switch {
	case outcome(old) != "":
		return same(old.Status, "immutable after PodCertificateRequest is issued, denied, or failed")
	case outcome(o) == "":
		return same(old.Status, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
	case outcome(o) != certificatesv1.PodCertificateRequestConditionTypeIssued:
		return same(certificatesv1.PodCertificateRequestStatus{Conditions: o.Status.Conditions},
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	}
	return validateIssued(o, old, r.Now)
}

func outcome(o *podRequest) string {
	for _, c := range o.Status.Conditions {
		if c.Status == metav1.ConditionTrue {
			return c.Type
		}
	}
	return ""
}

func validatePodConditions(conditions []metav1.Condition) field.ErrorList {
	path := field.NewPath("status", "conditions")
	var errs field.ErrorList
	for i, c := range conditions {
		at := field.NewPath("status", "conditions", "["+strconv.Itoa(i)+"]")
		switch {
		case c.Type != podOutcomes[0] && c.Type != podOutcomes[1] && c.Type != podOutcomes[2]:
			errs = append(errs, field.NotSupported(at.Child("type"), c.Type, podOutcomes))
			continue
		case i > 0:
			errs = append(errs, field.Invalid(at.Child("type"), c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`))
		}
		if c.Status != metav1.ConditionTrue {
			errs = append(errs, field.NotSupported(at.Child("status"), c.Status, []metav1.ConditionStatus{metav1.ConditionTrue}))
		}
	}
	return append(errs, metav1validation.ValidateConditions(conditions, path)...)
}

// validateIssued checks that the certificate is for the key of the request and that the times of the status are its own.
func validateIssued(o, old *podRequest, now time.Time) field.ErrorList {
	path := field.NewPath("status", "certificateChain")
	one := func(value any, msg string) field.ErrorList { return field.ErrorList{field.Invalid(path, value, msg)} }
	chain := o.Status.CertificateChain
	if len(chain) > maxChain {
		return field.ErrorList{field.TooLong(path, chain, maxChain)}
	}
	block, rest := pem.Decode([]byte(chain))
	if block == nil {
		return one(chain, "issued certificate chain must contain at least one certificate")
	}
	if block.Type != "CERTIFICATE" {
		return one(chain, "issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return one(chain, "leaf certificate does not parse as valid X.509")
	}
	if errs := validateLeafNames(leaf, path); len(errs) > 0 {
		return errs
	}
	stub, err := x509.ParseCertificateRequest(old.Spec.StubPKCS10Request)
	if err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "stubPKCS10Request"), field.OmitValueType{}, "must be a valid PKCS#10 CSR")}
	}
	if key, ok := stub.PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !key.Equal(leaf.PublicKey) {
		return one(chain, "leaf certificate was not issued to the requested public key")
	}
	if errs := validateTimes(o, leaf, now); len(errs) > 0 {
		return errs
	}
	for {
		if block, rest = pem.Decode(rest); block == nil {
			return nil
		}
		if block.Type != "CERTIFICATE" {
			return one(chain, "issued certificate chain must consist entirely of CERTFICATE PEM blocks")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return one(chain, "intermediate certificate does not parse as valid X.509")
		}
	}
}

func validateLeafNames(leaf *x509.Certificate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, n := range leaf.DNSNames {
		switch {
		case n == "":
			errs = append(errs, field.Invalid(path, n, "leaf certificate should not contain empty DNSName"))
		case strings.Contains(n, ".."):
			errs = append(errs, field.Invalid(path, n, "leaf certificate's DNSName should not contain '..'"))
		case strings.HasPrefix(n, "."), strings.HasSuffix(n, "."):
			errs = append(errs, field.Invalid(path, n, "leaf certificate's DNSName should not start or end with '.'"))
		}
	}
	for _, a := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(a); err != nil {
			errs = append(errs, field.Invalid(path, a, "leaf certificate should not contain invalid EmailAddress"))
		}
	}
	return errs
}

func validateTimes(o *podRequest, leaf *x509.Certificate, now time.Time) field.ErrorList {
	status := field.NewPath("status")
	var errs field.ErrorList
	for _, t := range []struct {
		name string
		at   *metav1.Time
		msg  string
	}{
		{"notBefore", o.Status.NotBefore, "must be present and consistent with the issued certificate"},
		{"notAfter", o.Status.NotAfter, "must be present and consistent with the issued certificate"},
		{"beginRefreshAt", o.Status.BeginRefreshAt, "must be present and in the range [notbefore+10min, notafter-10min]"},
	} {
		if t.at == nil {
			errs = append(errs, field.Required(status.Child(t.name), t.msg))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	one := func(name string, value any, msg string) field.ErrorList {
		return field.ErrorList{field.Invalid(status.Child(name), value, msg)}
	}
	first, last, refresh := o.Status.NotBefore.Time, o.Status.NotAfter.Time, o.Status.BeginRefreshAt.Time
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	switch {
	case !first.Equal(leaf.NotBefore):
		return one("notBefore", first, "must be set to the NotBefore time encoded in the leaf certificate")
	case first.Sub(now).Abs() >= 5*time.Minute:
		return one("notBefore", first, "must be set to within 5 minutes of kube-apiserver's current time")
	case !last.Equal(leaf.NotAfter):
		return one("notAfter", last, "must be set to the NotAfter time encoded in the leaf certificate")
	case life < time.Hour:
		return one("certificateChain", life, "leaf certificate lifetime must be >= 1 hour")
	case life > time.Duration(*o.Spec.MaxExpirationSeconds)*time.Second:
		return one("certificateChain", life, fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", *o.Spec.MaxExpirationSeconds))
	case refresh.Before(first.Add(10 * time.Minute)):
		return one("beginRefreshAt", refresh, "must be at least 10 minutes after status.notBefore")
	case refresh.After(last.Add(-10 * time.Minute)):
		return one("beginRefreshAt", refresh, "must be at least 10 minutes before status.notAfter")
	}
	return nil
}
