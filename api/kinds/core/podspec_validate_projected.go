package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Projected volumes: several sources in one directory, so no two may use one path.

const (
	minTokenSeconds       = 600
	maxTokenSeconds       = 1 << 32
	minCertificateSeconds = 3600
	maxCertificateSeconds = 91 * 24 * 3600
	maxKubernetesSeconds  = 24 * 3600
)

// projection is one projected volume under test.
type projection struct {
	*podCheck
	at    *field.Path
	paths sets.Set[string]
}

func (c *podCheck) checkProjected(v *corev1.ProjectedVolumeSource, at *field.Path) {
	c.mode(v.DefaultMode, at.Child("defaultMode"))
	p := &projection{podCheck: c, at: at, paths: sets.New[string]()}
	for i := range v.Sources {
		s, at := &v.Sources[i], at.Child("sources").Index(i)
		count := 0
		if s.Secret != nil {
			count++
			p.keys(s.Secret.Name, s.Secret.Items, at.Child("secret"))
		}
		if s.ConfigMap != nil {
			count++
			p.keys(s.ConfigMap.Name, s.ConfigMap.Items, at.Child("configMap"))
		}
		if s.DownwardAPI != nil {
			count++
			for j := range s.DownwardAPI.Items {
				d := &s.DownwardAPI.Items[j]
				c.downwardFile(d, at.Child("downwardAPI"))
				p.use(d.Path, d.Path)
			}
		}
		if s.ServiceAccountToken != nil {
			count++
			p.token(s.ServiceAccountToken, at.Child("serviceAccountToken"))
		}
		if s.ClusterTrustBundle != nil {
			count++
			p.trustBundle(s.ClusterTrustBundle, at.Child("clusterTrustBundle"))
		}
		if s.PodCertificate != nil {
			count++
			p.certificate(s.PodCertificate, at.Child("podCertificate"))
		}
		if count > 1 {
			c.forbidden(at, "may not specify more than 1 volume type per source")
		}
	}
}

// use takes a path; blame is what the message quotes when it is taken.
func (p *projection) use(path, blame string) {
	if path == "" {
		return
	}
	if p.paths.Has(path) {
		p.invalid(p.at, blame, "conflicting duplicate paths")
	}
	p.paths.Insert(path)
}

func (p *projection) keys(name string, items []corev1.KeyToPath, at *field.Path) {
	p.named(name, at.Child("name"))
	for i := range items {
		p.keyToPath(&items[i], at.Child("items").Index(i))
		p.use(items[i].Path, name)
	}
}

func (p *projection) token(t *corev1.ServiceAccountTokenProjection, at *field.Path) {
	expiry := at.Child("expirationSeconds")
	switch e := t.ExpirationSeconds; {
	case e == nil:
		p.required(expiry, "")
	case *e < minTokenSeconds:
		p.invalid(expiry, *e, "may not specify a duration less than 10 minutes")
	case *e > maxTokenSeconds:
		p.invalid(expiry, *e, "may not specify a duration larger than 2^32 seconds")
	}
	if t.Path == "" {
		p.required(p.at.Child("path"), "")
	} else {
		p.localPath(t.Path, p.at.Child("path"))
	}
}

func (p *projection) trustBundle(b *corev1.ClusterTrustBundleProjection, at *field.Path) {
	switch {
	case b.Name != nil && b.SignerName != nil:
		p.invalid(at, b, "only one of name and signerName may be used")
	case b.Name != nil:
		if *b.Name == "" {
			p.required(at.Child("name"), "must be a valid object name")
		}
		for _, m := range bundleName(*b.Name) {
			p.invalid(at.Child("name"), *b.Name, fmt.Sprintf("not a valid clustertrustbundlename: %v", m))
		}
		if b.LabelSelector != nil {
			p.invalid(at.Child("labelSelector"), b.LabelSelector, "labelSelector must be unset if name is specified")
		}
	case b.SignerName != nil:
		if *b.SignerName == "" {
			p.required(at.Child("signerName"), "must be a valid signer name")
		}
		p.add(common.SignerName(*b.SignerName, at.Child("signerName")))
		p.add(common.LabelSelector(b.LabelSelector, at.Child("labelSelector")))
	default:
		p.required(at, "either name or signerName must be specified")
	}
	p.named(b.Path, at.Child("path"))
	p.localPath(b.Path, at.Child("path"))
	if p.paths.Has(b.Path) {
		p.invalid(p.at, b.Path, "conflicting duplicate paths")
	}
	p.paths.Insert(b.Path)
}

// bundleName: a bundle of a signer is called SIGNER:NAME with colons for slashes.
func bundleName(name string) []string {
	if i := strings.LastIndex(name, ":"); i >= 0 {
		return validation.IsDNS1123Subdomain(name[i+1:])
	}
	return validation.IsDNS1123Subdomain(name)
}

func (p *projection) certificate(s *corev1.PodCertificateProjection, at *field.Path) {
	p.add(common.SignerName(s.SignerName, at.Child("signerName")))
	p.add(common.UserAnnotations(s.UserAnnotations, at.Child("userAnnotations")))
	oneOf(&p.faults, at.Child("keyType"), s.KeyType, "RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
	if n := s.MaxExpirationSeconds; n != nil {
		at := at.Child("maxExpirationSeconds")
		if *n < minCertificateSeconds {
			p.invalid(at, *n, "if provided, maxExpirationSeconds must be >= 3600")
		}
		limit := int32(maxCertificateSeconds)
		if domain, _, _ := strings.Cut(s.SignerName, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
			limit = maxKubernetesSeconds
		}
		if *n > limit {
			p.invalid(at, *n, fmt.Sprintf("if provided, maxExpirationSeconds must be <= %d", limit))
		}
	}
	some := false
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", s.CredentialBundlePath}, {"keyPath", s.KeyPath}, {"certificateChainPath", s.CertificateChainPath},
	} {
		if file.path != "" {
			some = true
			p.localPath(file.path, at.Child(file.name))
			p.use(file.path, file.path)
		}
	}
	if !some {
		p.required(at, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")
	}
}
