package auth

// Service account tokens: JWTs signed with pki/sa.key, issued by TokenRequest
// (api/kinds/authentication) and to pods. A token says which service account
// it is for, for which audiences, until when, and which pod, node or Secret it
// is bound to. It is good while the signature, the time and the audience fit
// and while all of those objects still live with the UIDs it names, which is
// looked up at each request: deleting a pod ends its token at once.
//
// Tokens without an end, which are kept in Secrets, are in secrettoken.go.

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"kuberow/api/kinds"
)

// ServiceAccounts signs and checks tokens.
type ServiceAccounts struct {
	Issuer    string   // --service-account-issuer
	Audiences []string // of the API server; the issuer unless set
	Reader    kinds.Reader
	Client    kinds.Client // notes the use of tokens in Secrets
	Logger    *slog.Logger
	Now       func() time.Time

	key    *ecdsa.PrivateKey
	keyID  string
	signer jose.Signer
}

// NewServiceAccounts signs with key. Set Reader and Client before the first token is checked.
func NewServiceAccounts(key *ecdsa.PrivateKey, issuer string) (*ServiceAccounts, error) {
	id, err := keyID(key.Public())
	if err != nil {
		return nil, err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256,
		Key: &jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}}, nil)
	if err != nil {
		return nil, fmt.Errorf("make token signer: %w", err)
	}
	return &ServiceAccounts{Issuer: issuer, Audiences: []string{issuer}, Logger: slog.Default(), Now: time.Now, key: key, keyID: id, signer: signer}, nil
}

// keyID is Kubernetes': the hash of the public key.
func keyID(public crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return "", fmt.Errorf("encode public key: %w", err)
	}
	sum := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(sum[:]), nil
}

// claims are those of Kubernetes, under one name. Audience stands before the one
// in jwt.Claims, which would be written as a string when there is only one.
type claims struct {
	jwt.Claims
	Audience   []string         `json:"aud,omitempty"`
	Kubernetes kubernetesClaims `json:"kubernetes.io"`
}

type kubernetesClaims struct {
	Namespace      string           `json:"namespace,omitempty"`
	ServiceAccount kinds.Bound      `json:"serviceaccount"`
	Pod            *kinds.Bound     `json:"pod,omitempty"`
	Secret         *kinds.Bound     `json:"secret,omitempty"`
	Node           *kinds.Bound     `json:"node,omitempty"`
	WarnAfter      *jwt.NumericDate `json:"warnafter,omitempty"`
}

// Issue signs a token.
func (s *ServiceAccounts) Issue(t kinds.Token) (string, error) {
	c := claims{
		Claims: jwt.Claims{
			Issuer: s.Issuer, Subject: serviceaccount.MakeUsername(t.Namespace, t.Account.Name), ID: t.ID,
			IssuedAt: jwt.NewNumericDate(t.IssuedAt), NotBefore: jwt.NewNumericDate(t.IssuedAt), Expiry: jwt.NewNumericDate(t.Expires),
		},
		Audience:   t.Audiences,
		Kubernetes: kubernetesClaims{Namespace: t.Namespace, ServiceAccount: t.Account, Pod: t.Pod, Secret: t.Secret, Node: t.Node},
	}
	if !t.WarnAfter.IsZero() {
		c.Kubernetes.WarnAfter = jwt.NewNumericDate(t.WarnAfter)
	}
	text, err := jwt.Signed(s.signer).Claims(c).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	return text, nil
}

// Authenticate has no opinion on tokens of other issuers.
func (s *ServiceAccounts) Authenticate(ctx context.Context, token string, audiences []string) (*authenticator.Response, bool, error) {
	var public jwt.Claims
	var ok bool
	var err error
	var validate func() (*serviceaccount.ServiceAccountInfo, error)
	switch issuerOf(token) {
	case s.Issuer:
		var private struct {
			Kubernetes kubernetesClaims `json:"kubernetes.io"`
		}
		ok, err = s.verify(token, &public, &private)
		validate = func() (*serviceaccount.ServiceAccountInfo, error) {
			return s.validate(ctx, &public, &private.Kubernetes)
		}
	case secretTokenIssuer:
		var private secretClaims
		ok, err = s.verify(token, &public, &private)
		validate = func() (*serviceaccount.ServiceAccountInfo, error) {
			return s.validateInSecret(ctx, token, public.Subject, &private)
		}
	}
	if !ok {
		return nil, false, err
	}
	meant := authenticator.Audiences(public.Audience)
	if len(meant) == 0 { // for this API server, as those in Secrets are
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token", public.Subject)
		meant = s.Audiences
	}
	shared := meant.Intersect(audiences)
	if len(shared) == 0 {
		return nil, false, fmt.Errorf("token audiences %q is invalid for the target audiences %q", []string(meant), audiences)
	}
	info, err := validate()
	if err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: info.UserInfo(), Audiences: shared}, true, nil
}

// verify checks the signature and reads the claims. What is no token at all is no error.
func (s *ServiceAccounts) verify(token string, into ...any) (bool, error) {
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return false, nil
	}
	if len(parsed.Headers) > 0 && parsed.Headers[0].KeyID != "" && parsed.Headers[0].KeyID != s.keyID {
		return false, errors.New("invalid signature, no keys found")
	}
	if err := parsed.Claims(s.key.Public(), into...); err != nil {
		return false, err
	}
	return true, nil
}

// issuerOf looks at the issuer before any cryptography; "" when it is no token.
func issuerOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &c) != nil {
		return ""
	}
	return c.Issuer
}

// validate checks the time and that everything the token is bound to still lives.
func (s *ServiceAccounts) validate(ctx context.Context, c *jwt.Claims, k *kubernetesClaims) (*serviceaccount.ServiceAccountInfo, error) {
	now := s.Now()
	switch err := c.Validate(jwt.Expected{Time: now}); err {
	case nil:
	case jwt.ErrExpired:
		return nil, errors.New("service account token has expired")
	case jwt.ErrNotValidYet:
		return nil, errors.New("service account token is not valid yet")
	case jwt.ErrIssuedInTheFuture:
		return nil, errors.New("service account token is issued in the future")
	default:
		return nil, fmt.Errorf("service account token claims could not be validated: %w", err)
	}
	check := living{ctx: ctx, reader: s.Reader, deletedBefore: now.Add(-jwt.DefaultLeeway)}
	if err := check.that("serviceaccounts", k.Namespace, k.ServiceAccount); err != nil {
		return nil, err
	}
	info := &serviceaccount.ServiceAccountInfo{Namespace: k.Namespace, Name: k.ServiceAccount.Name, UID: k.ServiceAccount.UID}
	if c.ID != "" {
		info.CredentialID = "JTI=" + c.ID
	}
	if k.Secret != nil {
		if err := check.that("secrets", k.Namespace, *k.Secret); err != nil {
			return nil, err
		}
	}
	if k.Pod != nil {
		if err := check.that("pods", k.Namespace, *k.Pod); err != nil {
			return nil, err
		}
		info.PodName, info.PodUID = k.Pod.Name, k.Pod.UID
	}
	if k.Node != nil {
		// Beside a pod the node is information; alone the token is bound to it.
		if k.Pod == nil {
			if err := check.that("nodes", "", *k.Node); err != nil {
				return nil, err
			}
		}
		info.NodeName, info.NodeUID = k.Node.Name, k.Node.UID
	}
	return info, nil
}

var errInvalidated = errors.New("service account token has been invalidated")

// mismatches says of what was deleted and made again that it is not what a token meant.
var mismatches = map[string]string{
	"serviceaccounts": "service account UID (%s) does not match claim (%s)",
	"secrets":         "secret UID (%s) does not match service account secret ref claim (%s)",
	"pods":            "pod UID (%s) does not match service account pod ref claim (%s)",
	"nodes":           "node UID (%s) does not match service account node ref claim (%s)",
}

// living checks that objects exist and are those that a token meant.
type living struct {
	ctx           context.Context
	reader        kinds.Reader
	deletedBefore time.Time
}

func (l living) that(resource, namespace string, b kinds.Bound) error {
	o, err := l.reader.Get(l.ctx, schema.GroupResource{Resource: resource}, namespace, b.Name)
	if err != nil {
		if resource == "serviceaccounts" {
			return err
		}
		return errInvalidated
	}
	m, ok := o.(metav1.Object)
	if !ok {
		return fmt.Errorf("check token: %s %s/%s is no API object", resource, namespace, b.Name)
	}
	if string(m.GetUID()) != b.UID {
		return fmt.Errorf(mismatches[resource], m.GetUID(), b.UID)
	}
	if d := m.GetDeletionTimestamp(); d != nil && d.Time.Before(l.deletedBefore) {
		if resource == "serviceaccounts" {
			return fmt.Errorf("service account %s/%s has been deleted", namespace, b.Name)
		}
		return errInvalidated
	}
	return nil
}
