package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"kuberow/controllers"
)

// Claims of a pod: they must exist and be bound, and their volumes may be reachable from some nodes only.

// nodeNeed is what a volume asks of the node.
type nodeNeed struct {
	selector *nodeaffinity.NodeSelector
	reason   string
}

func (n nodeNeed) fits(node *corev1.Node) bool { return n.selector == nil || n.selector.Match(node) }

// volumeNeeds looks at the pod's claims: what they ask of the node, and those that wait for it. The text says why the pod
// cannot be placed at all.
func volumeNeeds(v controllers.View, p *corev1.Pod) (needs []nodeNeed, late []*corev1.PersistentVolumeClaim, refused string) {
	unbound := false
	for i := range p.Spec.Volumes {
		name := claimName(p, &p.Spec.Volumes[i])
		if name == "" {
			continue
		}
		claim, ok := get[*corev1.PersistentVolumeClaim](v, controllers.PersistentVolumeClaims, p.Namespace, name)
		if !ok {
			if p.Spec.Volumes[i].Ephemeral != nil {
				return nil, nil, fmt.Sprintf("waiting for ephemeral volume controller to create the persistentvolumeclaim %q", name)
			}
			return nil, nil, fmt.Sprintf("persistentvolumeclaim %q not found", name)
		}
		if claim.Status.Phase == corev1.ClaimLost {
			return nil, nil, fmt.Sprintf("persistentvolumeclaim %q bound to non-existent persistentvolume %q", name, claim.Spec.VolumeName)
		}
		if claim.DeletionTimestamp != nil {
			return nil, nil, fmt.Sprintf("persistentvolumeclaim %q is being deleted", name)
		}
		if claim.Spec.VolumeName == "" {
			if bindsAtOnce(v, claim) {
				unbound = true
			} else {
				late = append(late, claim)
			}
			continue
		}
		volume, ok := get[*corev1.PersistentVolume](v, controllers.PersistentVolumes, "", claim.Spec.VolumeName)
		if !ok {
			needs = append(needs, nodeNeed{selector: nowhere(), reason: "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"})
			continue
		}
		if volume.Spec.NodeAffinity != nil && volume.Spec.NodeAffinity.Required != nil {
			if s, err := nodeaffinity.NewNodeSelector(volume.Spec.NodeAffinity.Required); err == nil {
				needs = append(needs, nodeNeed{selector: s, reason: "node(s) didn't match PersistentVolume's node affinity"})
			}
		}
	}
	if unbound {
		return nil, nil, "pod has unbound immediate PersistentVolumeClaims"
	}
	return needs, late, ""
}

// claimName is the claim behind a volume, "" when there is none.
func claimName(p *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		return p.Name + "-" + volume.Name
	}
	return ""
}

// bindsAtOnce says that a claim does not wait for its first pod.
func bindsAtOnce(v controllers.View, claim *corev1.PersistentVolumeClaim) bool {
	if claim.Spec.StorageClassName == nil || *claim.Spec.StorageClassName == "" {
		return true
	}
	class, ok := get[*storagev1.StorageClass](v, controllers.StorageClasses, "", *claim.Spec.StorageClassName)
	return !ok || class.VolumeBindingMode == nil || *class.VolumeBindingMode == storagev1.VolumeBindingImmediate
}

// nowhere selects no node.
func nowhere() *nodeaffinity.NodeSelector {
	s, _ := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{})
	return s
}
