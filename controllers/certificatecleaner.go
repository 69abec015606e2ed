package controllers

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// CertificateSigningRequests are thrown away when they have served: an hour
// after they were decided, a day after they were left alone, and when their certificate has ended.
// Key: a request; it is looked at again when its time is up.

const (
	decidedLife = time.Hour
	pendingLife = 24 * time.Hour
)

// CertificateCleaner is certificatesigningrequest-cleaner-controller.
func CertificateCleaner() Controller {
	return Controller{
		Name: "certificatesigningrequest-cleaner-controller", Account: "certificate-controller",
		Keys: keyMap{SigningRequests: itself},
		Step: func(v View, keys []Key) Outcome {
			out := Outcome{Again: map[Key]time.Time{}}
			for _, k := range keys {
				r := get[*certificatesv1.CertificateSigningRequest](v, SigningRequests, "", k.Name)
				if r == nil {
					continue
				}
				end := endOfRequest(r)
				switch {
				case end.IsZero():
				case v.Now().After(end):
					out.Writes = append(out.Writes, deletion(k, SigningRequests, r))
				default:
					out.Again[k] = end.Add(time.Second)
				}
			}
			return out
		},
	}
}

// endOfRequest is when a request has served; zero when no rule speaks of it.
func endOfRequest(r *certificatesv1.CertificateSigningRequest) (end time.Time) {
	sooner := func(t time.Time) {
		if end.IsZero() || t.Before(end) {
			end = t
		}
	}
	if len(r.Status.Conditions) == 0 {
		sooner(r.CreationTimestamp.Add(pendingLife))
	}
	issued := len(r.Status.Certificate) > 0
	for _, c := range r.Status.Conditions {
		switch {
		case c.LastUpdateTime.IsZero():
		case c.Type == certificatesv1.CertificateApproved && !issued:
			sooner(c.LastUpdateTime.Add(pendingLife))
		default:
			sooner(c.LastUpdateTime.Add(decidedLife))
		}
	}
	if block, _ := pem.Decode(r.Status.Certificate); block != nil && requestIs(r, certificatesv1.CertificateApproved) {
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil {
			sooner(cert.NotAfter)
		}
	}
	return end
}
