package auth

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"
	"kuberow/api/kinds"
)

// notes is a Client that mutates the Secret that it holds.
type notes struct {
	kinds.Client
	secret *corev1.Secret
	writes int
}

func (n *notes) Mutate(_ context.Context, w kinds.Write) (runtime.Object, error) {
	n.writes++
	return n.secret, w.Mutate(n.secret)
}

// warned is what was warned of.
type warned []string

func (w *warned) AddWarning(_, text string) { *w = append(*w, text) }

// A token in a Secret is good for the API server alone, while the Secret holds it and the account lives; its use is noted once a day.
func TestTokensInSecrets(t *testing.T) {
	const today = "2027-01-01"
	gone := metav1.NewTime(epoch)
	type cluster struct {
		secret  *corev1.Secret
		account *corev1.ServiceAccount
		live    objects
	}
	for _, c := range []struct {
		name    string
		change  func(*cluster)
		issue   func(*kinds.Token)
		aud     string
		refused string // "" is accepted
		label   string
		warned  int
	}{
		{name: "good", label: today},
		{name: "used today", change: func(c *cluster) { c.secret.Labels = map[string]string{LastUsedLabel: today} }, label: today},
		{name: "used tomorrow", change: func(c *cluster) { c.secret.Labels = map[string]string{LastUsedLabel: "2027-01-02"} }, label: "2027-01-02"},
		{name: "used long ago", change: func(c *cluster) { c.secret.Labels = map[string]string{LastUsedLabel: "2020-01-01"} }, label: today},
		{name: "made unasked", change: func(c *cluster) { c.account.Secrets = []corev1.ObjectReference{{Name: "s"}} }, label: today, warned: 1},
		{name: "another audience", aud: "vault", refused: `token audiences ["https://issuer"] is invalid for the target audiences ["vault"]`},
		{name: "no Secret", change: func(c *cluster) { delete(c.live, "secrets/ns/s") }, refused: "Token has been invalidated"},
		{name: "Secret is going", change: func(c *cluster) { c.secret.DeletionTimestamp = &gone }, refused: "Token has been invalidated"},
		{name: "Secret holds another", change: func(c *cluster) { c.secret.Data["token"] = []byte("x") }, refused: "Token does not match server's copy"},
		{name: "no account", change: func(c *cluster) { delete(c.live, "serviceaccounts/ns/sa") }, refused: `serviceaccounts "sa" not found`},
		{name: "account is going", change: func(c *cluster) { c.account.DeletionTimestamp = &gone }, refused: "ServiceAccount ns/sa has been deleted"},
		{name: "account is another", change: func(c *cluster) { c.account.UID = "u-2" }, refused: "ServiceAccount UID (u-2) does not match claim (u-sa)"},
		{name: "marked invalid", change: func(c *cluster) { c.secret.Labels = map[string]string{InvalidSinceLabel: "2026-10-01"} }, label: today,
			refused: "the token in secret ns/s for service account ns/sa has been marked invalid. Use tokens from the TokenRequest API or manually created " +
				"secret-based tokens, or remove the 'kubernetes.io/legacy-token-invalid-since' label from the secret to temporarily allow use of this token"},
		{name: "no UID", issue: func(t *kinds.Token) { t.Account.UID = "" }, refused: "serviceAccountUID claim is missing"},
		{name: "no namespace", issue: func(t *kinds.Token) { t.Namespace = "" }, refused: "namespace claim is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := epoch
			cl := cluster{
				secret:  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", UID: "u-s"}},
				account: &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "u-sa"}},
			}
			cl.live = objects{"secrets/ns/s": cl.secret, "serviceaccounts/ns/sa": cl.account}
			s := testAccounts(t, cl.live, &now)
			client := &notes{secret: cl.secret}
			s.Client = client
			about := kinds.Token{Namespace: "ns", Account: kinds.Bound{Name: "sa", UID: "u-sa"}, Secret: &kinds.Bound{Name: "s"}}
			if c.issue != nil {
				c.issue(&about)
			}
			token, err := s.IssueForSecret(about)
			if err != nil {
				t.Fatal(err)
			}
			cl.secret.Data = map[string][]byte{"token": []byte(token)}
			if c.change != nil {
				c.change(&cl)
			}
			audiences := s.Audiences
			if c.aud != "" {
				audiences = []string{c.aud}
			}
			var said warned
			for range 2 {
				said = nil
				resp, ok, err := s.Authenticate(warning.WithWarningRecorder(t.Context(), &said), token, audiences)
				if c.refused == "" && (!ok || err != nil || resp.User.GetName() != "system:serviceaccount:ns:sa" || resp.User.GetUID() != "u-sa" || len(resp.User.GetExtra()) != 0) {
					t.Fatalf("refused: %v %v", resp, err)
				}
				if c.refused != "" && (ok || err == nil || err.Error() != c.refused) {
					t.Fatalf("%v %v, want %q", ok, err, c.refused)
				}
			}
			if got := cl.secret.Labels[LastUsedLabel]; got != c.label || client.writes > 1 {
				t.Errorf("label %q after %d writes, want %q", got, client.writes, c.label)
			}
			if len(said) != c.warned {
				t.Errorf("warned %q", said)
			}
		})
	}
}
