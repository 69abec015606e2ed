package auth

// Access joins the authorizer and the tokens to what kinds and plugins may ask (kinds.Access).

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"kuberow/api/kinds"
)

// Access implements kinds.Access.
type Access struct {
	*Authorizer
	Authenticator *Authenticator
}

var _ kinds.Access = Access{}

// Audiences are those of the API server.
func (a Access) Audiences() []string { return a.Authenticator.audiences() }

// AuthenticateToken checks a bearer token as if a request came with it: what a header cannot hold (spaces at an
// end, a second word) is not looked at, and who comes with nothing is anonymous.
func (a Access) AuthenticateToken(ctx context.Context, token string, audiences []string) (*authenticator.Response, bool, error) {
	req := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
	return a.Authenticator.AuthenticateRequest(req.WithContext(authenticator.WithAudiences(ctx, audiences)))
}

// IssueToken signs a service account token.
func (a Access) IssueToken(t kinds.Token) (string, error) {
	if a.Authenticator.ServiceAccounts == nil {
		return "", errors.New("issue token: this server signs no service account tokens")
	}
	return a.Authenticator.ServiceAccounts.Issue(t)
}
