package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Fields of alpha features. v1.37 serves them only behind a gate; when that is
// off, as here, they vanish in silence when an object is prepared: after its
// managedFields were computed, so those name them all the same. Nothing that was
// stored has any, so an update needs not keep one.

// DropTemplateFields takes them out of a pod template; workload kinds call it.
func DropTemplateFields(t *corev1.PodTemplateSpec) { dropPodFields(&t.Spec) }

func dropPodFields(s *corev1.PodSpec) {
	s.SchedulingGroup = nil
	s.EvictionResponders = nil
	for i := range s.Volumes {
		dropVolumeFields(&s.Volumes[i])
	}
	eachContainer(s, nil, func(c *corev1.Container, _ *field.Path) {
		for i := range c.VolumeMounts {
			c.VolumeMounts[i].BindMountOptions = nil
		}
		for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p == nil {
				continue
			}
			dropProtocol(p.HTTPGet)
			if p.GRPC != nil {
				p.GRPC.Mode = nil
			}
		}
		dropStopSignal(c)
		if l := c.Lifecycle; l != nil {
			for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
				if h != nil {
					dropProtocol(h.HTTPGet)
				}
			}
		}
	})
}

// dropStopSignal leaves no lifecycle behind in which there was nothing else.
func dropStopSignal(c *corev1.Container) {
	if c.Lifecycle == nil || c.Lifecycle.StopSignal == nil {
		return
	}
	c.Lifecycle.StopSignal = nil
	if *c.Lifecycle == (corev1.Lifecycle{}) {
		c.Lifecycle = nil
	}
}

func dropProtocol(h *corev1.HTTPGetAction) {
	if h != nil {
		h.Protocol = nil
	}
}

// dropVolumeFields takes out the owner of files and the mode of an emptyDir, of each source that is
// named: that there is more than one is told later, and not where a StatefulSet's claim takes the place of the volume.
func dropVolumeFields(v *corev1.Volume) {
	if v.EmptyDir != nil {
		v.EmptyDir.Mode = nil
	}
	if v.Secret != nil {
		v.Secret.DefaultUser = nil
		dropKeyUsers(v.Secret.Items)
	}
	if v.ConfigMap != nil {
		v.ConfigMap.DefaultUser = nil
		dropKeyUsers(v.ConfigMap.Items)
	}
	if v.DownwardAPI != nil {
		v.DownwardAPI.DefaultUser = nil
		dropFileUsers(v.DownwardAPI.Items)
	}
	if v.Projected != nil {
		v.Projected.DefaultUser = nil
		for i := range v.Projected.Sources {
			dropSourceUsers(&v.Projected.Sources[i])
		}
	}
}

// dropSourceUsers looks at the first kind of source that is named, as upstream does: more than one is refused
// later, but not where the volume gives way to a claim.
func dropSourceUsers(s *corev1.VolumeProjection) {
	switch {
	case s.Secret != nil:
		dropKeyUsers(s.Secret.Items)
	case s.DownwardAPI != nil:
		dropFileUsers(s.DownwardAPI.Items)
	case s.ConfigMap != nil:
		dropKeyUsers(s.ConfigMap.Items)
	case s.ServiceAccountToken != nil:
		s.ServiceAccountToken.User = nil
	case s.ClusterTrustBundle != nil:
		s.ClusterTrustBundle.User = nil
	case s.PodCertificate != nil:
		s.PodCertificate.User = nil
	}
}

func dropKeyUsers(items []corev1.KeyToPath) {
	for i := range items {
		items[i].User = nil
	}
}

func dropFileUsers(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		items[i].User = nil
	}
}

// dropInitAnnotations: init containers were annotations once.
func dropInitAnnotations(a map[string]string) {
	for _, key := range []string{
		"pod.beta.kubernetes.io/init-containers", "pod.alpha.kubernetes.io/init-containers",
		"pod.beta.kubernetes.io/init-container-statuses", "pod.alpha.kubernetes.io/init-container-statuses",
	} {
		delete(a, key)
	}
}
