package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/api/kinds"
)

func signingRequest(t *testing.T) *request {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "bob"}}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &request{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
		SignerName: "example.com/signer", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
	}}
}

func text(errs field.ErrorList) string {
	if len(errs) == 0 {
		return ""
	}
	return errs.ToAggregate().Error()
}

func sender() *kinds.Context {
	return &kinds.Context{User: &user.DefaultInfo{Name: "alice", Groups: []string{"g"}}, Now: time.Unix(1e9, 0)}
}

func TestRequestNamesItsSender(t *testing.T) {
	o := signingRequest(t)
	o.Spec.Username, o.Spec.Groups = "root", []string{"system:masters"}
	o.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	signingRequests().Strategy.PrepareForCreate(sender(), o)
	if o.Spec.Username != "alice" || len(o.Spec.Groups) != 1 || o.Spec.Groups[0] != "g" || len(o.Status.Conditions) != 0 {
		t.Errorf("the client wrote %q %q %v", o.Spec.Username, o.Spec.Groups, o.Status.Conditions)
	}
	if errs := validateRequest(o, nil); len(errs) != 0 {
		t.Error(errs)
	}
}

func TestBadRequests(t *testing.T) {
	for want, change := range map[string]func(*request){
		"spec.usages: Required value":                      func(o *request) { o.Spec.Usages = nil },
		"spec.usages[1]: Duplicate value: \"client auth\"": func(o *request) { o.Spec.Usages = append(o.Spec.Usages, certificatesv1.UsageClientAuth) },
		"spec.signerName: Required value":                  func(o *request) { o.Spec.SignerName = "" },
		"spec.signerName: Invalid value: \"nosuch\": must be a fully qualified domain and path of the form 'example.com/signer-name'": func(o *request) { o.Spec.SignerName = "nosuch" },
		"spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)":                     func(o *request) { o.Spec.ExpirationSeconds = new(int32(5)) },
	} {
		o := signingRequest(t)
		change(o)
		if got := text(validateRequest(o, nil)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	o := signingRequest(t)
	o.Spec.Request = []byte("x")
	if got := text(validateRequest(o, nil)); !strings.HasSuffix(got, "PEM block type must be CERTIFICATE REQUEST") {
		t.Error(got)
	}
}

// Approval writes the decision, status the certificate, and neither can be taken back.
func TestWhoWritesWhat(t *testing.T) {
	old := signingRequest(t)
	approve := old.DeepCopy()
	approve.Spec.SignerName = "other.com/signer"
	approve.Status.Certificate = []byte("x")
	approve.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	res := signingRequests()
	approval, status := res.Subresource("approval").Strategy, res.Subresource("status").Strategy
	approval.PrepareForUpdate(sender(), approve, old)
	if approve.Spec.SignerName != "example.com/signer" || len(approve.Status.Certificate) != 0 || approve.Status.Conditions[0].LastTransitionTime.IsZero() {
		t.Errorf("approval wrote %+v", approve)
	}
	if errs := approval.ValidateUpdate(sender(), approve, old); len(errs) != 0 {
		t.Error(errs)
	}
	if got, want := text(status.ValidateUpdate(sender(), approve, old)), `status.conditions: Forbidden: updates may not add a condition of type "Approved"`; got != want {
		t.Errorf("status: %s, want %s", got, want)
	}
	if got, want := text(approval.ValidateUpdate(sender(), old, approve)), `status.conditions: Forbidden: updates may not remove a condition of type "Approved"`; got != want {
		t.Errorf("taking an approval back: %s, want %s", got, want)
	}
	both := approve.DeepCopy()
	both.Status.Conditions = append(both.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue})
	if got, want := text(approval.ValidateUpdate(sender(), both, approve)), `status.conditions: Invalid value: "{conditions[{\"type\": \"Approved\"}], conditions[{\"type\": \"Denied\"}]}": `+
		"must specify at most one of: `conditions[{\"type\": \"Approved\"}]`, `conditions[{\"type\": \"Denied\"}]`"; got != want {
		t.Errorf("approved and denied: %s, want %s", got, want)
	}
	read := approve.DeepCopy()
	read.Spec.Usages = nil
	status.PrepareForUpdate(sender(), read, approve)
	if len(read.Spec.Usages) != 1 {
		t.Error("status changed the spec")
	}
}

func TestTrustBundleIsNamedAfterItsSigner(t *testing.T) {
	for want, names := range map[string][2]string{
		"": {"example.com:signer:name", "example.com/signer"},
		`ClusterTrustBundle for signerName example.com/signer must be named with prefix example.com:signer:`: {"name", "example.com/signer"},
		`ClusterTrustBundle without signer name must not have ":" in its name`:                               {"a:b", ""},
	} {
		if got := strings.Join(bundleName(names[0], names[1]), "; "); got != want {
			t.Errorf("%q of %q: %s, want %s", names[0], names[1], got, want)
		}
	}
}
