package controllers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/auth"
	"kuberow/api/kinds"
	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

// requestFor makes a CertificateSigningRequest.
func requestFor(t *testing.T, name, signer, user, group string, usages ...certificatesv1.KeyUsage) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: user, Organization: []string{group}}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		TypeMeta:   metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), SignerName: signer, Usages: usages,
		},
	}
}

// TestRequestsAreSigned: what a person approved, and what a node asked for itself, gets a certificate of the cluster's
// CA; what breaks the signer's rule fails; what nobody approved waits.
func TestRequestsAreSigned(t *testing.T) {
	pki, err := auth.OpenPKI(auth.PKIOptions{Dir: t.TempDir(), ServiceIP: "10.96.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	e := controllertest.New(t)
	authorizer, err := auth.NewAuthorizer([]string{"AlwaysAllow"}, e.Store, e.REST.Reader())
	if err != nil {
		t.Fatal(err)
	}
	e.Cluster.Access = auth.Access{Authorizer: authorizer, Authenticator: &auth.Authenticator{}}
	r := e.Runner(1, controllers.CertificateApproving(), controllers.CertificateSigning(pki.SignRequest), controllers.CertificateCleaner())
	client, kubelet := certificatesv1.KubeAPIServerClientSignerName, certificatesv1.KubeAPIServerClientKubeletSignerName
	auth, digital := certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature
	for _, csr := range []*certificatesv1.CertificateSigningRequest{
		requestFor(t, "jane", client, "jane", "dev", auth),
		requestFor(t, "server", client, "jane", "dev", certificatesv1.UsageServerAuth),
		requestFor(t, "waits", client, "jane", "dev", auth),
		requestFor(t, "node", kubelet, "system:node:n1", "system:nodes", digital, auth),
		requestFor(t, "impostor", kubelet, "jane", "system:nodes", digital, auth),
	} {
		e.Create(controllers.SigningRequests, csr)
	}
	for _, name := range []string{"jane", "server"} {
		_, err := e.REST.Client().Mutate(t.Context(), kinds.Write{
			User: e.Admin, Agent: "test", Resource: controllers.SigningRequests, Subresource: "approval", Name: name,
			Mutate: approve,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	quiet(t, r)
	for name, want := range map[string]string{
		"jane": "signed", "server": "invalid usage for client certificate: server auth", "waits": "", "node": "signed", "impostor": "",
	} {
		csr := controllertest.Get[*certificatesv1.CertificateSigningRequest](e, controllers.SigningRequests, "", name)
		got := ""
		for _, c := range csr.Status.Conditions {
			if c.Type == certificatesv1.CertificateFailed {
				got = c.Message
			}
		}
		if block, _ := pem.Decode(csr.Status.Certificate); block != nil {
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := cert.Verify(x509.VerifyOptions{Roots: pki.ClientCAs(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			got = "signed"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func approve(obj runtime.Object) error {
	csr := obj.(*certificatesv1.CertificateSigningRequest)
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "ByTest",
	})
	return nil
}
