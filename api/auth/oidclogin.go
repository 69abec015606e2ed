package auth

// Login with OpenID Connect: a bearer token that an outside issuer signed names
// the user and his groups. The issuer's keys are fetched when the first token
// comes, and again when a token names a key that is not among them, but not
// more often than every ten seconds: a flood of made-up tokens must not become one of requests.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// OIDCOptions are the flags --oidc-*; IssuerURL "" is no login of this kind.
type OIDCOptions struct {
	IssuerURL, ClientID           string
	UsernameClaim, UsernamePrefix string // "sub"; "" is the issuer's URL and #, but nothing for email; "-" is nothing
	GroupsClaim, GroupsPrefix     string
	RequiredClaims                map[string]string
	CAFile                        string
	SigningAlgs                   []string // RS256
}

// OIDC checks tokens of one issuer.
type OIDC struct {
	o      OIDCOptions
	algs   []jose.SignatureAlgorithm
	client *http.Client
	now    func() time.Time

	mu    sync.Mutex
	keys  jose.JSONWebKeySet // guarded by mu
	asked time.Time          // when they were fetched last; guarded by mu
}

const (
	oidcTimeout  = 10 * time.Second
	oidcPatience = 10 * time.Second // between two fetches
	oidcDocument = 1 << 20          // bytes of a document, at most
)

// NewOIDC checks the options; nothing is fetched yet.
func NewOIDC(o OIDCOptions, now func() time.Time) (*OIDC, error) {
	if !strings.HasPrefix(o.IssuerURL, "https://") {
		return nil, fmt.Errorf("--oidc-issuer-url=%s: give a URL that begins with https://", o.IssuerURL)
	}
	if o.ClientID == "" {
		return nil, errors.New("--oidc-client-id is missing: give the audience of the issuer's tokens")
	}
	c := &OIDC{o: o, now: now, client: &http.Client{Timeout: oidcTimeout}}
	for _, name := range o.SigningAlgs {
		if !slices.Contains([]string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512", "PS256", "PS384", "PS512"}, name) {
			return nil, fmt.Errorf("--oidc-signing-algs: %q is not supported", name)
		}
		c.algs = append(c.algs, jose.SignatureAlgorithm(name))
	}
	if c.o.UsernamePrefix == "" && c.o.UsernameClaim != "email" {
		c.o.UsernamePrefix = o.IssuerURL + "#"
	}
	if c.o.UsernamePrefix == "-" {
		c.o.UsernamePrefix = ""
	}
	if o.CAFile != "" {
		text, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--oidc-ca-file=%s: there is no certificate in it", o.CAFile)
		}
		c.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, Proxy: http.ProxyFromEnvironment}
	}
	return c, nil
}

// AuthenticateToken implements authenticator.Token. Tokens of other issuers are none of its business.
func (c *OIDC) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if issuerOf(token) != c.o.IssuerURL {
		return nil, false, nil
	}
	payload, err := c.verify(ctx, token)
	if err != nil {
		return nil, false, fmt.Errorf("oidc: verify token: %w", err)
	}
	all := oidcClaims{}
	if err := json.Unmarshal(payload, &all); err != nil {
		return nil, false, fmt.Errorf("oidc: parse claims: %w", err)
	}
	u, err := c.user(all)
	if err != nil {
		return nil, false, fmt.Errorf("oidc: %w", err)
	}
	return &authenticator.Response{User: u}, true, nil
}

// keysFor gives the keys of an id (all when there is none), fetched when they are not known.
func (c *OIDC) keysFor(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	find := func() []jose.JSONWebKey {
		if id == "" {
			return c.keys.Keys
		}
		return c.keys.Key(id)
	}
	if found := find(); len(found) > 0 || c.now().Sub(c.asked) < oidcPatience {
		return found, nil
	}
	c.asked = c.now()
	var provider struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := c.fetch(ctx, strings.TrimSuffix(c.o.IssuerURL, "/")+OpenIDConfigPath, &provider); err != nil {
		return nil, err
	}
	if provider.Issuer != c.o.IssuerURL {
		return nil, fmt.Errorf("the issuer calls itself %q, not %q", provider.Issuer, c.o.IssuerURL)
	}
	var keys jose.JSONWebKeySet
	if err := c.fetch(ctx, provider.JWKSURI, &keys); err != nil {
		return nil, err
	}
	c.keys = keys
	return find(), nil
}

func (c *OIDC) fetch(ctx context.Context, url string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the issuer: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("ask the issuer: %s says %s", url, resp.Status)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, oidcDocument)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", url, err)
	}
	return nil
}

// oidcClaims are a token's, by name.
type oidcClaims map[string]json.RawMessage

func (c oidcClaims) read(name string, into any) error {
	text, there := c[name]
	if !there {
		return errors.New("claim not present")
	}
	return json.Unmarshal(text, into)
}

// user reads who the claims name.
func (c *OIDC) user(all oidcClaims) (user.Info, error) {
	name, err := c.username(all)
	if err != nil {
		return nil, err
	}
	info := &user.DefaultInfo{Name: name}
	if info.Groups, err = c.groups(all); err != nil {
		return nil, err
	}
	var id string
	if all.read("jti", &id) == nil && id != "" {
		info.Extra = map[string][]string{user.CredentialIDKey: {"JTI=" + id}}
	}
	for _, claim := range slices.Sorted(maps.Keys(c.o.RequiredClaims)) {
		if _, there := all[claim]; !there {
			return nil, fmt.Errorf("required claim %s not present in ID token", claim)
		}
		var got string
		if err := all.read(claim, &got); err != nil {
			return nil, fmt.Errorf("parse claim %s: %w", claim, err)
		}
		if want := c.o.RequiredClaims[claim]; got != want {
			return nil, fmt.Errorf("required claim %s value does not match. Got = %s, want = %s", claim, got, want)
		}
	}
	return info, nil
}

func (c *OIDC) username(all oidcClaims) (string, error) {
	var name string
	if err := all.read(c.o.UsernameClaim, &name); err != nil {
		return "", fmt.Errorf("parse username claims %q: %w", c.o.UsernameClaim, err)
	}
	if _, said := all["email_verified"]; said && c.o.UsernameClaim == "email" {
		verified := false
		if err := all.read("email_verified", &verified); err != nil {
			return "", fmt.Errorf("parse 'email_verified' claim: %w", err)
		}
		if !verified {
			return "", errors.New("email not verified")
		}
	}
	return c.o.UsernamePrefix + name, nil
}

// groups are a list, or a single string.
func (c *OIDC) groups(all oidcClaims) ([]string, error) {
	if _, there := all[c.o.GroupsClaim]; !there || c.o.GroupsClaim == "" {
		return nil, nil
	}
	var groups []string
	if all.read(c.o.GroupsClaim, &groups) != nil {
		var one string
		if err := all.read(c.o.GroupsClaim, &one); err != nil {
			return nil, fmt.Errorf("parse groups claim %q: %w", c.o.GroupsClaim, err)
		}
		groups = []string{one}
	}
	for i, g := range groups {
		groups[i] = c.o.GroupsPrefix + g
	}
	return groups, nil
}
