package authentication

// POST .../serviceaccounts/NAME/token: a token for a service account.

import (
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/audit"
	"kuberow/api/kinds"
)

// A pod's mounted token asks for warnAfter seconds. It gets a year, and the
// number of seconds only as the time after which its use is to be warned of:
// old clients do not read the file again. Kubernetes does so since 1.21.
const (
	warnAfter   = 3607
	extendedTTL = 365 * 24 * 3600
	minimumTTL  = 600
)

var tokenKind = authenticationv1.SchemeGroupVersion.WithKind("TokenRequest")

// CreateToken serves the token subresource of service accounts.
func CreateToken(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	req := in.(*authenticationv1.TokenRequest)
	account, err := account(r, req)
	if err != nil {
		return nil, err
	}
	access, err := accessOf(r)
	if err != nil {
		return nil, err
	}
	complete(req, account, access.Audiences(), r.Now)
	if errs := validateTokenRequest(req); len(errs) > 0 {
		return nil, apierrors.NewInvalid(tokenKind.GroupKind(), "", errs)
	}
	token := kinds.Token{
		Namespace: account.Namespace, Account: kinds.Bound{Name: account.Name, UID: string(account.UID)},
		Audiences: req.Spec.Audiences, ID: string(r.UID()), IssuedAt: r.Now,
	}
	if err := bind(r, req, &token); err != nil {
		return nil, err
	}
	ttl := *req.Spec.ExpirationSeconds
	token.Expires = r.Now.Add(time.Duration(ttl) * time.Second)
	if token.Pod != nil && ttl == warnAfter && subset(req.Spec.Audiences, access.Audiences()) {
		token.WarnAfter, token.Expires = token.Expires, r.Now.Add(extendedTTL*time.Second)
	}
	text, err := access.IssueToken(token)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	audit.AddAuditAnnotation(r.Ctx, "authentication.kubernetes.io/issued-credential-id", "JTI="+token.ID)
	req.Status = authenticationv1.TokenRequestStatus{
		Token: text, ExpirationTimestamp: metav1.NewTime(r.Now.Add(time.Duration(ttl) * time.Second)),
	}
	return req, nil
}

// account finds the service account, whose names the body may repeat.
func account(r *kinds.Context, req *authenticationv1.TokenRequest) (*corev1.ServiceAccount, error) {
	for _, c := range []struct{ field, got, want, text string }{
		{"name", req.Name, r.Name, "must match the service account name if specified"},
		{"namespace", req.Namespace, r.Namespace, "must match the service account namespace if specified"},
	} {
		if c.got != "" && c.got != c.want {
			return nil, apierrors.NewInvalid(tokenKind.GroupKind(), r.Name, field.ErrorList{field.Invalid(field.NewPath("metadata", c.field), c.got, c.text)})
		}
	}
	o, err := r.Reader.Get(r.Ctx, schema.GroupResource{Resource: "serviceaccounts"}, r.Namespace, r.Name)
	if err != nil {
		return nil, err
	}
	account, ok := o.(*corev1.ServiceAccount)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("read service account %s/%s: it is a %T", r.Namespace, r.Name, o))
	}
	if req.UID != "" && req.UID != account.UID {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: tokenKind.Group, Resource: tokenKind.Kind}, r.Name,
			fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)", req.UID, account.UID))
	}
	return account, nil
}

// DefaultTokenRequest gives a token an hour.
func DefaultTokenRequest(in runtime.Object) {
	if req := in.(*authenticationv1.TokenRequest); req.Spec.ExpirationSeconds == nil {
		req.Spec.ExpirationSeconds = new(int64(3600))
	}
}

func complete(req *authenticationv1.TokenRequest, account *corev1.ServiceAccount, audiences []string, now time.Time) {
	if len(req.Spec.Audiences) == 0 {
		req.Spec.Audiences = audiences
	}
	req.Name, req.Namespace, req.UID = account.Name, account.Namespace, account.UID
	req.CreationTimestamp = metav1.NewTime(now)
	req.Status = authenticationv1.TokenRequestStatus{}
}

func validateTokenRequest(req *authenticationv1.TokenRequest) field.ErrorList {
	path := field.NewPath("spec", "expirationSeconds")
	var errs field.ErrorList
	if ttl := *req.Spec.ExpirationSeconds; ttl < minimumTTL {
		errs = append(errs, field.Invalid(path, ttl, "may not specify a duration less than 10 minutes"))
	} else if ttl > 1<<32 {
		errs = append(errs, field.Invalid(path, ttl, "may not specify a duration larger than 2^32 seconds"))
	}
	return errs
}

// bind ties the token to the object that the request names.
func bind(r *kinds.Context, req *authenticationv1.TokenRequest, token *kinds.Token) error {
	ref := req.Spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	var uid types.UID
	get := func(resource, namespace string) (metav1.Object, error) {
		if ref.Name == "" {
			return nil, apierrors.NewBadRequest("Name parameter required.")
		}
		o, err := r.Reader.Get(r.Ctx, schema.GroupResource{Resource: resource}, namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		return o.(metav1.Object), nil
	}
	switch gvk.GroupKind().String() {
	case "Pod":
		o, err := get("pods", r.Namespace)
		if err != nil {
			return err
		}
		pod := o.(*corev1.Pod)
		if pod.Spec.ServiceAccountName != r.Name {
			return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", r.Name))
		}
		uid = pod.UID
		token.Pod = &kinds.Bound{Name: pod.Name, UID: string(pod.UID)}
		if token.Node, err = nodeOf(r, pod); err != nil {
			return err
		}
	case "Node":
		o, err := get("nodes", "")
		if err != nil {
			return err
		}
		uid = o.GetUID()
		token.Node = &kinds.Bound{Name: o.GetName(), UID: string(uid)}
	case "Secret":
		o, err := get("secrets", r.Namespace)
		if err != nil {
			return err
		}
		uid = o.GetUID()
		token.Secret = &kinds.Bound{Name: o.GetName(), UID: string(uid)}
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk.String()))
	}
	if ref.UID != "" && ref.UID != uid {
		return apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID))
	}
	return nil
}

// nodeOf names a pod's node; one that is gone has only its name.
func nodeOf(r *kinds.Context, pod *corev1.Pod) (*kinds.Bound, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil
	}
	bound := &kinds.Bound{Name: pod.Spec.NodeName}
	o, err := r.Reader.Get(r.Ctx, schema.GroupResource{Resource: "nodes"}, "", pod.Spec.NodeName)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return nil, apierrors.NewInternalError(err)
	default:
		bound.UID = string(o.(metav1.Object).GetUID())
	}
	return bound, nil
}

func subset(part, all []string) bool {
	for _, p := range part {
		if !slices.Contains(all, p) {
			return false
		}
	}
	return true
}
