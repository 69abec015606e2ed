package auth

// An ID token (OpenID Connect Core 1.0, sections 2 and 3.1.3.7): three parts,
// of which the second is the claims. They are believed once the signature is by a key of the issuer.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// idToken has the claims that every token is judged by. Its name shows in an error text of upstream.
type idToken struct {
	Issuer    string    `json:"iss"`
	Subject   string    `json:"sub"`
	Audience  audience  `json:"aud"`
	Expiry    jsonTime  `json:"exp"`
	IssuedAt  jsonTime  `json:"iat"`
	NotBefore *jsonTime `json:"nbf"`
	Nonce     string    `json:"nonce"`
}

// audience is a list, or a single string.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(a))
}

// jsonTime is in seconds since 1970; a fraction is cut off.
type jsonTime struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *jsonTime) UnmarshalJSON(b []byte) error {
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	if whole, err := n.Int64(); err == nil {
		t.Time = time.Unix(whole, 0)
		return nil
	}
	seconds, err := n.Float64()
	t.Time = time.Unix(int64(seconds), 0)
	return err
}

func decodePart(part string, into any) error {
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// verify gives the claims of a token of the issuer as JSON, when it is signed, meant for us, and of now.
func (c *OIDC) verify(ctx context.Context, token string) ([]byte, error) {
	header, _, _ := strings.Cut(token, ".")
	var signed struct {
		Algorithm jose.SignatureAlgorithm `json:"alg"`
	}
	if err := decodePart(header, &signed); err != nil {
		return nil, fmt.Errorf("oidc: malformed jwt: %w", err)
	}
	if !slices.Contains(c.algs, signed.Algorithm) {
		return nil, fmt.Errorf("oidc: id token signed with unsupported algorithm, expected %q got %q", c.algs, signed.Algorithm)
	}
	jws, err := jose.ParseSigned(token, c.algs)
	if err != nil {
		return nil, fmt.Errorf("oidc: malformed jwt: %w", err)
	}
	payload, err := c.checkSignature(ctx, jws)
	if err != nil {
		return nil, fmt.Errorf("failed to verify signature: %w", err)
	}
	var t idToken
	if err := json.Unmarshal(payload, &t); err != nil {
		return nil, fmt.Errorf("oidc: failed to unmarshal claims: %w", err)
	}
	return payload, c.checkClaims(&t)
}

func (c *OIDC) checkSignature(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	keys, err := c.keysFor(ctx, jws.Signatures[0].Header.KeyID)
	if err != nil {
		return nil, fmt.Errorf("fetching keys %w", err)
	}
	for i := range keys {
		if payload, err := jws.Verify(&keys[i]); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("failed to verify id token signature")
}

// notBeforeLeeway is how far the issuer's clock may be ahead.
const notBeforeLeeway = time.Minute

func (c *OIDC) checkClaims(t *idToken) error {
	now := c.now()
	switch {
	case t.Issuer != c.o.IssuerURL:
		return fmt.Errorf("oidc: id token issued by a different provider, expected %q got %q", c.o.IssuerURL, t.Issuer)
	case !slices.Contains(t.Audience, c.o.ClientID):
		return fmt.Errorf("oidc: expected audience %q got %q", c.o.ClientID, []string(t.Audience))
	case t.Expiry.Before(now):
		return fmt.Errorf("oidc: token is expired (Token Expiry: %v)", t.Expiry)
	case t.NotBefore != nil && now.Add(notBeforeLeeway).Before(t.NotBefore.Time):
		return fmt.Errorf("oidc: current time %v before the nbf (not before) time: %v", now, t.NotBefore)
	}
	return nil
}
