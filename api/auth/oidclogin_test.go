package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"kuberow/api/auth"
)

// TestLoginWithOpenIDConnect: who the issuer's token names comes in; whatever is wrong with a token keeps him out.
func TestLoginWithOpenIDConnect(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	issuer := httptest.NewTLSServer(mux)
	t.Cleanup(issuer.Close)
	mux.HandleFunc(auth.OpenIDConfigPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	login, err := auth.NewOIDC(auth.OIDCOptions{
		IssuerURL: issuer.URL, ClientID: "kuberow", UsernameClaim: "sub", GroupsClaim: "groups", GroupsPrefix: "oidc:",
		RequiredClaims: map[string]string{"team": "a"}, CAFile: ca, SigningAlgs: []string{"ES256"},
	}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	token := func(signer *ecdsa.PrivateKey, change map[string]any) string {
		claims := map[string]any{
			"iss": issuer.URL, "aud": "kuberow", "sub": "jane", "groups": []string{"dev"}, "team": "a", "exp": now.Add(time.Hour).Unix(),
		}
		for k, v := range change {
			claims[k] = v
		}
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: signer, KeyID: "k"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := jwt.Signed(s).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for what, c := range map[string]struct {
		token string
		user  string // "" for nobody
		wrong string // in the error, "" for none
	}{
		"good":               {token(key, nil), issuer.URL + "#jane oidc:dev", ""},
		"one group":          {token(key, map[string]any{"groups": "ops"}), issuer.URL + "#jane oidc:ops", ""},
		"another's token":    {token(key, map[string]any{"iss": "https://other"}), "", ""},
		"another's key":      {token(other, nil), "", "oidc:"},
		"another's audience": {token(key, map[string]any{"aud": "x"}), "", "audience"},
		"ended":              {token(key, map[string]any{"exp": now.Add(-time.Hour).Unix()}), "", "expired"},
		"without an end":     {token(key, map[string]any{"exp": nil}), "", "failed to unmarshal claims"},
		"no team":            {token(key, map[string]any{"team": "b"}), "", "required claim"},
		"no name":            {token(key, map[string]any{"sub": nil}), issuer.URL + "# oidc:dev", ""},
		"a name of a number": {token(key, map[string]any{"sub": 5}), "", "failed to unmarshal claims"},
		"almost begun":       {token(key, map[string]any{"nbf": now.Add(30 * time.Second).Unix()}), issuer.URL + "#jane oidc:dev", ""},
		"not begun":          {token(key, map[string]any{"nbf": now.Add(90 * time.Second).Unix()}), "", "not before"},
		"unsigned":           {strings.Join(append(strings.Split(token(key, nil), ".")[:2], ""), "."), "", "failed to verify id token signature"},
		"no algorithm":       {"eyJhbGciOiJub25lIn0." + strings.Split(token(key, nil), ".")[1] + ".", "", `expected ["ES256"] got "none"`},
		"a group of numbers": {token(key, map[string]any{"groups": []int{1}}), "", "parse groups claim"},
		"no token":           {"abc", "", ""},
	} {
		resp, ok, err := login.AuthenticateToken(t.Context(), c.token)
		got := ""
		if ok {
			got = resp.User.GetName() + " " + strings.Join(resp.User.GetGroups(), ",")
		}
		if got != c.user || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}
