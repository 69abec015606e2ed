package auth

// Which objects the pods of a node use: the other half of node.go.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// related allows the request when a pod bound to node uses the object.
func (n *Node) related(ctx context.Context, node string, a authorizer.Attributes) string {
	if a.GetName() == "" {
		return "No Object name found"
	}
	if ok, err := n.uses(ctx, node, a.GetResource(), a.GetNamespace(), a.GetName()); err == nil && ok {
		return allowed
	}
	return fmt.Sprintf("no relationship found between node '%s' and this object", node)
}

func (n *Node) uses(ctx context.Context, node, resource, namespace, name string) (bool, error) {
	switch resource {
	case "persistentvolumes":
		return n.usesVolume(ctx, node, name)
	case "volumeattachments":
		o, err := n.reader.Get(ctx, schema.GroupResource{Group: storagev1.GroupName, Resource: resource}, "", name)
		va, ok := o.(*storagev1.VolumeAttachment)
		return ok && va.Spec.NodeName == node, err
	case "resourceslices":
		o, err := n.reader.Get(ctx, schema.GroupResource{Group: resourcev1.GroupName, Resource: resource}, "", name)
		slice, ok := o.(*resourcev1.ResourceSlice)
		return ok && slice.Spec.NodeName != nil && *slice.Spec.NodeName == node, err
	case "podcertificaterequests":
		o, err := n.reader.Get(ctx, schema.GroupResource{Group: certificatesv1.GroupName, Resource: resource}, namespace, name)
		pcr, ok := o.(*certificatesv1.PodCertificateRequest)
		return ok && string(pcr.Spec.NodeName) == node, err
	case "pods":
		o, err := n.reader.Get(ctx, schema.GroupResource{Resource: resource}, namespace, name)
		pod, ok := o.(*corev1.Pod)
		return ok && pod.Spec.NodeName == node, err
	}
	pods, err := n.reader.List(ctx, schema.GroupResource{Resource: "pods"}, namespace, nil)
	if err != nil {
		return false, err
	}
	for _, o := range pods {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName == node && podUses(pod, resource, name) {
			return true, nil
		}
	}
	if resource == "secrets" {
		return n.usesThroughVolume(ctx, node, namespace, name)
	}
	return false, nil
}

// usesThroughVolume: what mounts a persistent volume needs its secrets, wherever they are.
func (n *Node) usesThroughVolume(ctx context.Context, node, namespace, secret string) (bool, error) {
	volumes, err := n.reader.List(ctx, schema.GroupResource{Resource: "persistentvolumes"}, "", nil)
	if err != nil {
		return false, err
	}
	for _, o := range volumes {
		pv, ok := o.(*corev1.PersistentVolume)
		if !ok || pv.Spec.ClaimRef == nil || !slices.Contains(volumeSecrets(pv), types.NamespacedName{Namespace: namespace, Name: secret}) {
			continue
		}
		if used, err := n.uses(ctx, node, "persistentvolumeclaims", pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name); used || err != nil {
			return used, err
		}
	}
	return false, nil
}

// volumeSecrets lists those of a volume's secrets that kubelets read; without a namespace they are in the claim's.
func volumeSecrets(pv *corev1.PersistentVolume) []types.NamespacedName {
	var out []types.NamespacedName
	add := func(refs ...*corev1.SecretReference) {
		for _, ref := range refs {
			if ref != nil {
				out = append(out, types.NamespacedName{Namespace: cmp.Or(ref.Namespace, pv.Spec.ClaimRef.Namespace), Name: ref.Name})
			}
		}
	}
	switch s := pv.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		add(s.CSI.NodePublishSecretRef, s.CSI.NodeStageSecretRef, s.CSI.NodeExpandSecretRef)
	case s.CephFS != nil:
		add(s.CephFS.SecretRef)
	case s.FlexVolume != nil:
		add(s.FlexVolume.SecretRef)
	case s.RBD != nil:
		add(s.RBD.SecretRef)
	case s.ISCSI != nil:
		add(s.ISCSI.SecretRef)
	case s.AzureFile != nil:
		ref := corev1.SecretReference{Name: s.AzureFile.SecretName}
		if s.AzureFile.SecretNamespace != nil {
			ref.Namespace = *s.AzureFile.SecretNamespace
		}
		add(&ref)
	}
	return out
}

// usesVolume: a persistent volume is used through its claim.
func (n *Node) usesVolume(ctx context.Context, node, name string) (bool, error) {
	o, err := n.reader.Get(ctx, schema.GroupResource{Resource: "persistentvolumes"}, "", name)
	if err != nil {
		return false, err
	}
	pv, ok := o.(*corev1.PersistentVolume)
	if !ok || pv.Spec.ClaimRef == nil {
		return false, nil
	}
	return n.uses(ctx, node, "persistentvolumeclaims", pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name)
}

// podUses says whether pod names the object; a mirror pod cannot give its node access to anything.
func podUses(pod *corev1.Pod, resource, name string) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return false
	}
	switch resource {
	case "serviceaccounts":
		return pod.Spec.ServiceAccountName == name
	case "persistentvolumeclaims":
		return slices.Contains(podClaims(pod), name)
	case "secrets", "configmaps":
		return slices.Contains(podConfig(pod, resource), name)
	case "resourceclaims":
		for _, c := range pod.Status.ResourceClaimStatuses {
			if c.ResourceClaimName != nil && *c.ResourceClaimName == name {
				return true
			}
		}
		for _, c := range pod.Spec.ResourceClaims {
			if c.ResourceClaimName != nil && *c.ResourceClaimName == name {
				return true
			}
		}
	}
	return false
}

func podClaims(pod *corev1.Pod) []string {
	var out []string
	for _, v := range pod.Spec.Volumes {
		switch {
		case v.PersistentVolumeClaim != nil:
			out = append(out, v.PersistentVolumeClaim.ClaimName)
		case v.Ephemeral != nil:
			out = append(out, pod.Name+"-"+v.Name)
		}
	}
	return out
}

// PodSecrets lists the Secrets that pod names anywhere.
func PodSecrets(pod *corev1.Pod) []string { return podConfig(pod, "secrets") }

// podConfig lists the Secrets or ConfigMaps that pod names anywhere.
func podConfig(pod *corev1.Pod, resource string) []string {
	var secrets, maps []string
	for _, s := range pod.Spec.ImagePullSecrets {
		secrets = append(secrets, s.Name)
	}
	container := func(env []corev1.EnvVar, from []corev1.EnvFromSource) {
		for _, e := range from {
			if e.SecretRef != nil {
				secrets = append(secrets, e.SecretRef.Name)
			}
			if e.ConfigMapRef != nil {
				maps = append(maps, e.ConfigMapRef.Name)
			}
		}
		for _, e := range env {
			if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
				secrets = append(secrets, e.ValueFrom.SecretKeyRef.Name)
			}
			if e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil {
				maps = append(maps, e.ValueFrom.ConfigMapKeyRef.Name)
			}
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		container(c.Env, c.EnvFrom)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		container(c.Env, c.EnvFrom)
	}
	for _, v := range pod.Spec.Volumes {
		secrets, maps = volumeConfig(v, secrets, maps)
	}
	if resource == "secrets" {
		return secrets
	}
	return maps
}

func volumeConfig(v corev1.Volume, secrets, maps []string) (s, m []string) {
	local := func(ref *corev1.LocalObjectReference) {
		if ref != nil {
			secrets = append(secrets, ref.Name)
		}
	}
	switch {
	case v.Secret != nil:
		secrets = append(secrets, v.Secret.SecretName)
	case v.ConfigMap != nil:
		maps = append(maps, v.ConfigMap.Name)
	case v.CSI != nil:
		local(v.CSI.NodePublishSecretRef)
	case v.CephFS != nil:
		local(v.CephFS.SecretRef)
	case v.RBD != nil:
		local(v.RBD.SecretRef)
	case v.ISCSI != nil:
		local(v.ISCSI.SecretRef)
	case v.FlexVolume != nil:
		local(v.FlexVolume.SecretRef)
	case v.AzureFile != nil:
		secrets = append(secrets, v.AzureFile.SecretName)
	case v.Projected != nil:
		for _, p := range v.Projected.Sources {
			if p.Secret != nil {
				secrets = append(secrets, p.Secret.Name)
			}
			if p.ConfigMap != nil {
				maps = append(maps, p.ConfigMap.Name)
			}
		}
	}
	return secrets, maps
}

func rule(group, resources, verbs []string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: group, Resources: resources, Verbs: verbs}
}

// nodeRules are what every node may do alike.
var nodeRules = func() []rbacv1.PolicyRule {
	read := []string{"get", "list", "watch"}
	return []rbacv1.PolicyRule{
		rule([]string{"authentication.k8s.io"}, []string{"tokenreviews"}, []string{"create"}),
		rule([]string{"authorization.k8s.io"}, []string{"subjectaccessreviews", "localsubjectaccessreviews"}, []string{"create"}),
		rule([]string{""}, []string{"services"}, read),
		rule([]string{"", "events.k8s.io"}, []string{"events"}, []string{"create", "update", "patch"}),
		rule([]string{""}, []string{"endpoints"}, []string{"get"}),
		rule([]string{"certificates.k8s.io"}, []string{"certificatesigningrequests"}, []string{"create", "get", "list", "watch"}),
		rule([]string{"certificates.k8s.io"}, []string{"clustertrustbundles"}, read),
		rule([]string{"storage.k8s.io"}, []string{"csidrivers"}, read),
		rule([]string{"node.k8s.io"}, []string{"runtimeclasses"}, read),
	}
}()
