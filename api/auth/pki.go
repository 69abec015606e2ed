package auth

// The files of a cluster below DATA-DIR/pki, named as kubeadm names them:
//
//	ca.crt ca.key                  the cluster's CA: signs serving and client certificates and what the CSR signers sign
//	apiserver.crt apiserver.key    what the API server shows
//	admin.crt admin.key            user admin in group system:masters; the kubeconfig embeds it
//	sa.pub sa.key                  signs and checks service account tokens
//
// They are made at the first start and kept. A leaf that is about to expire,
// or whose names no longer fit the flags, is made again at a start; the
// serving certificate also while running (GetCertificate). The CA and sa.key
// are never replaced by themselves: that would lock everybody out.
//
// Keys are ECDSA P-256: made and signed with in well under a millisecond,
// where RSA would cost more than the whole start.

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// How long certificates last, and how long before their end they are renewed.
const (
	caLife      = 10 * 365 * 24 * time.Hour
	leafLife    = 365 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
	backdate    = 5 * time.Minute // clocks differ
)

// PKIOptions says what OpenPKI makes.
type PKIOptions struct {
	Dir string // DATA-DIR/pki
	// Names the serving certificate carries beside those that every API server has (ServingNames): addresses or host names.
	Names []string
	// ServiceIP is the first address of the service range, kubernetes.default.svc.
	ServiceIP     string
	ClusterDomain string           // cluster.local
	Now           func() time.Time // nil: time.Now
	// Random makes keys repeatable when it is: every key is the next 32 bytes of it (Go's own
	// GenerateKey ignores its reader). nil: the system's.
	Random io.Reader
}

// PKI holds the cluster's keys. It is safe for concurrent use.
type PKI struct {
	CA    Pair // signs
	Admin Pair // for the kubeconfig
	// ServiceAccount signs tokens.
	ServiceAccount *ecdsa.PrivateKey

	o       PKIOptions
	mu      sync.Mutex // guards serving and serial use of o.Random
	serving *tls.Certificate
}

// Pair is a certificate with its key, decoded and as PEM.
type Pair struct {
	Cert    *x509.Certificate
	Key     *ecdsa.PrivateKey
	CertPEM []byte
	KeyPEM  []byte
}

// OpenPKI reads the files of o.Dir, and makes those that are missing or expiring.
func OpenPKI(o PKIOptions) (*PKI, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ClusterDomain == "" {
		o.ClusterDomain = "cluster.local"
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make pki directory: %w", err)
	}
	p := &PKI{o: o}
	var err error
	if p.CA, err = p.openCA(); err != nil {
		return nil, err
	}
	if _, err = p.openServing(); err != nil {
		return nil, err
	}
	if p.Admin, err = p.openAdmin(); err != nil {
		return nil, err
	}
	if p.ServiceAccount, err = p.openServiceAccountKey(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *PKI) openCA() (Pair, error) {
	pair, found, err := readPair(p.o.Dir, "ca")
	if err != nil {
		return Pair{}, err
	}
	if found {
		if now := p.o.Now(); now.After(pair.Cert.NotAfter) {
			return Pair{}, fmt.Errorf("open pki: %s ended at %s; move %s away to make a new CA (kubeconfigs and tokens given out before stop working)",
				filepath.Join(p.o.Dir, "ca.crt"), pair.Cert.NotAfter.Format(time.RFC3339), p.o.Dir)
		}
		return pair, nil
	}
	now := p.o.Now()
	return p.issue("ca", nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kubernetes"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		BasicConstraintsValid: true,
		IsCA:                  true,
		DNSNames:              []string{"kubernetes"},
	})
}

// ServingNames are the names and addresses of the serving certificate: those
// of o.Names, of this host, and those by which pods know the API server.
func ServingNames(o PKIOptions) (dns []string, ips []net.IP) {
	names := []string{"localhost", "127.0.0.1", "::1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc." + o.ClusterDomain, o.ServiceIP}
	names = append(names, o.Names...)
	if host, err := os.Hostname(); err == nil {
		names = append(names, host)
	}
	for _, n := range names {
		ip := net.ParseIP(n)
		switch {
		case n == "", ip != nil && ip.IsUnspecified():
		case ip != nil:
			if !slices.ContainsFunc(ips, ip.Equal) {
				ips = append(ips, ip)
			}
		case !slices.Contains(dns, n):
			dns = append(dns, n)
		}
	}
	return dns, ips
}

func (p *PKI) openServing() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dns, ips := ServingNames(p.o)
	pair, found, err := readPair(p.o.Dir, "apiserver")
	if err != nil {
		return nil, err
	}
	if !found || p.stale(pair.Cert) || !coversNames(pair.Cert, dns, ips) {
		if pair, err = p.issue("apiserver", &p.CA, p.leaf(pkix.Name{CommonName: "kube-apiserver"}, x509.ExtKeyUsageServerAuth, dns, ips)); err != nil {
			return nil, err
		}
	}
	p.serving = &tls.Certificate{Certificate: [][]byte{pair.Cert.Raw}, PrivateKey: pair.Key, Leaf: pair.Cert}
	return p.serving, nil
}

func (p *PKI) openAdmin() (Pair, error) {
	pair, found, err := readPair(p.o.Dir, "admin")
	if err != nil {
		return Pair{}, err
	}
	if found && !p.stale(pair.Cert) {
		return pair, nil
	}
	return p.issue("admin", &p.CA, p.leaf(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, x509.ExtKeyUsageClientAuth, nil, nil))
}

func (p *PKI) openServiceAccountKey() (*ecdsa.PrivateKey, error) {
	key, found, err := readKey(filepath.Join(p.o.Dir, "sa.key"))
	if err != nil || found {
		return key, err
	}
	if key, err = newKey(p.o.Random); err != nil {
		return nil, fmt.Errorf("make service account key: %w", err)
	}
	return key, writeKey(p.o.Dir, "sa", key)
}

// stale says that cert should be made again: it is about to end, was signed by another CA, or is not valid yet.
func (p *PKI) stale(cert *x509.Certificate) bool {
	now := p.o.Now()
	return now.After(cert.NotAfter.Add(-renewBefore)) || now.Before(cert.NotBefore) || cert.CheckSignatureFrom(p.CA.Cert) != nil
}

func coversNames(cert *x509.Certificate, dns []string, ips []net.IP) bool {
	for _, n := range dns {
		if !slices.Contains(cert.DNSNames, n) {
			return false
		}
	}
	for _, ip := range ips {
		if !slices.ContainsFunc(cert.IPAddresses, ip.Equal) {
			return false
		}
	}
	return true
}

func (p *PKI) leaf(subject pkix.Name, usage x509.ExtKeyUsage, dns []string, ips []net.IP) *x509.Certificate {
	now := p.o.Now()
	end := now.Add(leafLife)
	if p.CA.Cert.NotAfter.Before(end) {
		end = p.CA.Cert.NotAfter
	}
	return &x509.Certificate{
		Subject: subject, NotBefore: now.Add(-backdate), NotAfter: end,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:           []x509.ExtKeyUsage{usage},
		BasicConstraintsValid: true,
		DNSNames:              dns, IPAddresses: ips,
	}
}

// issue makes a key and its certificate, signed by ca (nil: by itself), and writes both files.
func (p *PKI) issue(name string, ca *Pair, template *x509.Certificate) (Pair, error) {
	key, err := newKey(p.o.Random)
	if err != nil {
		return Pair{}, fmt.Errorf("make key of %s: %w", name, err)
	}
	signer, parent := key, template
	if ca != nil {
		signer, parent = ca.Key, ca.Cert
	}
	cert, err := Sign(template, parent, key.Public(), signer, p.o.Random)
	if err != nil {
		return Pair{}, fmt.Errorf("make certificate of %s: %w", name, err)
	}
	return writePair(p.o.Dir, name, cert, key)
}

// Sign makes a certificate with a fresh serial number. The signature itself is
// deterministic (RFC 6979), so that the same random bytes give the same certificate.
func Sign(template, parent *x509.Certificate, public crypto.PublicKey, signer *ecdsa.PrivateKey, random io.Reader) (*x509.Certificate, error) {
	serial := make([]byte, 16)
	if err := readRandom(random, serial); err != nil {
		return nil, err
	}
	serial[0] &= 0x7f
	template.SerialNumber = new(big.Int).SetBytes(serial)
	der, err := x509.CreateCertificate(nil, template, parent, public, steadySigner{signer})
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// GetCertificate serves tls.Config: the serving certificate, made again when it is about to end.
func (p *PKI) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	serving := p.serving
	p.mu.Unlock()
	if !p.stale(serving.Leaf) {
		return serving, nil
	}
	return p.openServing()
}

// TLSConfig is the server's: HTTP/2 and 1.1, client certificates asked for but
// not required (tokens and anonymous requests come without), and checked by
// Authenticator rather than here, so that a bad one is a 401 and not a broken connection.
func (p *PKI) TLSConfig() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: p.GetCertificate,
		ClientAuth:     tls.RequestClientCert,
		NextProtos:     []string{"h2", "http/1.1"},
		ClientCAs:      p.ClientCAs(),
	}
}

// ClientCAs is the pool that client certificates must chain to.
func (p *PKI) ClientCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(p.CA.Cert)
	return pool
}
