package auth

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

// objects is a Reader over a few objects: RESOURCE/NAMESPACE/NAME.
type objects map[string]runtime.Object

func (o objects) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	if obj, ok := o[gr.Resource+"/"+namespace+"/"+name]; ok {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(gr, name)
}

func (o objects) List(_ context.Context, gr schema.GroupResource, namespace string, _ labels.Selector) ([]runtime.Object, error) {
	var out []runtime.Object
	for k, obj := range o {
		if strings.HasPrefix(k, gr.Resource+"/"+namespace) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func testAccounts(t testing.TB, reader kinds.Reader, now *time.Time) *ServiceAccounts {
	t.Helper()
	key, err := newKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewServiceAccounts(key, "https://issuer")
	if err != nil {
		t.Fatal(err)
	}
	s.Reader, s.Now = reader, func() time.Time { return *now }
	return s
}

// A token is good until its end, for its audiences, and while what it is bound to lives.
func TestServiceAccountTokens(t *testing.T) {
	now := epoch
	live := objects{
		"serviceaccounts/ns/sa": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "u-sa"}},
		"pods/ns/p":             &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u-p"}},
	}
	s := testAccounts(t, live, &now)
	bound := kinds.Token{Namespace: "ns", Account: kinds.Bound{Name: "sa", UID: "u-sa"}, Pod: &kinds.Bound{Name: "p", UID: "u-p"},
		Node: &kinds.Bound{Name: "n", UID: "u-n"}, Audiences: []string{"https://issuer"}, ID: "id", IssuedAt: now, Expires: now.Add(time.Hour)}
	issue := func(change func(*kinds.Token)) string {
		token := bound
		if change != nil {
			change(&token)
		}
		text, err := s.Issue(token)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	resp, ok, err := s.Authenticate(t.Context(), issue(nil), s.Audiences)
	if !ok || err != nil {
		t.Fatalf("a good token: %v %v", ok, err)
	}
	if got, want := fmt.Sprint(resp.User.GetName(), resp.User.GetGroups(), resp.User.GetExtra()),
		"system:serviceaccount:ns:sa[system:serviceaccounts system:serviceaccounts:ns] map[authentication.kubernetes.io/credential-id:[JTI=id] "+
			"authentication.kubernetes.io/node-name:[n] authentication.kubernetes.io/node-uid:[u-n] "+
			"authentication.kubernetes.io/pod-name:[p] authentication.kubernetes.io/pod-uid:[u-p]]"; got != want {
		t.Errorf("user %s, want %s", got, want)
	}
	other := testAccounts(t, live, &now)
	forged, err := other.Issue(bound)
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"another key's":     forged,
		"changed":           issue(nil)[:20] + "A" + issue(nil)[21:],
		"another audience":  issue(func(b *kinds.Token) { b.Audiences = []string{"vault"} }),
		"another account's": issue(func(b *kinds.Token) { b.Account.UID = "u-before" }),
		"missing account's": issue(func(b *kinds.Token) { b.Account.Name = "gone" }),
		"another pod's":     issue(func(b *kinds.Token) { b.Pod = &kinds.Bound{Name: "p", UID: "u-before"} }),
		"missing pod's":     issue(func(b *kinds.Token) { b.Pod = &kinds.Bound{Name: "gone", UID: "u"} }),
		"missing secret's":  issue(func(b *kinds.Token) { b.Secret = &kinds.Bound{Name: "gone", UID: "u"} }),
		"expired":           issue(func(b *kinds.Token) { b.Expires = now.Add(-2 * time.Minute) }),
		"of tomorrow":       issue(func(b *kinds.Token) { b.IssuedAt = now.Add(24 * time.Hour) }),
	} {
		if resp, ok, _ := s.Authenticate(t.Context(), token, s.Audiences); ok {
			t.Errorf("%s token was accepted as %s", name, resp.User.GetName())
		}
	}
	if _, ok, err := s.Authenticate(t.Context(), "not.a.jwt", s.Audiences); ok || err != nil {
		t.Errorf("what is no token: %v %v", ok, err)
	}
	now = now.Add(2 * time.Hour)
	if _, ok, err := s.Authenticate(t.Context(), issue(func(b *kinds.Token) {}), s.Audiences); ok || err == nil || err.Error() != "service account token has expired" {
		t.Errorf("after its end: %v %v", ok, err)
	}
}

func TestBootstrapTokens(t *testing.T) {
	secret := func(id, secret, expires string) *corev1.Secret {
		return &corev1.Secret{Type: bootstrapType, Data: map[string][]byte{"token-id": []byte(id), "token-secret": []byte(secret),
			"usage-bootstrap-authentication": []byte("true"), "expiration": []byte(expires), "auth-extra-groups": []byte("system:bootstrappers:extra")}}
	}
	reader := objects{
		"secrets/kube-system/bootstrap-token-abcdef": secret("abcdef", "0123456789abcdef", "2027-01-02T00:00:00Z"),
		"secrets/kube-system/bootstrap-token-ended0": secret("ended0", "0123456789abcdef", "2026-01-02T00:00:00Z"),
	}
	a := &Authenticator{Reader: reader, Now: func() time.Time { return epoch }}
	resp, ok, err := a.AuthenticateToken(t.Context(), "abcdef.0123456789abcdef", nil)
	if !ok || err != nil || resp.User.GetName() != "system:bootstrap:abcdef" || !slices.Equal(resp.User.GetGroups(), []string{bootstrapGroup, "system:bootstrappers:extra"}) {
		t.Errorf("%v %v %v", resp, ok, err)
	}
	for _, token := range []string{"abcdef.0123456789abcdeg", "ended0.0123456789abcdef", "gone00.0123456789abcdef", "abcdef", ""} {
		if _, ok, err := a.AuthenticateToken(t.Context(), token, nil); ok || err != nil {
			t.Errorf("%q: %v %v", token, ok, err)
		}
	}
}

func TestWhoIsAsking(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(path, []byte("secret,alice,u1,\"devs,ops\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := ReadTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authenticator{TokenFile: tokens, Anonymous: true}
	who := func(header string) string {
		req, _ := http.NewRequest(http.MethodGet, "/", nil)
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		u, err := a.Authenticate(req)
		if err != nil {
			if !apierrors.IsUnauthorized(err) || err.Error() != "Unauthorized" {
				t.Errorf("%q: %v is not Unauthorized", header, err)
			}
			return "401"
		}
		if req.Header.Get("Authorization") != "" {
			t.Errorf("%q: the credentials stay on the request", header)
		}
		return fmt.Sprint(u.GetName(), u.GetGroups())
	}
	for header, want := range map[string]string{
		"Bearer secret": "alice[devs ops system:authenticated]",
		"Bearer wrong":  "401",
		"":              "system:anonymous[system:unauthenticated]",
		"Basic abc":     "system:anonymous[system:unauthenticated]",
	} {
		if got := who(header); got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
	a.Anonymous = false
	if got := who(""); got != "401" {
		t.Errorf("without anonymous access: %s", got)
	}
}

// allowing allows the listed "verb group/resource/name".
type allowing []string

func (l allowing) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if slices.Contains(l, fmt.Sprintf("%s %s/%s/%s", a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetName())) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, "", nil
}

// A token that is reviewed reads as it would in a header: who comes with blanks is anonymous, and a second word is not looked at.
func TestReviewedTokensReadAsHeaders(t *testing.T) {
	reader := objects{"secrets/kube-system/bootstrap-token-abcdef": &corev1.Secret{Type: bootstrapType, Data: map[string][]byte{
		"token-id": []byte("abcdef"), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-authentication": []byte("true")}}}
	access := Access{Authenticator: &Authenticator{Reader: reader, Anonymous: true, Now: func() time.Time { return epoch }}}
	for token, want := range map[string]string{
		"abcdef.0123456789abcdef":      "system:bootstrap:abcdef",
		" abcdef.0123456789abcdef":     user.Anonymous,
		"abcdef.0123456789abcdef ":     "system:bootstrap:abcdef",
		"abcdef.0123456789abcdef more": "system:bootstrap:abcdef",
		"abcdef.0123456789abcdef\tx":   "",
		" ":                            user.Anonymous,
	} {
		got := ""
		if resp, ok, _ := access.AuthenticateToken(t.Context(), token, []string{"other"}); ok {
			got = resp.User.GetName()
		}
		if got != want {
			t.Errorf("%q is %q, want %q", token, got, want)
		}
	}
}

func TestImpersonation(t *testing.T) {
	request := ask("root", "list", "ns", "pods", "", "")
	for _, c := range []struct {
		name    string
		headers http.Header
		may     allowing
		want    string
	}{
		{"nobody", http.Header{}, nil, "<nil>"},
		{"user", http.Header{"Impersonate-User": {"bob"}}, allowing{"impersonate /users/bob"}, "bob[system:authenticated]"},
		{"user and group", http.Header{"Impersonate-User": {"bob"}, "Impersonate-Group": {"g"}},
			allowing{"impersonate /users/bob", "impersonate /groups/g"}, "bob[g system:authenticated]"},
		{"group not allowed", http.Header{"Impersonate-User": {"bob"}, "Impersonate-Group": {"g"}}, allowing{"impersonate /users/bob"},
			`pods is forbidden: User "root" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "ns"`},
		{"service account", http.Header{"Impersonate-User": {"system:serviceaccount:ns:sa"}}, allowing{"impersonate /serviceaccounts/sa"},
			"system:serviceaccount:ns:sa[system:serviceaccounts system:serviceaccounts:ns system:authenticated]"},
		{"constrained", http.Header{"Impersonate-User": {"bob"}},
			allowing{"impersonate-on:user-info:list /pods/", "impersonate:user-info authentication.k8s.io/users/bob"}, "bob[system:authenticated]"},
		{"constrained, not this verb", http.Header{"Impersonate-User": {"bob"}},
			allowing{"impersonate-on:user-info:get /pods/", "impersonate:user-info authentication.k8s.io/users/bob"},
			`pods is forbidden: User "root" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "ns"`},
		{"anonymous", http.Header{"Impersonate-User": {"system:anonymous"}}, allowing{"impersonate /users/system:anonymous"}, "system:anonymous[system:unauthenticated]"},
		{"group alone", http.Header{"Impersonate-Group": {"g"}}, nil,
			`requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)} without impersonating a user name`},
	} {
		u, _, err := NewImpersonator().Impersonate(t.Context(), c.may, c.headers, request)
		got := "<nil>"
		if err != nil {
			got = err.Error()
		} else if u != nil {
			got = fmt.Sprint(u.GetName(), u.GetGroups())
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if err == nil && c.headers.Get("Impersonate-User") != "" {
			t.Errorf("%s: the headers stay on the request", c.name)
		}
	}
}

func TestKubeletsReachOnlyWhatTheirPodsUse(t *testing.T) {
	kubelet := &user.DefaultInfo{Name: "system:node:n1", Groups: []string{user.NodesGroup}}
	pods := objects{"pods/ns/p": &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "n1", ServiceAccountName: "sa",
		Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "mounted"}}}},
		Containers: []corev1.Container{{Name: "c", EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}}},
	}}}
	n := NewNode(pods)
	for _, c := range []struct {
		verb, group, resource, sub, namespace, name string
		reason                                      string // "" is allowed
	}{
		{"get", "", "secrets", "", "ns", "mounted", ""},
		{"get", "", "secrets", "", "ns", "other", "no relationship found between node 'n1' and this object"},
		{"list", "", "secrets", "", "ns", "", "No Object name found"},
		{"get", "", "configmaps", "", "ns", "env", ""},
		{"update", "", "secrets", "", "ns", "mounted", "can only read resources of this type"},
		{"create", "", "serviceaccounts", "token", "ns", "sa", ""},
		{"create", "", "serviceaccounts", "token", "ns", "other", "no relationship found between node 'n1' and this object"},
		{"get", "", "nodes", "", "", "n1", ""},
		{"get", "", "nodes", "", "", "n2", "node 'n1' cannot read 'n2', only its own Node object"},
		{"get", "", "pods", "", "ns", "p", ""},
		{"list", "", "pods", "", "", "", "can only list/watch pods with spec.nodeName field selector"},
		{"update", "", "pods", "status", "ns", "p", ""},
		{"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n1", ""},
		{"update", "coordination.k8s.io", "leases", "", "kube-node-lease", "n2", "can only access node lease with the same name as the requesting node"},
		{"list", "", "services", "", "", "", ""},
	} {
		decision, reason, err := n.Authorize(t.Context(), authorizer.AttributesRecord{User: kubelet, Verb: c.verb, APIGroup: c.group, Resource: c.resource,
			Subresource: c.sub, Namespace: c.namespace, Name: c.name, ResourceRequest: true})
		if (decision == authorizer.DecisionAllow) != (c.reason == "") || reason != c.reason || err != nil {
			t.Errorf("%s %s/%s %s: %v %q %v, want %q", c.verb, c.resource, c.sub, c.name, decision, reason, err, c.reason)
		}
	}
	if d, reason, _ := n.Authorize(t.Context(), ask("alice", "get", "", "nodes", "", "n1")); d != authorizer.DecisionNoOpinion || reason != "" {
		t.Errorf("an ordinary user: %v %q", d, reason)
	}
}
