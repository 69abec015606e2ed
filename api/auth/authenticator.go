package auth

// Who is asking. A request shows at most one of: a client certificate of the
// cluster's CA, or a bearer token (of the token file, a service account's, a
// bootstrap token, one of an OpenID Connect issuer). The kinds are tried in that order; the first that knows it
// decides. Credentials that nobody accepts are 401, and none at all is the
// user system:anonymous, who RBAC allows next to nothing.

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/websocket"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/api/kinds"
)

// Authenticator answers who sends a request. Set the fields before the first request; nil ones accept nobody.
type Authenticator struct {
	ClientCAs       *x509.CertPool
	TokenFile       authenticator.Token
	ServiceAccounts *ServiceAccounts
	OIDC            *OIDC        // nil: no login with OpenID Connect
	Reader          kinds.Reader // for bootstrap tokens, which are Secrets
	Anonymous       bool         // --anonymous-auth
	Now             func() time.Time

	verified sync.Map // sha256 of a client certificate -> *verifiedCert
}

type verifiedCert struct {
	until time.Time
	user  user.Info
}

// ReadTokenFile reads --token-auth-file: lines of token,user,uid,"group,group".
func ReadTokenFile(path string) (authenticator.Token, error) {
	t, err := tokenfile.NewCSV(path)
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return t, nil
}

// Authenticate gives the sender of req, or the 401 to answer with. The
// credentials are removed from req, so that nothing passes them on.
func (a *Authenticator) Authenticate(req *http.Request) (user.Info, error) {
	resp, ok, err := a.AuthenticateRequest(req)
	if err != nil || !ok {
		return nil, &unauthorized{apierrors.NewUnauthorized("Unauthorized"), err}
	}
	req.Header.Del("Authorization")
	for name := range req.Header {
		if name == "X-Remote-User" || name == "X-Remote-Uid" || name == "X-Remote-Group" || strings.HasPrefix(name, "X-Remote-Extra-") {
			req.Header.Del(name)
		}
	}
	return resp.User, nil
}

// unauthorized keeps why for the log; the client learns nothing of it.
type unauthorized struct {
	*apierrors.StatusError
	cause error
}

func (u *unauthorized) Unwrap() []error {
	if u.cause == nil {
		return []error{u.StatusError}
	}
	return []error{u.StatusError, u.cause}
}

// AuthenticateRequest implements authenticator.Request. The context may say for which audiences the token should be.
func (a *Authenticator) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	tokens := authenticator.TokenFunc(func(ctx context.Context, token string) (*authenticator.Response, bool, error) {
		audiences, _ := authenticator.AudiencesFrom(ctx)
		return a.AuthenticateToken(ctx, token, audiences)
	})
	var errs []error
	for _, try := range []authenticator.Request{
		authenticator.RequestFunc(a.certificate), bearertoken.New(tokens), websocket.NewProtocolAuthenticator(tokens),
	} {
		resp, ok, err := try.AuthenticateRequest(req)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if ok {
			return &authenticator.Response{User: withAuthenticated(resp.User), Audiences: resp.Audiences}, true, nil
		}
	}
	if len(errs) > 0 {
		return nil, false, errors.Join(errs...)
	}
	if a.Anonymous {
		audiences, _ := authenticator.AudiencesFrom(req.Context())
		anonymous := &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}
		return &authenticator.Response{User: anonymous, Audiences: audiences}, true, nil
	}
	return nil, false, nil
}

func withAuthenticated(u user.Info) user.Info {
	if u.GetName() == user.Anonymous || slices.Contains(u.GetGroups(), user.AllUnauthenticated) || slices.Contains(u.GetGroups(), user.AllAuthenticated) {
		return u
	}
	return &user.DefaultInfo{Name: u.GetName(), UID: u.GetUID(), Extra: u.GetExtra(),
		Groups: append(slices.Clone(u.GetGroups()), user.AllAuthenticated)}
}

// AuthenticateToken checks a bearer token for the given audiences; nil means the API server's own.
func (a *Authenticator) AuthenticateToken(ctx context.Context, token string, audiences []string) (*authenticator.Response, bool, error) {
	own := a.audiences()
	if audiences == nil {
		audiences = own
	}
	var errs []error
	if a.TokenFile != nil {
		// These tokens are for the API server and carry no audience of their own.
		if shared := authenticator.Audiences(own).Intersect(audiences); len(shared) > 0 || len(own) == 0 {
			if resp, ok, err := a.TokenFile.AuthenticateToken(ctx, token); ok {
				resp.Audiences = shared
				return resp, true, nil
			} else if err != nil {
				errs = append(errs, err)
			}
		}
	}
	if a.ServiceAccounts != nil {
		if resp, ok, err := a.ServiceAccounts.Authenticate(ctx, token, audiences); ok {
			return resp, true, nil
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	if shared := authenticator.Audiences(own).Intersect(audiences); a.Reader != nil && (len(shared) > 0 || len(own) == 0) {
		if u, err := a.bootstrapToken(ctx, token); err != nil {
			errs = append(errs, err)
		} else if u != nil {
			return &authenticator.Response{User: u, Audiences: shared}, true, nil
		}
	}
	if shared := authenticator.Audiences(own).Intersect(audiences); a.OIDC != nil && (len(shared) > 0 || len(own) == 0) {
		if resp, ok, err := a.OIDC.AuthenticateToken(ctx, token); ok {
			resp.Audiences = shared
			return resp, true, nil
		} else if err != nil {
			errs = append(errs, err)
		}
	}
	return nil, false, utilerrors.NewAggregate(errs)
}

func (a *Authenticator) audiences() []string {
	if a.ServiceAccounts == nil {
		return nil
	}
	return a.ServiceAccounts.Audiences
}

// certificate accepts a chain to ClientCAs. Checking one costs two ECDSA
// verifications, and a client sends the same one with each request, so what
// was verified is remembered until it ends.
func (a *Authenticator) certificate(req *http.Request) (*authenticator.Response, bool, error) {
	if a.ClientCAs == nil || req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	leaf := req.TLS.PeerCertificates[0]
	sum := sha256.Sum256(leaf.Raw)
	now := a.now()
	if known, ok := a.verified.Load(sum); ok && now.Before(known.(*verifiedCert).until) {
		return &authenticator.Response{User: known.(*verifiedCert).user}, true, nil
	}
	intermediates := x509.NewCertPool()
	for _, c := range req.TLS.PeerCertificates[1:] {
		intermediates.AddCert(c)
	}
	chains, err := leaf.Verify(x509.VerifyOptions{
		Roots: a.ClientCAs, Intermediates: intermediates, CurrentTime: now,
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return nil, false, fmt.Errorf("verify client certificate %s: %w", leaf.Subject, err)
	}
	if leaf.Subject.CommonName == "" {
		return nil, false, nil
	}
	uid, err := certificateUID(leaf)
	if err != nil {
		return nil, false, err
	}
	u := &user.DefaultInfo{Name: leaf.Subject.CommonName, UID: uid, Groups: leaf.Subject.Organization,
		Extra: map[string][]string{user.CredentialIDKey: {"X509SHA256=" + hex.EncodeToString(sum[:])}}}
	a.verified.Store(sum, &verifiedCert{until: chainEnd(chains[0]), user: u})
	return &authenticator.Response{User: u}, true, nil
}

func chainEnd(chain []*x509.Certificate) time.Time {
	end := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(end) {
			end = c.NotAfter
		}
	}
	return end
}

// certificateUID reads the subject attribute that Kubernetes reserved for the user's UID.
func certificateUID(c *x509.Certificate) (string, error) {
	uid := ""
	for _, n := range c.Subject.Names {
		if n.Type.String() != "1.3.6.1.4.1.57683.2" {
			continue
		}
		s, ok := n.Value.(string)
		if !ok || s == "" || uid != "" {
			return "", fmt.Errorf("verify client certificate %s: expected 1 UID, a string that is not empty", c.Subject)
		}
		uid = s
	}
	return uid, nil
}

func (a *Authenticator) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}
