package auth

// Impersonation: a user acts as another by headers (kubectl --as). Since 1.36
// there are two ways to be allowed to. The old one is the verb impersonate on
// each thing that is claimed: the user or service account, each group, each
// extra value, the UID. The constrained one is tried first, and asks for two
// narrower rights: impersonate:MODE on the identity, and
// impersonate-on:MODE:VERB on the very request. MODE says what is imitated:
// associated-node (a pod's service account acts as the node it runs on),
// arbitrary-node, serviceaccount or user-info.
//
// When every mode refuses, the first refusal is the answer.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/utils/lru"
	"kuberow/api/kinds"
)

// Impersonator remembers by which mode each sender was last let through, which
// is tried first the next time: so who has the old right alone is asked once.
type Impersonator struct{ last *lru.Cache }

// rememberedSenders bounds what an Impersonator remembers.
const rememberedSenders = 10_000

// NewImpersonator remembers nobody yet.
func NewImpersonator() *Impersonator { return &Impersonator{last: lru.New(rememberedSenders)} }

// Impersonate gives the user that the request's headers ask for, when the
// sender of the request (in a) may act as him: nil when there are no such
// headers, which are removed from header otherwise. constraint is the verb on the identity when one of the
// narrower rights was used, as the audit log tells it. The error is one to answer with.
func (i *Impersonator) Impersonate(ctx context.Context, z authorizer.UnconditionalAuthorizer, header http.Header, a authorizer.AttributesRecord) (as user.Info, constraint string, err error) {
	wanted, err := wantedUser(header)
	if wanted == nil || err != nil {
		return nil, "", err
	}
	modes := impersonationModes(wanted, a.User)
	if last, ok := i.last.Get(a.User.GetName()); ok {
		if at := slices.Index(modes, last.(impersonationMode)); at > 0 {
			modes = slices.Insert(slices.Delete(modes, at, at+1), 0, last.(impersonationMode))
		}
	}
	var first error
	for _, m := range modes {
		u, err := m.check(ctx, z, wanted, a)
		if err == nil {
			i.last.Add(a.User.GetName(), m)
			return u, m.constraint(), nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, "", first
}

// wantedUser reads and removes the headers.
func wantedUser(header http.Header) (*user.DefaultInfo, error) {
	want := &user.DefaultInfo{
		Name:   header.Get(authenticationv1.ImpersonateUserHeader),
		UID:    header.Get(authenticationv1.ImpersonateUIDHeader),
		Groups: slices.Clone(header[authenticationv1.ImpersonateGroupHeader]),
	}
	more := want.UID != "" || len(want.Groups) > 0
	for name, values := range header {
		key, ok := strings.CutPrefix(name, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		if !ok {
			continue
		}
		more = true
		if key = strings.ToLower(key); len(values) > 0 {
			if decoded, err := url.PathUnescape(key); err == nil {
				key = decoded
			}
			if want.Extra == nil {
				want.Extra = map[string][]string{}
			}
			want.Extra[key] = append(want.Extra[key], values...)
		}
	}
	if want.Name == "" {
		if more {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %#v without impersonating a user name", want))
		}
		return nil, nil
	}
	for name := range header {
		if strings.HasPrefix(name, "Impersonate-") {
			header.Del(name)
		}
	}
	return want, nil
}

// impersonationMode is one way to be allowed; name is "" for the old one.
type impersonationMode struct{ name string }

func (m impersonationMode) constraint() string {
	if m.name == "" {
		return ""
	}
	return "impersonate:" + m.name
}

func impersonationModes(want *user.DefaultInfo, sender user.Info) []impersonationMode {
	onlyName := want.UID == "" && len(want.Groups) == 0 && len(want.Extra) == 0
	node, isNode := nodeOf(want.Name)
	_, _, err := serviceaccount.SplitUsername(want.Name)
	isAccount := err == nil
	var modes []impersonationMode
	if isNode && onlyName {
		if on := sender.GetExtra()[serviceaccount.NodeNameKey]; len(on) == 1 && on[0] == node && strings.HasPrefix(sender.GetName(), serviceaccount.ServiceAccountUsernamePrefix) {
			modes = append(modes, impersonationMode{"associated-node"})
		}
		modes = append(modes, impersonationMode{"arbitrary-node"})
	}
	if isAccount && onlyName {
		modes = append(modes, impersonationMode{"serviceaccount"})
	}
	if !isNode && !isAccount {
		modes = append(modes, impersonationMode{"user-info"})
	}
	return append(modes, impersonationMode{})
}

func nodeOf(name string) (string, bool) {
	node, ok := strings.CutPrefix(name, nodeUserPrefix)
	return node, ok && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0
}

func (m impersonationMode) check(ctx context.Context, z authorizer.UnconditionalAuthorizer, want *user.DefaultInfo, a authorizer.AttributesRecord) (user.Info, error) {
	verb, identityGroup := "impersonate", ""
	if m.name != "" {
		verb, identityGroup = m.constraint(), authenticationv1.GroupName
		on := a
		on.Verb = "impersonate-on:" + m.name + ":" + a.Verb
		if err := permit(ctx, z, on); err != nil {
			return nil, err
		}
	}
	ask := func(group, resource, sub, namespace, name string) error {
		version := authenticationv1.SchemeGroupVersion.Version
		return permit(ctx, z, authorizer.AttributesRecord{User: a.User, Verb: verb, APIGroup: group, APIVersion: version,
			Resource: resource, Subresource: sub, Namespace: namespace, Name: name, ResourceRequest: true})
	}
	u := *want
	if err := m.askName(ask, identityGroup, &u); err != nil {
		return nil, err
	}
	if u.UID != "" {
		if err := ask(authenticationv1.GroupName, "uids", "", "", u.UID); err != nil {
			return nil, err
		}
	}
	for _, g := range want.Groups {
		if m.name != "" && (g == "" || g == user.SystemPrivilegedGroup) {
			return nil, kinds.Forbidden(authorizer.AttributesRecord{User: a.User, Verb: verb, APIGroup: identityGroup, Resource: "groups", Name: g, ResourceRequest: true},
				fmt.Sprintf("impersonating the %s group is not allowed", g))
		}
		if err := ask(identityGroup, "groups", "", "", g); err != nil {
			return nil, err
		}
	}
	for key, values := range want.Extra {
		for _, v := range values {
			if err := ask(authenticationv1.GroupName, "userextras", key, "", v); err != nil {
				return nil, err
			}
		}
	}
	u.Groups = impersonatedGroups(&u)
	return &u, nil
}

// askName asks for the user, node or service account, and gives the latter two the groups that they always have.
func (m impersonationMode) askName(ask func(group, resource, sub, namespace, name string) error, group string, u *user.DefaultInfo) error {
	if node, ok := nodeOf(u.Name); ok && m.name != "" {
		u.Groups = []string{user.NodesGroup}
		if m.name == "associated-node" {
			node = "*"
		}
		return ask(group, "nodes", "", "", node)
	}
	if namespace, name, err := serviceaccount.SplitUsername(u.Name); err == nil {
		if len(u.Groups) == 0 {
			u.Groups = serviceaccount.MakeGroupNames(namespace)
		}
		return ask(group, "serviceaccounts", "", namespace, name)
	}
	return ask(group, "users", "", "", u.Name)
}

func impersonatedGroups(u *user.DefaultInfo) []string {
	add := user.AllAuthenticated
	switch {
	case u.Name == user.Anonymous:
		add = user.AllUnauthenticated
	case slices.Contains(u.Groups, user.AllUnauthenticated):
		return u.Groups
	}
	if slices.Contains(u.Groups, add) {
		return u.Groups
	}
	return append(slices.Clone(u.Groups), add)
}

func permit(ctx context.Context, z authorizer.UnconditionalAuthorizer, a authorizer.AttributesRecord) error {
	decision, reason, err := z.Authorize(ctx, a)
	switch {
	case decision == authorizer.DecisionAllow:
		return nil
	case err != nil && reason != "":
		err = fmt.Errorf("%w: %s", err, reason)
	case err == nil:
		err = errors.New(reason)
	}
	return kinds.Forbidden(a, err.Error())
}
