package scheduler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	volumehelper "k8s.io/component-helpers/storage/volume"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// Claims that wait for their first consumer: the pod's node decides which volume they get. So the scheduler chooses the node
// first, then reserves a volume that the node reaches (spec.claimRef), or asks the provisioner for one there (the annotation
// of the selected node). The pod is bound when the claims are, in a later step: until then its nominated node says where.

// lateChoice is what a claim would get on a node: a volume, or nil when it is to be provisioned.
type lateChoice struct {
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
}

// chooseLate gives a choice for each of the pod's waiting claims, false when the node has none for one of them. The smallest
// claims choose first.
func (c *cluster) chooseLate(q *question, n *corev1.Node) ([]lateChoice, bool) {
	claims := slices.Clone(q.late)
	slices.SortStableFunc(claims, func(a, b *corev1.PersistentVolumeClaim) int {
		return a.Spec.Resources.Requests.Storage().Cmp(*b.Spec.Resources.Requests.Storage())
	})
	volumes, taken := list[*corev1.PersistentVolume](c.v, controllers.PersistentVolumes), map[string]*corev1.PersistentVolume{}
	var out []lateChoice
	for _, claim := range claims {
		if selected, ok := claim.Annotations[volumehelper.AnnSelectedNode]; ok {
			if selected != n.Name {
				return nil, false
			}
			out = append(out, lateChoice{claim: claim})
			continue
		}
		pv, err := volumehelper.FindMatchingVolume(claim, volumes, n, taken, true, true)
		if err != nil || (pv == nil && !c.provisions(claim, n)) {
			return nil, false
		}
		if pv != nil {
			taken[pv.Name] = pv
		}
		out = append(out, lateChoice{claim, pv})
	}
	return out, true
}

// provisions says whether a claim's class makes volumes that the node reaches.
func (c *cluster) provisions(claim *corev1.PersistentVolumeClaim, n *corev1.Node) bool {
	class, ok := get[*storagev1.StorageClass](c.v, controllers.StorageClasses, "", volumehelper.GetPersistentVolumeClaimClass(claim))
	return ok && class.Provisioner != "" && class.Provisioner != volumehelper.NotSupportedProvisioner &&
		(len(class.AllowedTopologies) == 0 || slices.ContainsFunc(class.AllowedTopologies, func(t corev1.TopologySelectorTerm) bool {
			return !slices.ContainsFunc(t.MatchLabelExpressions, func(r corev1.TopologySelectorLabelRequirement) bool {
				return !slices.Contains(r.Values, n.Labels[r.Key])
			})
		}))
}

// reserve makes the writes that get a pod's claims their volumes on the node that was chosen.
func (c *cluster) reserve(q *question, n *corev1.Node) []controllers.Write {
	k := keyOf(q.pod)
	change := func(gr controllers.Resource, obj metav1.Object, sub string, change func(now runtime.Object)) controllers.Write {
		return controllers.Write{Verb: controllers.Mutate, Key: k, Ignore: apierrors.IsNotFound, Write: kinds.Write{
			Resource: gr, Subresource: sub, Namespace: obj.GetNamespace(), Name: obj.GetName(),
			Mutate: func(now runtime.Object) error {
				if m, ok := now.(metav1.Object); ok && m.GetUID() == obj.GetUID() {
					change(now)
				}
				return nil
			},
		}}
	}
	var writes []controllers.Write
	if q.pod.Status.NominatedNodeName != n.Name {
		writes = append(writes, change(controllers.Pods, q.pod, "status", func(now runtime.Object) {
			now.(*corev1.Pod).Status.NominatedNodeName = n.Name
		}))
	}
	choices, _ := c.chooseLate(q, n)
	for _, late := range choices {
		claim, pv := late.claim, late.volume
		switch {
		case pv == nil && claim.Annotations[volumehelper.AnnSelectedNode] == "":
			writes = append(writes, change(controllers.PersistentVolumeClaims, claim, "", func(now runtime.Object) {
				metav1.SetMetaDataAnnotation(&now.(*corev1.PersistentVolumeClaim).ObjectMeta, volumehelper.AnnSelectedNode, n.Name)
			}))
		case pv != nil && (pv.Spec.ClaimRef == nil || pv.Spec.ClaimRef.UID != claim.UID):
			ref := controllers.Reference(claim, corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
			writes = append(writes, change(controllers.PersistentVolumes, pv, "", func(now runtime.Object) {
				v := now.(*corev1.PersistentVolume)
				if v.Spec.ClaimRef == nil {
					metav1.SetMetaDataAnnotation(&v.ObjectMeta, volumehelper.AnnBoundByController, "yes")
				} else if !volumehelper.IsVolumeBoundToClaim(v, claim) {
					return // somebody else was quicker: the next step chooses again
				}
				v.Spec.ClaimRef = &ref
			}))
		}
	}
	return writes
}
