package auth

// What the signers of kube-controller-manager do with an approved
// CertificateSigningRequest: its subject and names become a certificate of the
// cluster's CA, with the usages that were asked for and nothing else.

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

const (
	signedLife  = 365 * 24 * time.Hour // --cluster-signing-duration
	shortLife   = 8 * time.Hour        // from here on the backdating is taken off the end
	minimumLife = 10 * time.Minute
)

var keyUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageSigning:           x509.KeyUsageDigitalSignature,
	certificatesv1.UsageDigitalSignature:  x509.KeyUsageDigitalSignature,
	certificatesv1.UsageContentCommitment: x509.KeyUsageContentCommitment,
	certificatesv1.UsageKeyEncipherment:   x509.KeyUsageKeyEncipherment,
	certificatesv1.UsageKeyAgreement:      x509.KeyUsageKeyAgreement,
	certificatesv1.UsageDataEncipherment:  x509.KeyUsageDataEncipherment,
	certificatesv1.UsageCertSign:          x509.KeyUsageCertSign,
	certificatesv1.UsageCRLSign:           x509.KeyUsageCRLSign,
	certificatesv1.UsageEncipherOnly:      x509.KeyUsageEncipherOnly,
	certificatesv1.UsageDecipherOnly:      x509.KeyUsageDecipherOnly,
}

var extendedUsages = map[certificatesv1.KeyUsage]x509.ExtKeyUsage{
	certificatesv1.UsageAny:             x509.ExtKeyUsageAny,
	certificatesv1.UsageServerAuth:      x509.ExtKeyUsageServerAuth,
	certificatesv1.UsageClientAuth:      x509.ExtKeyUsageClientAuth,
	certificatesv1.UsageCodeSigning:     x509.ExtKeyUsageCodeSigning,
	certificatesv1.UsageEmailProtection: x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageSMIME:           x509.ExtKeyUsageEmailProtection,
	certificatesv1.UsageIPsecEndSystem:  x509.ExtKeyUsageIPSECEndSystem,
	certificatesv1.UsageIPsecTunnel:     x509.ExtKeyUsageIPSECTunnel,
	certificatesv1.UsageIPsecUser:       x509.ExtKeyUsageIPSECUser,
	certificatesv1.UsageTimestamping:    x509.ExtKeyUsageTimeStamping,
	certificatesv1.UsageOCSPSigning:     x509.ExtKeyUsageOCSPSigning,
	certificatesv1.UsageMicrosoftSGC:    x509.ExtKeyUsageMicrosoftServerGatedCrypto,
	certificatesv1.UsageNetscapeSGC:     x509.ExtKeyUsageNetscapeServerGatedCrypto,
}

// SignRequest makes the certificate of a request, as PEM. seconds is how long the client wants it to last, nil when it did not say.
func (p *PKI) SignRequest(req *x509.CertificateRequest, usages []certificatesv1.KeyUsage, seconds *int32) ([]byte, error) {
	if err := req.CheckSignature(); err != nil {
		return nil, fmt.Errorf("sign certificate request: %w", err)
	}
	template := &x509.Certificate{
		Subject: req.Subject, DNSNames: req.DNSNames, IPAddresses: req.IPAddresses, EmailAddresses: req.EmailAddresses, URIs: req.URIs,
		BasicConstraintsValid: true,
	}
	if err := setUsages(template, usages); err != nil {
		return nil, err
	}
	now, life := p.o.Now(), lifeOf(seconds)
	template.NotBefore, template.NotAfter = now.Add(-backdate), now.Add(life)
	if life >= shortLife {
		template.NotAfter = template.NotAfter.Add(-backdate)
	}
	end := p.CA.Cert.NotAfter
	if !now.Before(end) {
		return nil, fmt.Errorf("sign certificate request: the CA ended at %s", end.Format(time.RFC3339))
	}
	if end.Before(template.NotAfter) {
		template.NotAfter = end
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	cert, err := Sign(template, p.CA.Cert, req.PublicKey, p.CA.Key, p.o.Random)
	if err != nil {
		return nil, fmt.Errorf("sign certificate request: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}), nil
}

func lifeOf(seconds *int32) time.Duration {
	if seconds == nil {
		return signedLife
	}
	return min(max(time.Duration(*seconds)*time.Second, minimumLife), signedLife)
}

// setUsages puts the names of usages into the two fields that a certificate has for them.
func setUsages(template *x509.Certificate, usages []certificatesv1.KeyUsage) error {
	for _, u := range usages {
		extended, ok := extendedUsages[u]
		switch {
		case keyUsages[u] != 0:
			template.KeyUsage |= keyUsages[u]
		case !ok:
			return fmt.Errorf("sign certificate request: unrecognized usage value %q", u)
		case !slices.Contains(template.ExtKeyUsage, extended):
			template.ExtKeyUsage = append(template.ExtKeyUsage, extended)
		}
	}
	slices.Sort(template.ExtKeyUsage)
	return nil
}
