package authentication

import (
	"context"
	"errors"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/warning"
	"kuberow/api/kinds"
)

// door signs by remembering.
type door struct {
	kinds.Access
	signed *kinds.Token
}

func (door) Audiences() []string { return []string{"api"} }

func (d door) IssueToken(t kinds.Token) (string, error) {
	*d.signed = t
	return "signed", nil
}

type objects map[string]runtime.Object

func (o objects) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	if obj := o[gr.Resource+"/"+namespace+"/"+name]; obj != nil {
		return obj, nil
	}
	return nil, apierrors.NewNotFound(gr, name)
}

func (objects) List(context.Context, schema.GroupResource, string, labels.Selector) ([]runtime.Object, error) {
	return nil, nil
}

func request(t *testing.T, req *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, kinds.Token, error) {
	t.Helper()
	var signed kinds.Token
	DefaultTokenRequest(req)
	out, err := CreateToken(&kinds.Context{Ctx: t.Context(), Namespace: "ns", Name: "sa", Now: time.Unix(1e9, 0), UID: func() types.UID { return "jti" },
		Cluster: &kinds.Cluster{Access: door{signed: &signed}}, Reader: objects{
			"serviceaccounts/ns/sa": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "sa", UID: "u-sa"}},
			"pods/ns/p":             &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u-p"}, Spec: corev1.PodSpec{ServiceAccountName: "sa", NodeName: "n"}},
			"pods/ns/other":         &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "u-o"}, Spec: corev1.PodSpec{ServiceAccountName: "x"}},
		}}, req)
	if err != nil {
		return nil, signed, err
	}
	return out.(*authenticationv1.TokenRequest), signed, nil
}

func bound(kind, name string, seconds int64) *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: name}}}
}

func TestTokenRequestIsCompleted(t *testing.T) {
	out, signed, err := request(t, &authenticationv1.TokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if out.Name != "sa" || out.Namespace != "ns" || out.UID != "u-sa" || *out.Spec.ExpirationSeconds != 3600 || out.Spec.Audiences[0] != "api" || out.Status.Token != "signed" {
		t.Errorf("%+v", out)
	}
	if signed.Account != (kinds.Bound{Name: "sa", UID: "u-sa"}) || signed.ID != "jti" || signed.Expires.Sub(signed.IssuedAt) != time.Hour || signed.Pod != nil {
		t.Errorf("signed %+v", signed)
	}
}

// A pod's mounted token lives a year and warns after the time that was asked for.
func TestMountedTokenIsExtended(t *testing.T) {
	out, signed, err := request(t, bound("Pod", "p", warnAfter))
	if err != nil {
		t.Fatal(err)
	}
	if signed.Expires.Sub(signed.IssuedAt) != extendedTTL*time.Second || signed.WarnAfter.Sub(signed.IssuedAt) != warnAfter*time.Second {
		t.Errorf("expires %v, warns %v", signed.Expires, signed.WarnAfter)
	}
	if out.Status.ExpirationTimestamp.Sub(signed.IssuedAt) != warnAfter*time.Second {
		t.Errorf("the client hears %v", out.Status.ExpirationTimestamp)
	}
	if signed.Pod == nil || signed.Pod.UID != "u-p" || signed.Node == nil || *signed.Node != (kinds.Bound{Name: "n"}) {
		t.Errorf("bound to %v on %v", signed.Pod, signed.Node)
	}
}

func TestBadTokenRequests(t *testing.T) {
	short := bound("Pod", "p", 5)
	short.Spec.BoundObjectRef = nil
	old := bound("Pod", "p", 3600)
	old.Spec.BoundObjectRef.UID = "before"
	for want, req := range map[string]*authenticationv1.TokenRequest{
		`TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes`: short,
		`pods "gone" not found`: bound("Pod", "gone", 3600),
		`cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.`:                                                                                     bound("Pod", "other", 3600),
		`cannot bind token to object of type /v1, Kind=ConfigMap`:                                                                                                                          bound("ConfigMap", "c", 3600),
		`Operation cannot be fulfilled on Pod "p": the UID in the bound object reference (before) does not match the UID in record. The object might have been deleted and then recreated`: old,
		`Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request (x) does not match the UID of the service account (u-sa)`:                  {ObjectMeta: metav1.ObjectMeta{UID: "x"}},
		`TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified`:                                          {ObjectMeta: metav1.ObjectMeta{Name: "x"}},
	} {
		if _, _, err := request(t, req); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// refusing is a door that says why, and to the asker only.
type refusing struct {
	kinds.Access
	err error
}

func (refusing) Audiences() []string { return []string{"api"} }

func (r refusing) AuthenticateToken(ctx context.Context, _ string, _ []string) (*authenticator.Response, bool, error) {
	warning.AddWarning(ctx, "", "not the asker's")
	return nil, false, r.err
}

type noWarning struct{ *testing.T }

func (t noWarning) AddWarning(_, text string) { t.Errorf("warned: %s", text) }

// TestReviewsSayWhyNot with upstream's words, and warn nobody.
func TestReviewsSayWhyNot(t *testing.T) {
	for want, err := range map[string]error{
		"":                     nil, // nothing that reads as a token
		"invalid bearer token": errors.New("invalid bearer token"),
		"[invalid bearer token, Token has been invalidated]": errors.New("Token has been invalidated"),
	} {
		out, failed := tokenReview(&kinds.Context{
			Ctx: warning.WithWarningRecorder(t.Context(), noWarning{t}), Cluster: &kinds.Cluster{Access: refusing{err: err}},
		}, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t"}})
		if failed != nil {
			t.Fatal(failed)
		}
		if got := out.(*authenticationv1.TokenReview).Status; got.Error != want || got.Authenticated {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
