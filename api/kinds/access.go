package kinds

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// Access is what a kind or an admission plugin may ask of the door (api/auth):
// the review kinds answer from it, the RBAC kinds check escalation with it.
type Access interface {
	authorizer.Authorizer
	authorizer.RuleResolver

	// Rules gives the RBAC rules that u holds in namespace ("": cluster wide). The error
	// lists bindings whose role is missing; the rules beside it are good.
	Rules(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error)
	// RoleRules gives the rules of the role that a binding in namespace refers to.
	RoleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error)

	// Audiences are those of the API server.
	Audiences() []string
	// AuthenticateToken checks a bearer token for the given audiences (nil: the API server's).
	AuthenticateToken(ctx context.Context, token string, audiences []string) (*authenticator.Response, bool, error)
	// IssueToken signs a service account token.
	IssueToken(t Token) (string, error)
}

// Token is what a service account token says.
type Token struct {
	Namespace string
	Account   Bound
	Pod       *Bound // at most one of Pod and Secret; Node beside Pod, or alone
	Secret    *Bound
	Node      *Bound
	Audiences []string
	ID        string // jti
	IssuedAt  time.Time
	Expires   time.Time
	WarnAfter time.Time // zero: not said
}

// Bound names an object that a token is bound to: the token ends with it.
type Bound struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// UserInfo is how the API writes a user down (reviews, audit).
func UserInfo(u user.Info) authenticationv1.UserInfo {
	out := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for k, v := range u.GetExtra() {
		if out.Extra == nil {
			out.Extra = map[string]authenticationv1.ExtraValue{}
		}
		out.Extra[k] = v
	}
	return out
}
