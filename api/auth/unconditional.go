package auth

// What every authorizer here has in common: none of them hands out conditions
// to be evaluated later (an alpha of Kubernetes' authorizer interface).

import (
	"context"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// unconditional completes the interface of an authorizer that only knows Authorize.
type unconditional struct {
	authorize func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error)
}

// ConditionsAwareAuthorize wraps the plain decision.
func (u unconditional) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(u.authorize(ctx, a))
}

// EvaluateConditions refuses: none are handed out.
func (unconditional) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "", authorizer.ErrorConditionEvaluationNotSupported
}

func constant(d authorizer.Decision, reason string) authorizer.Authorizer {
	return authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
		return d, reason, nil
	})
}

// everything and nothing are the rules of AlwaysAllow and AlwaysDeny.
type (
	everything struct{}
	nothing    struct{}
)

func (everything) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	all := []string{"*"}
	return []authorizer.ResourceRuleInfo{&authorizer.DefaultResourceRuleInfo{Verbs: all, APIGroups: all, Resources: all}},
		[]authorizer.NonResourceRuleInfo{&authorizer.DefaultNonResourceRuleInfo{Verbs: all, NonResourceURLs: all}}, false, nil
}

func (nothing) RulesFor(context.Context, user.Info, string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return nil, nil, false, nil
}
