package auth

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"kuberow/api/kinds"
)

// FuzzCredentials shows headers to the door: it neither panics nor takes anybody
// for someone whose token was not issued.
func FuzzCredentials(f *testing.F) {
	now := epoch
	live := objects{
		"serviceaccounts/ns/sa": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "u-sa"}},
		"secrets/kube-system/bootstrap-token-abcdef": &corev1.Secret{Type: bootstrapType, Data: map[string][]byte{"token-id": []byte("abcdef"),
			"token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true")}},
	}
	accounts := testAccounts(f, live, &now)
	token, err := accounts.Issue(kinds.Token{Namespace: "ns", Account: kinds.Bound{Name: "sa", UID: "u-sa"}, Audiences: []string{"https://issuer"},
		ID: "id", IssuedAt: now, Expires: now.Add(time.Hour)})
	if err != nil {
		f.Fatal(err)
	}
	a := &Authenticator{ServiceAccounts: accounts, Reader: live, Anonymous: true, Now: func() time.Time { return now }}
	for _, text := range []string{"Bearer " + token, "Bearer abcdef.0123456789abcdef", "Bearer a.b.c", "Basic YTpi", "bearer  x", "Bearer", "Bearer eyJhbGciOiJub25lIn0.e30."} {
		f.Add(text, "", "", "")
	}
	f.Add("", "base64url.bearer.authorization.k8s.io.YQ, v5.channel.k8s.io", "", "")
	f.Add("", "", "system:serviceaccount:ns:sa", "Impersonate-Extra-%zz")
	known := []string{user.Anonymous, "system:serviceaccount:ns:sa", "system:bootstrap:abcdef"}
	f.Fuzz(func(t *testing.T, authorization, protocol, impersonate, header string) {
		req := &http.Request{Method: "GET", Header: http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}}
		for name, value := range map[string]string{"Authorization": authorization, "Sec-Websocket-Protocol": protocol, "Impersonate-User": impersonate, header: "x"} {
			if value != "" {
				req.Header[http.CanonicalHeaderKey(name)] = []string{value}
			}
		}
		if u, err := wantedUser(req.Header); err == nil && u != nil && u.Name == "" {
			t.Errorf("%q with %q asks to be nobody", impersonate, header)
		}
		who, err := a.Authenticate(req.WithContext(t.Context()))
		if err != nil {
			return
		}
		for _, name := range known {
			if who.GetName() == name {
				return
			}
		}
		t.Errorf("%q, %q is taken for %s", authorization, protocol, who.GetName())
	})
}
