package auth

// Access joins the authorizer and the tokens to what kinds and plugins may ask (kinds.Access).

import (
	"context"
	"errors"

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

// AuthenticateToken checks a bearer token.
func (a Access) AuthenticateToken(ctx context.Context, token string, audiences []string) (*authenticator.Response, bool, error) {
	resp, ok, err := a.Authenticator.AuthenticateToken(ctx, token, audiences)
	if ok {
		resp = &authenticator.Response{User: withAuthenticated(resp.User), Audiences: resp.Audiences}
	}
	return resp, ok, err
}

// IssueToken signs a service account token.
func (a Access) IssueToken(t kinds.Token) (string, error) {
	if a.Authenticator.ServiceAccounts == nil {
		return "", errors.New("issue token: this server signs no service account tokens")
	}
	return a.Authenticator.ServiceAccounts.Issue(t)
}
