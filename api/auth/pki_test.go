package auth

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

var epoch = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

func testPKI(t *testing.T, dir string, now time.Time, random io.Reader) *PKI {
	t.Helper()
	p, err := OpenPKI(PKIOptions{Dir: dir, ServiceIP: "10.96.0.1", Names: []string{"192.0.2.7", "api.example"},
		Now: func() time.Time { return now }, Random: random})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPKIIsKeptAndPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	first := testPKI(t, dir, epoch, nil)
	again := testPKI(t, dir, epoch.Add(time.Hour), nil)
	if !first.CA.Cert.Equal(again.CA.Cert) || !first.Admin.Cert.Equal(again.Admin.Cert) || !first.ServiceAccount.Equal(again.ServiceAccount) ||
		!first.serving.Leaf.Equal(again.serving.Leaf) {
		t.Error("a second start made new keys")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 8 {
		t.Fatalf("files %v, %v; want 8", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", f.Name(), info.Mode().Perm())
		}
	}
}

func TestServingCertificateNamesTheAPIServer(t *testing.T) {
	p := testPKI(t, t.TempDir(), epoch, nil)
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "10.96.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local", "192.0.2.7", "api.example"} {
		if err := p.serving.Leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if err := p.serving.Leaf.VerifyHostname("example.com"); err == nil {
		t.Error("the certificate is good for any name")
	}
}

func TestLeavesAreRenewedBeforeTheirEnd(t *testing.T) {
	dir := t.TempDir()
	first := testPKI(t, dir, epoch, nil)
	late := testPKI(t, dir, epoch.Add(leafLife-renewBefore+time.Hour), nil)
	if !first.CA.Cert.Equal(late.CA.Cert) {
		t.Error("the CA was replaced")
	}
	if first.Admin.Cert.Equal(late.Admin.Cert) || first.serving.Leaf.Equal(late.serving.Leaf) {
		t.Error("a certificate that is about to end was kept")
	}
}

func TestServingCertificateIsRenewedWhileRunning(t *testing.T) {
	now := epoch
	p, err := OpenPKI(PKIOptions{Dir: t.TempDir(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := p.GetCertificate(nil)
	now = now.Add(leafLife)
	after, err := p.GetCertificate(nil)
	if err != nil || after.Leaf.Equal(before.Leaf) || after.Leaf.NotAfter.Before(now.Add(renewBefore)) {
		t.Errorf("no fresh certificate after the old one's end (%v)", err)
	}
}

func TestSameRandomMakesSamePKI(t *testing.T) {
	make := func() *PKI { return testPKI(t, t.TempDir(), epoch, rand.NewChaCha8([32]byte{1})) }
	a, b := make(), make()
	if !bytes.Equal(a.CA.CertPEM, b.CA.CertPEM) || !bytes.Equal(a.Admin.KeyPEM, b.Admin.KeyPEM) || !a.ServiceAccount.Equal(b.ServiceAccount) {
		t.Error("the same random bytes made different keys")
	}
	if c := testPKI(t, t.TempDir(), epoch, rand.NewChaCha8([32]byte{2})); c.ServiceAccount.Equal(a.ServiceAccount) {
		t.Error("other random bytes made the same key")
	}
}

func TestHalfWrittenPairIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	testPKI(t, dir, epoch, nil)
	if err := os.WriteFile(filepath.Join(dir, "admin.crt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := testPKI(t, dir, epoch, nil)
	if _, err := tls.X509KeyPair(p.Admin.CertPEM, p.Admin.KeyPEM); err != nil {
		t.Error(err)
	}
}

// The kubeconfig is read by client-go and used against a TLS server of the same PKI.
func TestKubeconfigOpensTheDoor(t *testing.T) {
	dir := t.TempDir()
	p := testPKI(t, dir, time.Now(), nil)
	door := &Authenticator{ClientCAs: p.ClientCAs()}
	var who string
	listener, err := tls.Listen("tcp", "127.0.0.1:0", p.TLSConfig())
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := door.Authenticate(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		who = u.GetName() + " " + u.GetGroups()[0]
	})}
	go s.Serve(listener)
	defer s.Close()
	path := filepath.Join(dir, "kubeconfig")
	if err := WriteKubeconfig(path, "https://"+listener.Addr().String(), p.CA.CertPEM, p.Admin); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(config.CAData)
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}}}}
	if _, err := client.Get(config.Host); err != nil {
		t.Fatal(err)
	}
	if who != "admin system:masters" {
		t.Errorf("the kubeconfig's user is %q", who)
	}
}

func BenchmarkOpenPKI(b *testing.B) {
	for b.Loop() {
		if _, err := OpenPKI(PKIOptions{Dir: filepath.Join(b.TempDir(), "pki")}); err != nil {
			b.Fatal(err)
		}
	}
}
