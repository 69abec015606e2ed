package controllers_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
	"kuberow/controllers"
	"kuberow/controllers/controllertest"
)

func signToken(t kinds.Token) (string, error) {
	return fmt.Sprint("token of ", t.Namespace, "/", t.Account.Name, " ", t.Account.UID, " in ", t.Secret.Name), nil
}

// tokenSecret is one for account; uid "" is none.
func tokenSecret(account, uid string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default", Annotations: map[string]string{corev1.ServiceAccountNameKey: account}},
		Type:       corev1.SecretTypeServiceAccountToken, Data: map[string][]byte{},
	}
	if uid != "" {
		s.Annotations[corev1.ServiceAccountUIDKey] = uid
	}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	return s
}

func account(name string, secrets ...string) *corev1.ServiceAccount {
	a := &corev1.ServiceAccount{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	for _, s := range secrets {
		a.Secrets = append(a.Secrets, corev1.ObjectReference{Name: s})
	}
	return a
}

// TestTokenSecrets: what is missing is filled in, what is there stays, and what is for nobody goes.
func TestTokenSecrets(t *testing.T) {
	const filled = "ca.crt=CA namespace=default token=token of default/a a-uid in s uid=a-uid"
	key := controllers.Key{Namespace: "default", Name: "s", UID: "a-uid"}
	opaque := tokenSecret("a", "", nil)
	opaque.Type = corev1.SecretTypeOpaque
	for _, c := range []struct {
		name string
		have []runtime.Object
		told string
		want string // the Secret afterwards
	}{
		{"new", []runtime.Object{account("a"), tokenSecret("a", "", nil)}, "mutate secrets s", filled},
		{"full", []runtime.Object{account("a"), tokenSecret("a", "a-uid", map[string]string{"ca.crt": "CA", "namespace": "n", "token": "t"})}, "", ""},
		{"emptied", []runtime.Object{account("a"), tokenSecret("a", "a-uid", nil)}, "mutate secrets s", filled},
		{"own token", []runtime.Object{account("a"), tokenSecret("a", "", map[string]string{"token": "mine", "more": "x"})}, "mutate secrets s",
			"ca.crt=CA more=x namespace=default token=mine uid=a-uid"},
		{"other CA", []runtime.Object{account("a"), tokenSecret("a", "a-uid", map[string]string{"ca.crt": "old", "namespace": "n", "token": "t"})}, "mutate secrets s",
			"ca.crt=CA namespace=n token=t uid=a-uid"},
		{"no account", []runtime.Object{account("b"), tokenSecret("a", "", nil)}, "delete secrets s", ""},
		{"another account of that name", []runtime.Object{account("a"), tokenSecret("a", "before", nil)}, "delete secrets s", ""},
		{"gone", []runtime.Object{account("a", "s", "kept"), account("b", "s")}, "mutate serviceaccounts a", ""},
		{"gone and not listed", []runtime.Object{account("a", "kept")}, "", ""},
		{"another type", []runtime.Object{account("a"), opaque}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := controllertest.NewView(t, c.have...)
			out := controllers.ServiceAccountToken(signToken).Step(v, []controllers.Key{key})
			if got := strings.Join(v.Told(out), ", "); got != c.told {
				t.Fatalf("%q, want %q", got, c.told)
			}
			if c.want != "" {
				s := v.Changed(out, controllers.Secrets, "default", "s").(*corev1.Secret)
				got := ""
				for _, k := range slices.Sorted(maps.Keys(s.Data)) {
					got += k + "=" + string(s.Data[k]) + " "
				}
				if got += "uid=" + s.Annotations[corev1.ServiceAccountUIDKey]; got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			}
			if strings.HasPrefix(c.told, "mutate serviceaccounts") {
				a := v.Changed(out, controllers.ServiceAccounts, "default", "a").(*corev1.ServiceAccount)
				if len(a.Secrets) != 1 || a.Secrets[0].Name != "kept" {
					t.Errorf("the account keeps %v", a.Secrets)
				}
			}
		})
	}
	if out := controllers.ServiceAccountToken(nil).Step(controllertest.NewView(t, account("a"), tokenSecret("a", "", nil)), []controllers.Key{key}); len(out.Writes) > 0 {
		t.Error("who cannot sign writes")
	}
}

// TestTokenSecretsGoWithTheirAccount, also when one of the same name is there already.
func TestTokenSecretsGoWithTheirAccount(t *testing.T) {
	e := controllertest.New(t)
	r := e.Runner(1, controllers.ServiceAccountToken(signToken))
	there := func() types.UID {
		quiet(t, r)
		if s := controllertest.Get[*corev1.Secret](e, controllers.Secrets, "default", "s"); s != nil {
			return types.UID(s.Annotations[corev1.ServiceAccountUIDKey])
		}
		return ""
	}
	for _, again := range []bool{false, true} {
		uid := e.Create(controllers.ServiceAccounts, account("a")).(*corev1.ServiceAccount).UID
		e.Create(controllers.Secrets, tokenSecret("a", "", nil))
		if got := there(); got != uid {
			t.Fatalf("filled for %q, want %q", got, uid)
		}
		e.Delete(controllers.ServiceAccounts, "default", "a", "")
		if again {
			e.Create(controllers.ServiceAccounts, account("a"))
		}
		if got := there(); got != "" {
			t.Errorf("it stays, for %s", got)
		}
	}
}

// TestUnusedTokensRetire: what was made unasked, is old and has no user is marked, and deleted a year later.
func TestUnusedTokensRetire(t *testing.T) {
	const used, invalid = "kubernetes.io/legacy-token-last-used", "kubernetes.io/legacy-token-invalid-since"
	old := controllertest.Now.AddDate(-3, 0, 0)
	for _, c := range []struct {
		name   string
		change func(s *corev1.Secret, a *corev1.ServiceAccount, since *corev1.ConfigMap) // nil: none
		pod    bool
		told   string
	}{
		{"never used", nil, false, "mutate secrets s"},
		{"used long ago", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) { s.Labels[used] = "2024-12-31" }, false, "mutate secrets s"},
		{"used lately", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) { s.Labels[used] = "2025-01-03" }, false, ""},
		{"used who knows when", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) { s.Labels[used] = "x" }, false, ""},
		{"young", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) {
			s.CreationTimestamp = metav1.NewTime(controllertest.Now)
		}, false, ""},
		{"asked for", func(_ *corev1.Secret, a *corev1.ServiceAccount, _ *corev1.ConfigMap) { a.Secrets = nil }, false, ""},
		{"another account's", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) {
			s.Annotations[corev1.ServiceAccountUIDKey] = "before"
		}, false, ""},
		{"in a pod", nil, true, ""},
		{"marked lately", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) {
			s.Labels[invalid] = "2025-01-03"
		}, false, ""},
		{"marked long ago", func(s *corev1.Secret, _ *corev1.ServiceAccount, _ *corev1.ConfigMap) {
			s.Labels[invalid] = "2024-12-31"
		}, false, "delete secrets s"},
		{"not watched for long", func(_ *corev1.Secret, _ *corev1.ServiceAccount, m *corev1.ConfigMap) { m.Data["since"] = "2025-01-02" }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, a := tokenSecret("a", "a-uid", map[string]string{"token": "t"}), account("a", "s")
			s.CreationTimestamp, s.Labels = metav1.NewTime(old), map[string]string{}
			since := &corev1.ConfigMap{Data: map[string]string{"since": "2024-06-01"},
				ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking", Namespace: "kube-system"}}
			if c.change != nil {
				c.change(s, a, since)
			}
			have := []runtime.Object{s, a, since}
			if c.pod {
				have = append(have, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
					Spec: corev1.PodSpec{ImagePullSecrets: []corev1.LocalObjectReference{{Name: "s"}}}})
			}
			v := controllertest.NewView(t, have...)
			out := controllers.LegacyTokenCleaner().Step(v, []controllers.Key{{}})
			if got := strings.Join(v.Told(out), ", "); got != c.told {
				t.Fatalf("%q, want %q", got, c.told)
			}
			if strings.HasPrefix(c.told, "mutate") {
				if got := v.Changed(out, controllers.Secrets, "default", "s").(*corev1.Secret).Labels[invalid]; got != "2026-01-02" {
					t.Errorf("marked %q", got)
				}
			}
		})
	}
}
