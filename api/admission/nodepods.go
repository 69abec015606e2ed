package admission

// What a pod has a node read: NodeRestriction keeps mirror pods from naming API
// objects, and gives tokens for those audiences only that a pod's volumes have.

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// notFound says it as upstream's listers do, who call a resource by its kind.
func notFound(group, kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Group: group, Resource: kind}, name)
}

// usedByPod names an API resource that the pod refers to, "" when there is none.
func usedByPod(pod *corev1.Pod) string {
	if pod.Spec.ServiceAccountName != "" {
		return "serviceaccounts"
	}
	secrets, configMaps := len(pod.Spec.ImagePullSecrets) > 0, false
	env := func(vars []corev1.EnvVar, from []corev1.EnvFromSource) {
		secrets = secrets || len(envSecrets(vars, from)) > 0
		for _, e := range vars {
			configMaps = configMaps || e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil
		}
		for _, e := range from {
			configMaps = configMaps || e.ConfigMapRef != nil
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		env(c.Env, c.EnvFrom)
	}
	for _, v := range pod.Spec.Volumes {
		secrets = secrets || v.Secret != nil || v.AzureFile != nil
		configMaps = configMaps || v.ConfigMap != nil
		if v.Projected != nil {
			for _, s := range v.Projected.Sources {
				secrets, configMaps = secrets || s.Secret != nil, configMaps || s.ConfigMap != nil
			}
		}
	}
	switch {
	case secrets:
		return "secrets"
	case configMaps:
		return "configmaps"
	case len(pod.Spec.ResourceClaims) > 0:
		return "resourceclaims"
	}
	for _, v := range pod.Spec.Volumes {
		if used := usedByVolume(v); used != "" {
			return used
		}
	}
	return ""
}

// usedByVolume is about what is left after Secrets and ConfigMaps.
func usedByVolume(v corev1.Volume) string {
	switch {
	case v.CSI != nil:
		return "csidrivers (via CSI volumes)"
	case v.Glusterfs != nil:
		return "endpoints (via glusterFS volumes)"
	case v.PersistentVolumeClaim != nil:
		return "persistentvolumeclaims"
	case v.Ephemeral != nil:
		return "persistentvolumeclaims (via ephemeral volumes)"
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			switch {
			case s.ServiceAccountToken != nil:
				return "serviceaccounts (via projected volumes)"
			case s.ClusterTrustBundle != nil:
				return "clustertrustbundles"
			case s.PodCertificate != nil:
				return "podcertificates"
			}
		}
	}
	return ""
}

// mountsAudience says whether a volume of the pod has tokens for the audience: a projected one, or one whose driver asks for them.
func mountsAudience(a *Attributes, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := driverOf(a, pod, v)
		if err != nil {
			errs = append(errs, err)
		}
		if driver == "" {
			continue
		}
		o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Group: storagev1.GroupName, Resource: "csidrivers"}, "", driver)
		if err != nil {
			errs = append(errs, orNotFound(err, storagev1.GroupName, "csidriver", driver))
			continue
		}
		if d, ok := o.(*storagev1.CSIDriver); ok && slices.ContainsFunc(d.Spec.TokenRequests, func(r storagev1.TokenRequest) bool { return r.Audience == audience }) {
			return true, nil
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf is the CSI driver of a volume, directly or through its claim; "" when it has none.
func driverOf(a *Attributes, pod *corev1.Pod, v corev1.Volume) (string, error) {
	name := ""
	switch {
	case v.CSI != nil:
		return v.CSI.Driver, nil
	case v.Ephemeral != nil:
		name = pod.Name + "-" + v.Name
	case v.PersistentVolumeClaim != nil:
		name = v.PersistentVolumeClaim.ClaimName
	default:
		return "", nil
	}
	o, err := a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "persistentvolumeclaims"}, pod.Namespace, name)
	if err != nil {
		return "", orNotFound(err, "", "persistentvolumeclaim", name)
	}
	volume := o.(*corev1.PersistentVolumeClaim).Spec.VolumeName
	if o, err = a.Reader.Get(a.Ctx, schema.GroupResource{Resource: "persistentvolumes"}, "", volume); err != nil {
		return "", orNotFound(err, "", "persistentvolume", volume)
	}
	if csi := o.(*corev1.PersistentVolume).Spec.CSI; csi != nil {
		return csi.Driver, nil
	}
	return "", nil
}

func orNotFound(err error, group, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return notFound(group, kind, name)
	}
	return err
}
