package core

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
)

// An Eviction is a deletion that asks the pod's PodDisruptionBudget first.
//
//  1. A pod that is finished, pending or already going needs no permission.
//  2. An unready pod may go when its budget is met without it.
//  3. Otherwise one disruption is taken from the budget's status, and the pod's
//     name is left there, so that the budget's controller does not count the pod.
//  4. The pod gets the condition DisruptionTarget and is deleted.
//
// When the budget allows none, the answer is 429 and the client tries again.

// apiServer is the field manager of what the server changes by itself.
const apiServer = "kube-apiserver"

// maxDisruptedPods bounds the evictions that the budget's controller has not yet seen.
const maxDisruptedPods = 2000

func budgetsGR() schema.GroupResource {
	return schema.GroupResource{Group: "policy", Resource: "poddisruptionbudgets"}
}

func createEviction(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	e := in.(*policyv1.Eviction)
	if r.Name != e.Name {
		return nil, errors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	options := e.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if p := options.IgnoreStoreReadErrorWithClusterBreakingPotential; p != nil && *p {
		path := field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential")
		return nil, errors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), r.Name, field.ErrorList{
			field.Invalid(path, true, "can not be set for pod eviction, try after removing the option")})
	}
	all := []string{metav1.DryRunAll}
	if r.DryRun && len(options.DryRun) > 0 && !slices.Equal(options.DryRun, all) {
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v", all, options.DryRun)
	}
	dryRun := r.DryRun || len(options.DryRun) > 0
	obj, err := r.Reader.Get(r.Ctx, podsGR(), r.Namespace, r.Name)
	if err != nil {
		return nil, err
	}
	if faults := metav1validation.ValidateDeleteOptions(options); len(faults) > 0 { // the deletion's own check, so the pod is there
		return nil, errors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", faults)
	}
	pod := obj.(*corev1.Pod)
	pinned, failed, err := permit(r, pod, dryRun)
	if err != nil {
		return nil, err
	}
	if failed != nil {
		return failed, nil
	}
	if err := evict(r, pod, options, pinned, dryRun); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: 201}, nil
}

// permit asks the budget. pinned names the budget that allowed it only because of the state
// that the pod was seen in; the deletion must then find that state.
func permit(r *kinds.Context, pod *corev1.Pod, dryRun bool) (pinned string, failed *metav1.Status, err error) {
	if finished(pod) || pod.Status.Phase == corev1.PodPending || !pod.DeletionTimestamp.IsZero() {
		return "", nil, nil
	}
	budgets, err := budgetsOf(r, pod)
	if err != nil || len(budgets) == 0 {
		return "", nil, err
	}
	if len(budgets) > 1 {
		return "", &metav1.Status{Status: metav1.StatusFailure, Code: 500,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."}, nil
	}
	budget := budgets[0]
	if !podReady(pod) {
		policy := budget.Spec.UnhealthyPodEvictionPolicy
		met := budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
		if met || (policy != nil && *policy == policyv1.AlwaysAllow) {
			return budget.Name, nil, nil
		}
	}
	if dryRun {
		return "", nil, mayDisrupt(budget)
	}
	_, err = r.Client.Mutate(r.Ctx, kinds.Write{
		User: r.User, Agent: apiServer, Resource: budgetsGR(), Subresource: "status",
		Namespace: budget.Namespace, Name: budget.Name, Cause: r.Cause,
		Mutate: func(obj runtime.Object) error {
			return takeDisruption(r, obj.(*policyv1.PodDisruptionBudget), pod.Name)
		},
	})
	return "", nil, err
}

func finished(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func budgetsOf(r *kinds.Context, pod *corev1.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	list, err := r.Reader.List(r.Ctx, budgetsGR(), pod.Namespace, nil)
	if err != nil {
		return nil, fmt.Errorf("list poddisruptionbudgets: %w", err)
	}
	var out []*policyv1.PodDisruptionBudget
	for _, obj := range list {
		budget := obj.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, budget)
		}
	}
	return out, nil
}

func takeDisruption(r *kinds.Context, budget *policyv1.PodDisruptionBudget, pod string) error {
	if err := mayDisrupt(budget); err != nil {
		return err
	}
	budget.Status.DisruptionsAllowed--
	if budget.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&budget.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
			ObservedGeneration: budget.Status.ObservedGeneration, LastTransitionTime: metav1.NewTime(r.Now),
		})
	}
	if budget.Status.DisruptedPods == nil {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	budget.Status.DisruptedPods[pod] = metav1.NewTime(r.Now)
	return nil
}

// mayDisrupt says why a budget allows no eviction now.
func mayDisrupt(budget *policyv1.PodDisruptionBudget) error {
	s := &budget.Status
	switch {
	case s.ObservedGeneration < budget.Generation:
		return stillProcessed(budget.Name)
	case s.DisruptionsAllowed < 0:
		return budgetForbids(budget.Name, "pdb disruptions allowed is negative",
			"The disruption budget %s does not allow evicting pods currently: pdb disruptions allowed is negative")
	case len(s.DisruptedPods) > maxDisruptedPods:
		return budgetForbids(budget.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"The disruption budget %s does not allow evicting pods currently: too many pending evictions not confirmed by PDB controller")
	case s.DisruptionsAllowed > 0:
		return nil
	}
	err := errors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	addCause(err, whyNone(budget))
	return err
}

func whyNone(budget *policyv1.PodDisruptionBudget) string {
	s := &budget.Status
	c := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	said := c != nil && c.Status == metav1.ConditionFalse && c.Message != ""
	switch {
	case said && c.Reason == policyv1.SyncFailedReason:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently because it failed sync: %s", budget.Name, c.Message)
	case s.CurrentHealthy <= s.DesiredHealthy:
		return fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", budget.Name, s.DesiredHealthy, s.CurrentHealthy)
	case said:
		return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently (%s): %s", budget.Name, c.Reason, c.Message)
	}
	return fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
}

func stillProcessed(budget string) error {
	err := errors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	addCause(err, fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget))
	return err
}

func budgetForbids(budget, reason, cause string) error {
	gr := schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}
	err := errors.NewForbidden(gr, budget, fmt.Errorf("%s", reason))
	addCause(err, fmt.Sprintf(cause, budget))
	return err
}

func addCause(err *errors.StatusError, message string) {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: message,
	})
}

// evict marks the pod, so that its end is not taken for a failure of its own, and deletes it.
func evict(r *kinds.Context, pod *corev1.Pod, options *metav1.DeleteOptions, pinned string, dryRun bool) error {
	w := kinds.Write{
		User: r.User, Agent: r.Agent, Resource: podsGR(), Namespace: pod.Namespace, Name: pod.Name, Cause: r.Cause, DryRun: dryRun,
		GracePeriodSeconds: options.GracePeriodSeconds,
	}
	asked := false
	if p := options.Preconditions; p != nil {
		if p.UID != nil {
			w.UID = *p.UID
		}
		if p.ResourceVersion != nil {
			w.ResourceVersion, asked = *p.ResourceVersion, true
		}
	}
	if options.PropagationPolicy != nil {
		w.Propagation = string(*options.PropagationPolicy)
	}
	if pinned != "" && !asked {
		w.ResourceVersion = pod.ResourceVersion
	}
	if !dryRun {
		marked, err := r.Client.Mutate(r.Ctx, markEvicted(r, w))
		if err != nil {
			return retryLater(err, pinned, asked)
		}
		if w.ResourceVersion != "" {
			w.ResourceVersion = marked.(*corev1.Pod).ResourceVersion
		}
	}
	_, err := r.Client.Delete(r.Ctx, w)
	return retryLater(err, pinned, asked)
}

// retryLater: a pod that changed while its budget was asked is asked for again, not refused.
func retryLater(err error, pinned string, asked bool) error {
	if err != nil && pinned != "" && !asked && errors.IsConflict(err) {
		return stillProcessed(pinned)
	}
	return err
}

func markEvicted(r *kinds.Context, w kinds.Write) kinds.Write {
	uid, version := w.UID, w.ResourceVersion
	w.Subresource, w.UID, w.ResourceVersion, w.Unmanaged = "status", "", "", true
	w.Mutate = func(obj runtime.Object) error {
		p := obj.(*corev1.Pod)
		gr := schema.GroupResource{Resource: "Pod"}
		if uid != "" && uid != p.UID {
			return errors.NewConflict(gr, p.Name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", uid, p.UID))
		}
		if version != "" && version != p.ResourceVersion {
			return errors.NewConflict(gr, p.Name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", version, p.ResourceVersion))
		}
		setPodCondition(&p.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		}, metav1.NewTime(r.Now))
		return nil
	}
	return w
}
