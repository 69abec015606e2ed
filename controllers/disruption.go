package controllers

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The disruption controller counts for each PodDisruptionBudget how many of its pods may be
// evicted. Keys: a budget, woken by it and by the pods that it selects; and a pod whose condition DisruptionTarget was
// set for a deletion that never came.
//
// The eviction subresource takes from status.disruptionsAllowed and leaves the pod's name in
// status.disruptedPods: until the pod goes, or two minutes have passed, it counts as gone.

const (
	disruptionTimeout   = 2 * time.Minute
	disruptionComponent = "controllermanager"
)

var budgetKind = policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget")

// Disruption is disruption-controller.
func Disruption() Controller {
	return Controller{
		Name: "disruption-controller",
		Keys: keyMap{PodDisruptionBudgets: itself, Pods: budgetsForPod},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if k.Resource == Pods {
					forgetDisruption(v, k, &out)
				} else if b := get[*policyv1.PodDisruptionBudget](v, PodDisruptionBudgets, k.Namespace, k.Name); b != nil {
					stepBudget(v, k, b, &out)
				}
			}
			return out
		},
	}
}

// budgetsForPod gives the budgets that select the pod as it is or was, and the pod itself when it was told to go.
func budgetsForPod(v View, c Object) []Key {
	pod := accessor(c.Current())
	var keys []Key
	for _, b := range typed[*policyv1.PodDisruptionBudget](v.List(PodDisruptionBudgets, pod.GetNamespace(), nil)) {
		s := selectorOf(b.Spec.Selector)
		for _, obj := range []runtime.Object{c.Now, c.Prev} {
			if obj != nil && s.Matches(labels.Set(accessor(obj).GetLabels())) {
				keys = append(keys, NameKey(b))
				break
			}
		}
	}
	if now, ok := c.Now.(*corev1.Pod); ok && disruptionTarget(now) != nil {
		keys = append(keys, Key{Namespace: now.Namespace, Name: now.Name, Resource: Pods})
	}
	return keys
}

// disruptionTarget is the condition of a pod that was told to go and does not; the kubelet's own is left alone.
func disruptionTarget(p *corev1.Pod) *corev1.PodCondition {
	c := podCondition(p, corev1.DisruptionTarget)
	if c == nil || c.Status != corev1.ConditionTrue || c.Reason == corev1.PodReasonTerminationByKubelet || !podActive(p) {
		return nil
	}
	return c
}

// forgetDisruption takes the condition back when it is too old.
func forgetDisruption(v View, k Key, out *Outcome) {
	pod := get[*corev1.Pod](v, Pods, k.Namespace, k.Name)
	if pod == nil {
		return
	}
	c := disruptionTarget(pod)
	if c == nil {
		return
	}
	if due := c.LastTransitionTime.Add(disruptionTimeout); due.After(v.Now()) {
		out.again(k, due)
		return
	}
	now := metav1.NewTime(v.Now())
	w := mutation(k, Pods, "status", pod, func(p *corev1.Pod) error {
		if c := podCondition(p, corev1.DisruptionTarget); c != nil {
			*c = corev1.PodCondition{Type: c.Type, Status: corev1.ConditionFalse, LastTransitionTime: now, ObservedGeneration: p.Generation}
		}
		return nil
	})
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// stepBudget brings one budget's status up to date. When it cannot be known, nothing may be evicted.
func stepBudget(v View, k Key, b *policyv1.PodDisruptionBudget, out *Outcome) {
	tell := func(eventType, reason, message string) {
		out.Writes = append(out.Writes, record(k, disruptionComponent, Reference(b, budgetKind), eventType, reason, message))
	}
	status := *b.Status.DeepCopy()
	condition := metav1.Condition{Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse}
	fail := func(err error) {
		status.DisruptionsAllowed = 0
		condition.Reason, condition.Message, condition.ObservedGeneration = policyv1.SyncFailedReason, err.Error(), status.ObservedGeneration
		storeBudget(v, k, b, status, condition, out)
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		tell(corev1.EventTypeWarning, "NoPods", fmt.Sprintf("Failed to get pods: %v", err))
		fail(err)
		return
	}
	pods := typed[*corev1.Pod](v.List(Pods, b.Namespace, selector))
	if len(pods) == 0 {
		tell(corev1.EventTypeNormal, "NoPods", "No matching pods found")
	}
	expected, desired, unmanaged, err := expectedPods(v, b, pods)
	if err != nil {
		tell(corev1.EventTypeWarning, "CalculateExpectedPodCountFailed", fmt.Sprintf("Failed to calculate the number of expected pods: %v", err))
		fail(err)
		return
	}
	if unmanaged {
		tell(corev1.EventTypeWarning, "UnmanagedPods", fmt.Sprintf("Pods selected by this PodDisruptionBudget (selector: %v) were found to be unmanaged. "+
			"As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. "+
			"To account for these pods please set \".spec.minAvailable\" field of the PDB to an integer value.", b.Spec.Selector))
	}
	status.DisruptedPods = stillDisrupted(v, k, b, pods, out)
	status.CurrentHealthy = healthyPods(pods, status.DisruptedPods)
	status.DesiredHealthy, status.ExpectedPods, status.ObservedGeneration = desired, expected, b.Generation
	status.DisruptionsAllowed = 0
	condition.Reason, condition.ObservedGeneration = policyv1.InsufficientPodsReason, b.Generation
	if n := status.CurrentHealthy - desired; expected > 0 && n > 0 {
		status.DisruptionsAllowed = n
		condition.Status, condition.Reason = metav1.ConditionTrue, policyv1.SufficientPodsReason
	}
	storeBudget(v, k, b, status, condition, out)
}

// storeBudget writes a status that changed. It refuses to overwrite what an eviction took meanwhile.
func storeBudget(v View, k Key, b *policyv1.PodDisruptionBudget, status policyv1.PodDisruptionBudgetStatus, c metav1.Condition, out *Outcome) {
	c.LastTransitionTime = metav1.NewTime(v.Now())
	meta.SetStatusCondition(&status.Conditions, c)
	if equality.Semantic.DeepEqual(status, b.Status) {
		return
	}
	out.Writes = append(out.Writes, mutation(k, PodDisruptionBudgets, "status", b, func(now *policyv1.PodDisruptionBudget) error {
		if now.ResourceVersion != b.ResourceVersion {
			return conflict(PodDisruptionBudgets, b.Name, "it changed while its pods were counted")
		}
		now.Status = *status.DeepCopy()
		return nil
	}))
}

// stillDisrupted keeps the evicted pods whose deletion is still to come, and tells of those where it never came.
func stillDisrupted(v View, k Key, b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, out *Outcome) map[string]metav1.Time {
	kept := map[string]metav1.Time{}
	for _, p := range pods {
		at, found := b.Status.DisruptedPods[p.Name]
		if !found || p.DeletionTimestamp != nil {
			continue
		}
		due := at.Add(disruptionTimeout)
		if due.After(v.Now()) {
			kept[p.Name] = at
			out.again(k, due)
			continue
		}
		out.Writes = append(out.Writes, record(k, disruptionComponent, Reference(p, podKind), corev1.EventTypeWarning,
			"NotDeleted", fmt.Sprintf("Pod was expected by PDB %s/%s to be deleted but it wasn't", b.Namespace, b.Namespace))) // as upstream has it
	}
	return kept
}

// healthyPods counts what is ready and stays.
func healthyPods(pods []*corev1.Pod, disrupted map[string]metav1.Time) int32 {
	n := int32(0)
	for _, p := range pods {
		if _, going := disrupted[p.Name]; !going && p.DeletionTimestamp == nil && podReady(p) {
			n++
		}
	}
	return n
}

// expectedPods says how many pods there should be, and how many of them must be healthy. A plain number
// counts pods that exist; maxUnavailable and percentages are of what the pods' controllers want.
func expectedPods(v View, b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int32, unmanaged bool, err error) {
	least, most := b.Spec.MinAvailable, b.Spec.MaxUnavailable
	switch {
	case most != nil:
		if expected, unmanaged, err = wantedPods(v, pods); err != nil {
			return 0, 0, false, err
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(most, int(expected), true)
		return expected, max(0, expected-int32(n)), unmanaged, err
	case least == nil:
		return 0, 0, false, nil
	case least.Type == intstr.Int:
		return int32(len(pods)), least.IntVal, false, nil
	}
	if expected, unmanaged, err = wantedPods(v, pods); err != nil {
		return 0, 0, false, err
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(least, int(expected), true)
	return expected, int32(n), unmanaged, err
}

// wantedPods sums what the controllers of the pods were told to run.
func wantedPods(v View, pods []*corev1.Pod) (n int32, unmanaged bool, err error) {
	seen := map[types.UID]bool{}
	for _, p := range pods {
		ref := controllerOf(p)
		if ref == nil {
			unmanaged = true
			continue
		}
		uid, size, err := scaleOf(v, p.Namespace, ref)
		if err != nil {
			return 0, false, err
		}
		if uid == "" {
			return 0, false, fmt.Errorf("found no controllers for pod %q", p.Name)
		}
		if !seen[uid] {
			seen[uid] = true
			n += size
		}
	}
	return n, unmanaged, nil
}

// scaleOf reads the size of a controller; of a ReplicaSet, that of its Deployment. uid is "" when it is not there.
func scaleOf(v View, namespace string, ref *metav1.OwnerReference) (uid types.UID, size int32, err error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", 0, err
	}
	var obj runtime.Object
	var replicas *int32
	switch gk := (schema.GroupKind{Group: gv.Group, Kind: ref.Kind}); gk {
	case replicaSetKind.GroupKind():
		if rs := get[*appsv1.ReplicaSet](v, ReplicaSets, namespace, ref.Name); rs != nil && rs.UID == ref.UID {
			if up := controllerOf(rs); up != nil && up.Kind == deploymentKind.Kind {
				return scaleOf(v, namespace, up)
			}
			obj, replicas = rs, rs.Spec.Replicas
		}
	case deploymentKind.GroupKind():
		if d := get[*appsv1.Deployment](v, Deployments, namespace, ref.Name); d != nil {
			obj, replicas = d, d.Spec.Replicas
		}
	case statefulSetKind.GroupKind():
		if s := get[*appsv1.StatefulSet](v, StatefulSets, namespace, ref.Name); s != nil {
			obj, replicas = s, s.Spec.Replicas
		}
	case corev1.SchemeGroupVersion.WithKind("ReplicationController").GroupKind():
		if rc := get[*corev1.ReplicationController](v, ReplicationControllers, namespace, ref.Name); rc != nil {
			obj, replicas = rc, rc.Spec.Replicas
		}
	default:
		gr, _ := meta.UnsafeGuessKindToResource(gv.WithKind(ref.Kind))
		return "", 0, fmt.Errorf("%s does not implement the scale subresource", gr.GroupResource())
	}
	if obj == nil || accessor(obj).GetUID() != ref.UID || replicas == nil {
		return "", 0, nil
	}
	return ref.UID, *replicas, nil
}
