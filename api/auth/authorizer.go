package auth

// The chain of authorizers, as --authorization-mode lists them. Group
// system:masters is let in before any of them: it is how a cluster whose RBAC
// objects are broken gets repaired. Each says Allow, Deny, or no opinion; the
// first opinion counts, and none means 403.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

// The modes of --authorization-mode.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeNode        = "Node"
	ModeRBAC        = "RBAC"
)

// Authorizer is the chain.
type Authorizer struct {
	unconditional
	RBAC  *RBAC // also there when the mode is not on: escalation checks read its rules
	chain []link
}

type link struct {
	name string // as it leads the reason of a refusal
	authorizer.Authorizer
	rules authorizer.RuleResolver
}

// NewAuthorizer builds the chain of the given modes over the store.
func NewAuthorizer(modes []string, source Source, reader kinds.Reader) (*Authorizer, error) {
	z := &Authorizer{RBAC: NewRBAC(source)}
	z.unconditional.authorize = z.Authorize
	for i, mode := range modes {
		if slices.Contains(modes[:i], mode) {
			return nil, fmt.Errorf("--authorization-mode=%s: %s stands there twice", strings.Join(modes, ","), mode)
		}
		l := link{name: strings.ToLower(mode)}
		switch mode {
		case ModeRBAC:
			l.Authorizer, l.rules = z.RBAC, z.RBAC
		case ModeNode:
			n := NewNode(reader)
			l.Authorizer, l.rules = n, n
		case ModeAlwaysAllow:
			l.Authorizer, l.rules = constant(authorizer.DecisionAllow, ""), everything{}
		case ModeAlwaysDeny:
			l.Authorizer, l.rules = constant(authorizer.DecisionNoOpinion, "Everything is forbidden."), nothing{}
		default:
			return nil, fmt.Errorf("--authorization-mode=%s: %q is none of %s, %s, %s, %s", strings.Join(modes, ","), mode, ModeNode, ModeRBAC, ModeAlwaysAllow, ModeAlwaysDeny)
		}
		z.chain = append(z.chain, l)
	}
	if len(z.chain) == 0 {
		return nil, errors.New("--authorization-mode is empty: say Node,RBAC")
	}
	return z, nil
}

// Authorize asks the links in turn.
func (z *Authorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if u := a.GetUser(); u == nil {
		return authorizer.DecisionNoOpinion, "", errors.New("authorize: no user on the request")
	} else if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	var reasons []string
	var errs []error
	for _, l := range z.chain {
		decision, reason, err := l.Authorize(ctx, a)
		if decision != authorizer.DecisionNoOpinion {
			return decision, reason, err
		}
		if reason != "" {
			reasons = append(reasons, l.name+": "+reason)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return authorizer.DecisionNoOpinion, strings.Join(reasons, "\n"), errors.Join(errs...)
}

// RulesFor joins what the links know of u.
func (z *Authorizer) RulesFor(ctx context.Context, u user.Info, namespace string) (resource []authorizer.ResourceRuleInfo, other []authorizer.NonResourceRuleInfo, incomplete bool, err error) {
	var errs []error
	for _, l := range z.chain {
		r, o, partial, err := l.rules.RulesFor(ctx, u, namespace)
		resource, other, incomplete = append(resource, r...), append(other, o...), incomplete || partial
		if err != nil {
			errs = append(errs, err)
		}
	}
	return resource, other, incomplete, errors.Join(errs...)
}

// Rules and RoleRules are RBAC's (kinds.Access).
func (z *Authorizer) Rules(ctx context.Context, u user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	return z.RBAC.Rules(ctx, u, namespace)
}

// RoleRules gives the rules of the role that a binding refers to.
func (z *Authorizer) RoleRules(ctx context.Context, ref rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	return z.RBAC.RoleRules(ctx, ref, namespace)
}

// Check is Authorize for the pipeline: nil, or the error to answer with.
func (z *Authorizer) Check(ctx context.Context, a authorizer.Attributes) error {
	decision, reason, err := z.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return kinds.Forbidden(a, reason)
}
