package authentication

import (
	"context"
	"errors"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"kuberow/api/kinds"
)

// tokenReview says whose a token is. Others (a webhook, an aggregated API
// server) ask it about tokens that were shown to them.
func tokenReview(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	review := in.(*authenticationv1.TokenReview)
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	access, err := accessOf(r)
	if err != nil {
		return nil, err
	}
	audiences := review.Spec.Audiences
	if len(audiences) == 0 {
		audiences = access.Audiences()
	}
	review.Status.Authenticated = false // the rest of a status that was sent stays, if nothing better is known
	resp, ok, err := access.AuthenticateToken(aboutOther{r.Ctx}, review.Spec.Token, audiences)
	if err != nil {
		// Real Kubernetes asks two doors; the first knows its own token only.
		review.Status.Error = utilerrors.NewAggregate([]error{errors.New("invalid bearer token"), err}).Error()
	}
	if !ok {
		return review, nil
	}
	if len(audiences) > 0 && len(authenticator.Audiences(audiences).Intersect(resp.Audiences)) == 0 {
		return nil, apierrors.NewInternalError(errors.New("error validating audiences"))
	}
	review.Status.Authenticated = true
	review.Status.User = kinds.UserInfo(resp.User)
	review.Status.Audiences = resp.Audiences
	return review, nil
}

// aboutOther is the context of a request as far as it bounds the work: what is said about the token, as a warning
// or in the audit log, would read as if it were about the asker's own.
type aboutOther struct{ context.Context }

// Value implements context.Context.
func (aboutOther) Value(any) any { return nil }

func accessOf(r *kinds.Context) (kinds.Access, error) {
	if r.Cluster == nil || r.Cluster.Access == nil {
		return nil, apierrors.NewInternalError(errors.New("authenticate token: there is no authenticator"))
	}
	return r.Cluster.Access, nil
}
