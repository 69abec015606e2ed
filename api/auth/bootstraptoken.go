package auth

// Bootstrap tokens: "abcdef.0123456789abcdef" is the Secret
// kube-system/bootstrap-token-abcdef of type bootstrap.kubernetes.io/token. A
// machine that wants to become a node shows one to ask for its certificate.

import (
	"context"
	"crypto/subtle"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	bootstrapGroup  = "system:bootstrappers"
	bootstrapUser   = "system:bootstrap:"
	bootstrapType   = corev1.SecretType("bootstrap.kubernetes.io/token")
	bootstrapPrefix = "bootstrap-token-"
)

var (
	bootstrapTokenForm = regexp.MustCompile(`^([a-z0-9]{6})\.([a-z0-9]{16})$`)
	bootstrapGroupForm = regexp.MustCompile(`^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$`)
)

// bootstrapToken gives nil for what is not a valid bootstrap token.
func (a *Authenticator) bootstrapToken(ctx context.Context, token string) (user.Info, error) {
	parts := bootstrapTokenForm.FindStringSubmatch(token)
	if parts == nil {
		return nil, nil
	}
	o, err := a.Reader.Get(ctx, schema.GroupResource{Resource: "secrets"}, metav1.NamespaceSystem, bootstrapPrefix+parts[1])
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read bootstrap token: %w", err)
	}
	secret, ok := o.(*corev1.Secret)
	if !ok || secret.DeletionTimestamp != nil || secret.Type != bootstrapType ||
		subtle.ConstantTimeCompare(secret.Data["token-secret"], []byte(parts[2])) != 1 ||
		string(secret.Data["token-id"]) != parts[1] ||
		string(secret.Data["usage-bootstrap-authentication"]) != "true" ||
		bootstrapExpired(secret, a.now()) {
		return nil, nil
	}
	groups := []string{bootstrapGroup}
	for g := range strings.SplitSeq(string(secret.Data["auth-extra-groups"]), ",") {
		switch {
		case g == "":
		case !bootstrapGroupForm.MatchString(g):
			return nil, nil
		default:
			groups = append(groups, g)
		}
	}
	slices.Sort(groups)
	return &user.DefaultInfo{Name: bootstrapUser + parts[1], Groups: slices.Compact(groups)}, nil
}

// bootstrapExpired: a time that cannot be read counts as past.
func bootstrapExpired(secret *corev1.Secret, now time.Time) bool {
	text := string(secret.Data["expiration"])
	if text == "" {
		return false
	}
	end, err := time.Parse(time.RFC3339, text)
	return err != nil || now.After(end)
}
