package admission

// NodeRestriction: a kubelet may only write what is its own. The Node
// authorizer lets it at nodes, pods, leases and so on; here it is held to its
// own Node, to the pods bound to it, and to objects that carry its name.

import (
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"kuberow/api/auth"
	"kuberow/api/kinds/certificates"
)

func nodeRestriction() Plugin {
	return Plugin{Name: "NodeRestriction", Mutate: func(a *Attributes) error {
		node, is := auth.NodeName(a.User)
		if !is {
			return nil
		}
		if node == "" {
			return forbidden(a, "could not determine node from user %q", a.User.GetName())
		}
		switch a.Resource.GroupResource().String() {
		case "pods":
			return restrictPods(a, node)
		case "nodes":
			return restrictNode(a, node)
		case "persistentvolumeclaims":
			return restrictClaim(a, node)
		case "serviceaccounts":
			return restrictToken(a, node)
		case "leases.coordination.k8s.io":
			return restrictLease(a, node)
		case "csinodes.storage.k8s.io":
			return restrictName(a, node, "can only access CSINode with the same name as the requesting node")
		case "resourceslices.resource.k8s.io":
			return restrictSlice(a, node)
		case "certificatesigningrequests.certificates.k8s.io":
			return restrictCSR(a, node)
		case "podcertificaterequests.certificates.k8s.io":
			return restrictPodCertificate(a, node)
		}
		return nil
	}}
}

func restrictPods(a *Attributes, node string) error {
	switch a.Subresource {
	case "":
		switch a.Operation {
		case create:
			return restrictMirrorPod(a, node)
		case remove:
			if old, ok := a.Old.(*corev1.Pod); ok && old.Spec.NodeName != node {
				return forbidden(a, "node %q can only delete pods with spec.nodeName set to itself", node)
			}
			return nil
		}
		return forbidden(a, "unexpected operation %q, node %q can only create and delete mirror pods", a.Operation, node)
	case "status":
		return restrictPodStatus(a, node)
	case "eviction":
		o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "pods"}, a.Namespace, a.Name)
		if apierrors.IsNotFound(err) {
			return notFound("", "pod", a.Name)
		}
		if err != nil {
			return forbidden(a, "%w", err)
		}
		if pod, ok := o.(*corev1.Pod); !ok || pod.Spec.NodeName != node {
			return forbidden(a, "node %s can only evict pods with spec.nodeName set to itself", node)
		}
		return nil
	}
	return forbidden(a, "unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
}

func restrictMirrorPod(a *Attributes, node string) error {
	pod, ok := a.Object.(*corev1.Pod)
	switch {
	case !ok:
		return forbidden(a, "unexpected type %T", a.Object)
	case !mirrorPod(pod):
		return forbidden(a, "pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	case pod.Spec.NodeName != node:
		return forbidden(a, "node %q can only create pods with spec.nodeName set to itself", node)
	case len(pod.OwnerReferences) > 1:
		return forbidden(a, "node %q can only create pods with a single owner reference set to itself", node)
	case len(pod.OwnerReferences) == 0:
		return forbidden(a, "node %q can only create pods with an owner reference set to itself", node)
	}
	switch owner := pod.OwnerReferences[0]; {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return forbidden(a, "node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return forbidden(a, "node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return forbidden(a, "node %q must not set blockOwnerDeletion on an owner reference", node)
	default:
		o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "nodes"}, "", node)
		if apierrors.IsNotFound(err) {
			return notFound("", "node", node)
		}
		if err != nil {
			return forbidden(a, "error looking up node %s to verify uid: %w", node, err)
		}
		if uid := o.(metav1.Object).GetUID(); owner.UID != uid {
			return forbidden(a, "node %s UID mismatch: expected %s got %s", node, owner.UID, uid)
		}
	}
	if used := usedByPod(pod); used != "" {
		return forbidden(a, "node %q can not create pods that reference %s", node, used)
	}
	return nil
}

func restrictPodStatus(a *Attributes, node string) error {
	old, was := a.Old.(*corev1.Pod)
	pod, is := a.Object.(*corev1.Pod)
	switch {
	case a.Operation != update:
		return forbidden(a, "unexpected operation %q", a.Operation)
	case !was || !is:
		return forbidden(a, "unexpected type %T", a.Object)
	case old.Spec.NodeName != node:
		return forbidden(a, "node %q can only update pod status for pods with spec.nodeName set to itself", node)
	case !maps.Equal(old.Labels, pod.Labels):
		return forbidden(a, "node %q cannot update labels through pod status", node)
	case !apiequality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses):
		return forbidden(a, "node %q cannot update resource claim statues", node)
	case !apiequality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return forbidden(a, "node %q cannot update extended resource claim status", node)
	}
	return nil
}

func restrictNode(a *Attributes, node string) error {
	n, ok := a.Object.(*corev1.Node)
	name := a.Name
	if name == "" && ok {
		name = n.Name
	}
	if name != node {
		return forbidden(a, "node %q is not allowed to modify node %q", node, name)
	}
	if !ok {
		return nil // a deletion
	}
	if a.Operation == create {
		if n.Spec.ConfigSource != nil {
			return forbidden(a, "node %q is not allowed to create pods with a non-nil configSource", node)
		}
		if bad := forbiddenLabels(n.Labels, nil); len(bad) > 0 {
			return forbidden(a, "node %q is not allowed to set the following labels: %s", node, strings.Join(bad, ", "))
		}
		return nil
	}
	old, ok := a.Old.(*corev1.Node)
	if !ok {
		return nil
	}
	switch {
	case n.Spec.ConfigSource != nil && !apiequality.Semantic.DeepEqual(n.Spec.ConfigSource, old.Spec.ConfigSource):
		return forbidden(a, "node %q is not allowed to update configSource to a new non-nil configSource", node)
	case !apiequality.Semantic.DeepEqual(n.Spec.Taints, old.Spec.Taints):
		return forbidden(a, "node %q is not allowed to modify taints", node)
	case !apiequality.Semantic.DeepEqual(n.OwnerReferences, old.OwnerReferences):
		return forbidden(a, "node %q is not allowed to modify ownerReferences", node)
	}
	if bad := forbiddenLabels(n.Labels, old.Labels); len(bad) > 0 {
		return forbidden(a, "is not allowed to modify labels: %s", strings.Join(bad, ", "))
	}
	return nil
}

var kubeletLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
}

// forbiddenLabels lists changed labels that steer workloads: a kubelet could draw privileged pods to itself.
func forbiddenLabels(is, was map[string]string) []string {
	changed := map[string]bool{}
	for k, v := range is {
		if w, there := was[k]; !there || w != v {
			changed[k] = true
		}
	}
	for k := range was {
		if _, there := is[k]; !there {
			changed[k] = true
		}
	}
	var bad []string
	for _, k := range slices.Sorted(maps.Keys(changed)) {
		domain, _, qualified := strings.Cut(k, "/")
		within := func(d string) bool { return qualified && (domain == d || strings.HasSuffix(domain, "."+d)) }
		own := slices.Contains(kubeletLabels, k) || within("kubelet.kubernetes.io") || within("node.kubernetes.io")
		if within(corev1.LabelNamespaceNodeRestriction) || (within("kubernetes.io") || within("k8s.io")) && !own {
			bad = append(bad, k)
		}
	}
	return bad
}

func restrictClaim(a *Attributes, node string) error {
	if a.Subresource != "status" {
		return forbidden(a, "may only update PVC status")
	}
	old, was := a.Old.(*corev1.PersistentVolumeClaim)
	claim, is := a.Object.(*corev1.PersistentVolumeClaim)
	if a.Operation != update || !was || !is {
		return forbidden(a, "unexpected operation %q", a.Operation)
	}
	plain := func(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		c = c.DeepCopy()
		c.ResourceVersion, c.ManagedFields = "", nil
		c.Status.Capacity, c.Status.Conditions, c.Status.AllocatedResourceStatuses, c.Status.AllocatedResources = nil, nil, nil, nil
		return c
	}
	if x, y := plain(old), plain(claim); !apiequality.Semantic.DeepEqual(x, y) {
		return forbidden(a, "node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node, diff.Diff(x, y))
	}
	return nil
}

// restrictToken: a kubelet gets tokens bound to pods of its node, for audiences that the pod mounts.
func restrictToken(a *Attributes, node string) error {
	req, ok := a.Object.(*authenticationv1.TokenRequest)
	if !ok || a.Operation != create || a.Subresource != "token" {
		return nil
	}
	ref := req.Spec.BoundObjectRef
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "Pod" || ref.Name == "" {
		return forbidden(a, "node requested token not bound to a pod")
	}
	if ref.UID == "" {
		return forbidden(a, "node requested token with a pod binding without a uid")
	}
	o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "pods"}, a.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		return notFound("", "pod", ref.Name)
	}
	if err != nil {
		return forbidden(a, "%w", err)
	}
	pod, ok := o.(*corev1.Pod)
	switch {
	case !ok:
		return forbidden(a, "unexpected type %T", o)
	case pod.UID != ref.UID:
		return forbidden(a, "the UID in the bound object reference (%s) does not match the UID in record. The object might have been deleted and then recreated", ref.UID)
	case pod.Spec.NodeName != node:
		return forbidden(a, "node requested token bound to a pod scheduled on a different node")
	case len(req.Spec.Audiences) > 1:
		return forbidden(a, "node may only request 0 or 1 audiences")
	}
	audience := ""
	if len(req.Spec.Audiences) == 1 {
		audience = req.Spec.Audiences[0]
	}
	mounted, err := mountsAudience(a, pod, audience)
	if err != nil {
		return forbidden(a, "error validating audience %q: %w", audience, err)
	}
	if mounted {
		return nil
	}
	access, err := accessOf(a)
	if err != nil {
		return err
	}
	decision, _, _ := access.Authorize(a.Ctx, authorizer.AttributesRecord{User: a.User, Verb: "request-serviceaccounts-token-audience",
		APIVersion: "*", Namespace: a.Namespace, Resource: audience, Name: a.Name, ResourceRequest: true})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	return forbidden(a, "%s is not authorized to request tokens for audience %q", a.User.GetName(), audience)
}

func restrictLease(a *Attributes, node string) error {
	if a.Namespace != corev1.NamespaceNodeLease {
		return forbidden(a, "can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	return restrictName(a, node, "can only access node lease with the same name as the requesting node")
}

func restrictName(a *Attributes, node, refusal string) error {
	name := a.Name
	if m, ok := a.Object.(metav1.Object); ok && a.Operation == create {
		name = m.GetName()
	}
	if name != node {
		return forbidden(a, "%s", refusal)
	}
	return nil
}

func restrictSlice(a *Attributes, node string) error {
	own := func(o any) bool {
		s, ok := o.(*resourcev1.ResourceSlice)
		return ok && s.Spec.NodeName != nil && *s.Spec.NodeName == node
	}
	switch {
	case a.Operation == create && !own(a.Object):
		return forbidden(a, "can only create ResourceSlice with the same NodeName as the requesting node")
	case (a.Operation == update || a.Operation == remove) && !own(a.Old):
		return forbidden(a, "can only modify ResourceSlice with the same NodeName as the requesting node")
	}
	return nil
}

// restrictCSR: a kubelet asks for certificates of its own name only.
func restrictCSR(a *Attributes, node string) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Operation != create ||
		csr.Spec.SignerName != certificatesv1.KubeletServingSignerName && csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	parsed, err := certificates.ParseRequest(csr.Spec.Request)
	if err != nil {
		return forbidden(a, "unable to parse csr: %w", err)
	}
	if parsed.Subject.CommonName != a.User.GetName() {
		return forbidden(a, "can only create a node CSR with CN=%s", a.User.GetName())
	}
	return nil
}

func restrictPodCertificate(a *Attributes, node string) error {
	req, ok := a.Object.(*certificatesv1.PodCertificateRequest)
	if !ok || a.Operation != create {
		return nil
	}
	if string(req.Spec.NodeName) != node {
		return forbidden(a, "PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", req.Spec.NodeName, node)
	}
	o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "pods"}, a.Namespace, req.Spec.PodName)
	if err != nil {
		return forbidden(a, "while retrieving pod %q named in the PodCertificateRequest: %w", req.Spec.PodName, err)
	}
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.UID != req.Spec.PodUID || pod.Spec.NodeName != node || pod.Spec.ServiceAccountName != req.Spec.ServiceAccountName {
		return forbidden(a, "PodCertificateRequest for pod %q does not agree with the pod", req.Spec.PodName)
	}
	return nil
}
