package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// may says what of the status a path may change.
type may int

const (
	nothing        may = iota
	theCertificate     // status
	theApproval        // approval
)

const legacySigner = "kubernetes.io/legacy-unknown"

var usages = []string{
	string(certificatesv1.UsageAny), string(certificatesv1.UsageCertSign), string(certificatesv1.UsageClientAuth),
	string(certificatesv1.UsageCodeSigning), string(certificatesv1.UsageContentCommitment), string(certificatesv1.UsageCRLSign), string(certificatesv1.UsageDataEncipherment),
	string(certificatesv1.UsageDecipherOnly), string(certificatesv1.UsageDigitalSignature), string(certificatesv1.UsageEmailProtection),
	string(certificatesv1.UsageEncipherOnly), string(certificatesv1.UsageIPsecEndSystem), string(certificatesv1.UsageIPsecTunnel),
	string(certificatesv1.UsageIPsecUser), string(certificatesv1.UsageKeyAgreement), string(certificatesv1.UsageKeyEncipherment),
	string(certificatesv1.UsageMicrosoftSGC), string(certificatesv1.UsageNetscapeSGC), string(certificatesv1.UsageOCSPSigning),
	string(certificatesv1.UsageSMIME), string(certificatesv1.UsageServerAuth), string(certificatesv1.UsageSigning), string(certificatesv1.UsageTimestamping),
}

// ParseRequest decodes the PKCS#10 request of a CertificateSigningRequest.
func ParseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// validateRequest checks a whole request; what was already wrong in old is let pass.
func validateRequest(o, old *request) field.ErrorList {
	spec := field.NewPath("spec")
	var errs field.ErrorList
	csr, err := ParseRequest(o.Spec.Request)
	if err == nil {
		err = csr.CheckSignature()
	}
	if err != nil {
		errs = append(errs, field.Invalid(spec.Child("request"), o.Spec.Request, err.Error()))
	}
	if old == nil { // the spec cannot change later
		errs = append(errs, validateUsages(o.Spec.Usages, spec.Child("usages"))...)
		if o.Spec.SignerName == legacySigner {
			errs = append(errs, field.Invalid(spec.Child("signerName"), o.Spec.SignerName, "the legacy signerName is not allowed via this API version"))
		} else {
			errs = append(errs, validateSignerName(spec.Child("signerName"), o.Spec.SignerName)...)
		}
		if s := o.Spec.ExpirationSeconds; s != nil && *s < 600 {
			errs = append(errs, field.Invalid(spec.Child("expirationSeconds"), *s, "may not specify a duration less than 600 seconds (10 minutes)"))
		}
	}
	errs = append(errs, validateConditions(o, old)...)
	if old == nil || !bytes.Equal(o.Status.Certificate, old.Status.Certificate) {
		if err := checkCertificates(o.Status.Certificate); err != nil {
			errs = append(errs, field.Invalid(field.NewPath("status", "certificate"), "<certificate data>", err.Error()))
		}
	}
	return errs
}

func validateUsages(list []certificatesv1.KeyUsage, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	for i, u := range list {
		if !slices.Contains(usages, string(u)) {
			errs = append(errs, field.NotSupported(path.Index(i), u, usages))
		}
	}
	for i, u := range list {
		if slices.Contains(list[:i], u) {
			errs = append(errs, field.Duplicate(path.Index(i), u))
		}
	}
	return errs
}

func validateConditions(o, old *request) field.ErrorList {
	path := field.NewPath("status", "conditions")
	decided := []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed}
	var errs field.ErrorList
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range o.Status.Conditions {
		at := path.Index(i)
		if c.Type == "" {
			errs = append(errs, field.Required(at.Child("type"), ""))
		}
		statuses := []string{string(corev1.ConditionFalse), string(corev1.ConditionTrue), string(corev1.ConditionUnknown)}
		if slices.Contains(decided, c.Type) {
			statuses = []string{string(corev1.ConditionTrue)}
		}
		if c.Status == "" {
			errs = append(errs, field.Required(at.Child("status"), ""))
		} else if !slices.Contains(statuses, string(c.Status)) {
			errs = append(errs, field.NotSupported(at.Child("status"), c.Status, statuses))
		}
		if seen[c.Type] && !(old != nil && len(conditionsOf(old, c.Type)) > 1) {
			errs = append(errs, field.Duplicate(at.Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	return errs
}

// checkCertificates wants nothing but certificates, and at least one, when there is anything.
func checkCertificates(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	found := 0
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		found++
		certs, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certs) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		data = rest
	}
	if found == 0 {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}

func validateRequestUpdate(o, old *request, allowed may) field.ErrorList {
	path := field.NewPath("status", "conditions")
	errs := validateRequest(o, old)
	for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied, certificatesv1.CertificateFailed} {
		if len(conditionsOf(o, t)) < len(conditionsOf(old, t)) {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf("updates may not remove a condition of type %q", t)))
		}
	}
	if allowed != theApproval {
		for _, t := range []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied} {
			is, was := conditionsOf(o, t), conditionsOf(old, t)
			if len(is) > len(was) {
				errs = append(errs, field.Forbidden(path, fmt.Sprintf("updates may not add a condition of type %q", t)))
			} else if len(is) == len(was) && !common.Equal(is, was) {
				errs = append(errs, field.Forbidden(path, fmt.Sprintf("updates may not modify a condition of type %q\n%v", t, diff.Diff(was, is))))
			}
		}
	}
	if !bytes.Equal(o.Status.Certificate, old.Status.Certificate) {
		certificate := field.NewPath("status", "certificate")
		if allowed != theCertificate {
			errs = append(errs, field.Forbidden(certificate, "updates may not set certificate content"))
		} else if len(old.Status.Certificate) > 0 {
			errs = append(errs, field.Forbidden(certificate, "updates may not modify existing certificate content"))
		}
	}
	return append(errs, declaredDecision(o, old, path)...)
}

// declaredDecision is what the Go type declares: a request is approved or denied, not both. It is reported last.
func declaredDecision(o, old *request, path *field.Path) field.ErrorList {
	both := func(r *request) bool {
		return len(conditionsOf(r, certificatesv1.CertificateApproved)) > 0 && len(conditionsOf(r, certificatesv1.CertificateDenied)) > 0
	}
	if !both(o) || both(old) {
		return nil
	}
	const approved, denied = `conditions[{"type": "Approved"}]`, `conditions[{"type": "Denied"}]`
	return field.ErrorList{field.Invalid(path, fmt.Sprintf("{%s, %s}", approved, denied), fmt.Sprintf("must specify at most one of: `%s`, `%s`", approved, denied))}
}
