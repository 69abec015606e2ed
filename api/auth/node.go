package auth

// The Node authorizer: what a kubelet (user system:node:NAME in group
// system:nodes) may do. Its own Node, its lease and CSINode; the pods bound to
// it; and of Secrets, ConfigMaps, claims, volumes and service accounts only
// those that one of its pods uses. The rest is a fixed list of rules.
//
// Real Kubernetes keeps a graph of who uses what, fed by informers. Here the
// pods of the node are looked at when a kubelet asks, which is always current
// and needs no memory; a kubelet asks rarely.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/kinds"
)

const nodeUserPrefix = "system:node:"

// Node authorizes kubelets.
type Node struct {
	unconditional
	reader kinds.Reader
}

// NewNode looks pods up through reader.
func NewNode(reader kinds.Reader) *Node {
	n := &Node{reader: reader}
	n.unconditional.authorize = n.Authorize
	return n
}

// NodeName gives the node that a user is the kubelet of; ok is false for everybody else.
func NodeName(u user.Info) (name string, ok bool) {
	if u == nil {
		return "", false
	}
	name, ok = strings.CutPrefix(u.GetName(), nodeUserPrefix)
	return name, ok && slices.Contains(u.GetGroups(), user.NodesGroup)
}

// RulesFor cannot list what depends on pods.
func (n *Node) RulesFor(_ context.Context, u user.Info, _ string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	if _, is := NodeName(u); is {
		return nil, nil, true, fmt.Errorf("node authorizer does not support user rule resolution")
	}
	return nil, nil, false, nil
}

// Authorize has no opinion on users that are not kubelets.
func (n *Node) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	node, is := NodeName(a.GetUser())
	if !is {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if node == "" {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("unknown node for user %q", a.GetUser().GetName()), nil
	}
	reason, decided := "", false
	if a.IsResourceRequest() {
		reason, decided = n.resource(ctx, node, a)
	}
	if !decided {
		if slices.ContainsFunc(nodeRules, func(r rbacv1.PolicyRule) bool { return ruleAllows(&r, a) }) {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "", nil
	}
	if reason == allowed {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionNoOpinion, reason, nil
}

// allowed is the outcome of the functions below that is not the reason of a refusal.
const allowed = "\x00allowed"

// resource decides on the resources that are subdivided by node; decided is false for the others.
func (n *Node) resource(ctx context.Context, node string, a authorizer.Attributes) (reason string, decided bool) {
	switch gr := (schema.GroupResource{Group: a.GetAPIGroup(), Resource: a.GetResource()}); gr.String() {
	case "secrets", "configmaps":
		return n.read(ctx, node, a), true
	case "persistentvolumeclaims":
		if a.GetSubresource() == "status" {
			if !slices.Contains([]string{"update", "patch"}, a.GetVerb()) {
				return "can only get/update/patch this type", true
			}
			return n.related(ctx, node, a), true
		}
		return n.get(ctx, node, a), true
	case "persistentvolumes", "resourceclaims.resource.k8s.io", "volumeattachments.storage.k8s.io":
		return n.get(ctx, node, a), true
	case "serviceaccounts":
		return n.serviceAccount(ctx, node, a), true
	case "leases.coordination.k8s.io":
		return lease(node, a), true
	case "csinodes.storage.k8s.io":
		return csiNode(node, a), true
	case "resourceslices.resource.k8s.io":
		return n.resourceSlice(ctx, node, a), true
	case "podcertificaterequests.certificates.k8s.io":
		return n.podCertificate(ctx, node, a), true
	case "nodes":
		return ownNode(node, a), true
	case "pods":
		return n.pod(ctx, node, a), true
	}
	return "", false
}

func (n *Node) get(ctx context.Context, node string, a authorizer.Attributes) string {
	if a.GetVerb() != "get" {
		return "can only get individual resources of this type"
	}
	if a.GetSubresource() != "" {
		return "cannot get subresource"
	}
	return n.related(ctx, node, a)
}

func (n *Node) read(ctx context.Context, node string, a authorizer.Attributes) string {
	switch {
	case !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()):
		return "can only read resources of this type"
	case a.GetSubresource() != "":
		return "cannot read subresource"
	case a.GetNamespace() == "":
		return "can only read namespaced object of this type"
	}
	return n.related(ctx, node, a)
}

func (n *Node) serviceAccount(ctx context.Context, node string, a authorizer.Attributes) string {
	switch {
	case a.GetVerb() == "get" && a.GetSubresource() == "":
		return n.read(ctx, node, a)
	case a.GetVerb() != "create" || a.GetName() == "":
		return "can only create tokens for individual service accounts"
	case a.GetSubresource() != "token":
		return "can only create token subresource of serviceaccount"
	}
	return n.related(ctx, node, a)
}

func lease(node string, a authorizer.Attributes) string {
	switch {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()):
		return "can only get, create, update, patch, or delete a node lease"
	case a.GetNamespace() != corev1.NamespaceNodeLease:
		return fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	case a.GetVerb() != "create" && a.GetName() != node: // a create does not say the name; NodeRestriction looks
		return "can only access node lease with the same name as the requesting node"
	}
	return allowed
}

func csiNode(node string, a authorizer.Attributes) string {
	switch {
	case a.GetSubresource() != "":
		return "cannot authorize CSINode subresources"
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()):
		return "can only get, create, update, patch, or delete a CSINode"
	case a.GetVerb() != "create" && a.GetName() != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return allowed
}

func ownNode(node string, a authorizer.Attributes) string {
	switch a.GetSubresource() + "/" + a.GetVerb() {
	case "/create", "/update", "/patch", "status/update", "status/patch":
		return allowed // NodeRestriction admission limits it to its own object
	case "/get", "/list", "/watch":
		switch a.GetName() {
		case node:
			return allowed
		case "":
			return fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node)
		}
		return fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.GetName())
	}
	return ""
}

func (n *Node) pod(ctx context.Context, node string, a authorizer.Attributes) string {
	switch a.GetSubresource() + "/" + a.GetVerb() {
	case "/get":
		return n.get(ctx, node, a)
	case "/list", "/watch":
		if selects(a, "spec.nodeName", node) {
			return allowed
		}
		if a.GetName() != "" {
			return n.related(ctx, node, a)
		}
		return "can only list/watch pods with spec.nodeName field selector"
	case "/create", "/delete", "status/update", "status/patch", "eviction/create":
		return allowed // NodeRestriction admission limits it to its own pods
	}
	return ""
}

func (n *Node) resourceSlice(ctx context.Context, node string, a authorizer.Attributes) string {
	if a.GetSubresource() != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch a.GetVerb() {
	case "create":
		return allowed // NodeRestriction admission looks at spec.nodeName
	case "get", "update", "patch", "delete":
		return n.related(ctx, node, a)
	case "watch", "list", "deletecollection":
		if selects(a, "spec.nodeName", node) {
			return allowed
		}
		return "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

func (n *Node) podCertificate(ctx context.Context, node string, a authorizer.Attributes) string {
	if a.GetSubresource() != "" {
		return "nodes may not access the status subresource of PodCertificateRequests"
	}
	switch a.GetVerb() {
	case "create":
		return allowed
	case "get":
		return n.related(ctx, node, a)
	case "list", "watch":
		if selects(a, "spec.nodeName", node) {
			return allowed
		}
		return "can only list/watch podcertificaterequests with nodeName field selector"
	}
	return fmt.Sprintf("nodes may not %s podcertificaterequests", a.GetVerb())
}

func selects(a authorizer.Attributes, field, value string) bool {
	requirements, _ := a.GetFieldSelector()
	for _, r := range requirements {
		if r.Field == field && r.Operator == selection.Equals && r.Value == value {
			return true
		}
	}
	return false
}
