package auth

// The two documents by which others can check service account tokens without
// asking this server: /.well-known/openid-configuration and the public keys.
// RBAC lets service accounts read them (system:service-account-issuer-discovery).

import (
	"encoding/json"
	"fmt"
	"net/http"

	jose "github.com/go-jose/go-jose/v4"

	"kuberow/api/wire"
)

// Paths of the documents.
const (
	OpenIDConfigPath = "/.well-known/openid-configuration"
	JWKSPath         = "/openid/v1/jwks"
)

// discoveryDocument has the fields that OpenID Connect Discovery requires of an issuer that only signs.
type discoveryDocument struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	SigningAlgs   []string `json:"id_token_signing_alg_values_supported"`
}

// ServeOpenIDConfig answers OpenIDConfigPath; external gives the host:port that
// clients reach this server by, which is known once it listens.
func (s *ServiceAccounts) ServeOpenIDConfig(external func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		serveDocument("application/json", discoveryDocument{
			Issuer: s.Issuer, JWKSURI: fmt.Sprintf("https://%s%s", external(), JWKSPath),
			ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"}, SigningAlgs: []string{string(jose.ES256)},
		})(w, r)
	}
}

// ServeJWKS answers JWKSPath.
func (s *ServiceAccounts) ServeJWKS() http.HandlerFunc {
	return serveDocument("application/jwk-set+json", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: s.key.Public(), KeyID: s.keyID, Algorithm: string(jose.ES256), Use: "sig"},
	}})
}

func serveDocument(mediaType string, document any) http.HandlerFunc {
	return wire.Route(func(w http.ResponseWriter, _ *http.Request) {
		data, err := json.Marshal(document)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", "public, max-age=3600")
		w.Write(data)
	}, mediaType)
}
