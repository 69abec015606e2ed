package controllers

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The StatefulSet controller keeps pods that have names: NAME-0, NAME-1 and so on, each with claims of its own.
// Key: a StatefulSet. Woken by it, its pods and its claims.
//
// Ordered (the default), a step does at most one thing to pods, and nothing while an earlier pod is not available: create the
// first missing one, else delete the last surplus one, else delete the last outdated one. Parallel, it does all of each.

var statefulSetKind = appsv1.SchemeGroupVersion.WithKind("StatefulSet")

// StatefulSet is statefulset-controller.
func StatefulSet() Controller {
	return Controller{
		Name: "statefulset-controller",
		Keys: keyMap{
			StatefulSets: itself,
			Pods: podOwnerKeys("StatefulSet", func(v View, pod *corev1.Pod) []Key {
				var keys []Key
				for _, s := range typed[*appsv1.StatefulSet](v.List(StatefulSets, pod.Namespace, nil)) {
					if sel := selectorOf(s.Spec.Selector); ordinal(s, pod.Name) >= 0 && sel.Matches(labels.Set(pod.Labels)) {
						keys = append(keys, NameKey(s))
					}
				}
				return keys
			}),
			PersistentVolumeClaims: setsForClaim,
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if s := get[*appsv1.StatefulSet](v, StatefulSets, k.Namespace, k.Name); s != nil && s.Spec.Replicas != nil {
					(&setStep{v: v, k: k, set: s, out: &out}).step()
				}
			}
			return out
		},
	}
}

// setStep is one step of one StatefulSet.
type setStep struct {
	v   View
	k   Key
	set *appsv1.StatefulSet
	out *Outcome

	current, update *appsv1.ControllerRevision
	want            []*corev1.Pod // by ordinal; one without a phase is still to be created
	surplus         []*corev1.Pod // highest ordinal first
	status          appsv1.StatefulSetStatus
}

// ordinal reads a pod's number; -1 when the pod's name is not one of the set's.
func ordinal(s *appsv1.StatefulSet, pod string) int {
	i := strings.LastIndexByte(pod, '-')
	if i < 0 || pod[:i] != s.Name {
		return -1
	}
	n, err := strconv.ParseInt(pod[i+1:], 10, 32)
	if err != nil {
		return -1
	}
	return int(n)
}

// first is the lowest ordinal.
func first(s *appsv1.StatefulSet) int {
	if s.Spec.Ordinals == nil {
		return 0
	}
	return int(s.Spec.Ordinals.Start)
}

func (s *setStep) write(w ...Write) { s.out.Writes = append(s.out.Writes, w...) }

func (s *setStep) parallel() bool {
	return s.set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement
}

// step does one.
func (s *setStep) step() {
	selector := selectorOf(s.set.Spec.Selector)
	pods := s.claim(selector)
	collisions := new(int32)
	if s.set.Status.CollisionCount != nil {
		*collisions = *s.set.Status.CollisionCount
	}
	history := readLineage(s.v, lineage{key: s.k, owner: s.set, gvk: statefulSetKind, selector: selector, hash: patchHash, label: revisionHashLabel}, s.out)
	update, err := history.latest(s.v, &s.set.Spec.Template, &collisions, s.out)
	if err != nil {
		s.tell(corev1.EventTypeWarning, "FailedUpdate", err.Error())
		return
	}
	s.update, s.current = update, history.named(s.set.Status.CurrentRevision)
	if s.current == nil {
		s.current = update
	}
	s.status = appsv1.StatefulSetStatus{
		ObservedGeneration: s.set.Generation, CurrentRevision: s.current.Name, UpdateRevision: update.Name,
		CollisionCount: collisions, Conditions: s.set.Status.Conditions,
	}
	if err := s.sort(pods); err != nil {
		s.tell(corev1.EventTypeWarning, "FailedUpdate", err.Error())
		return
	}
	s.count(pods)
	if s.set.DeletionTimestamp == nil && s.replicas() && s.shrink() && s.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType {
		s.roll()
	}
	s.storeStatus()
	live := map[string]bool{s.current.Name: true, update.Name: true}
	for _, p := range pods {
		live[p.Labels[appsv1.StatefulSetRevisionLabel]] = true
	}
	history.prune(s.set.Spec.RevisionHistoryLimit, live, s.out)
}

// claim gives the set's pods, lets go of those that do not match any more, and adopts those that do.
func (s *setStep) claim(selector labels.Selector) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range typed[*corev1.Pod](s.v.Owned(Pods, s.set.UID)) {
		switch fits := selector.Matches(labels.Set(p.Labels)) && ordinal(s.set, p.Name) >= 0; {
		case !metav1.IsControlledBy(p, s.set):
		case fits:
			pods = append(pods, p)
		case s.set.DeletionTimestamp == nil:
			s.write(release(s.k, Pods, p, s.set.UID))
		}
	}
	if s.set.DeletionTimestamp != nil || selector.Empty() {
		return pods
	}
	for _, p := range typed[*corev1.Pod](s.v.List(Pods, s.set.Namespace, selector)) {
		if ordinal(s.set, p.Name) >= 0 && controllerOf(p) == nil && p.DeletionTimestamp == nil {
			s.write(adoption(s.k, Pods, p, controllerRef(s.set, statefulSetKind)))
			pods = append(pods, p)
		}
	}
	return pods
}

// sort puts the pods where they belong, and pods to be where there is none.
func (s *setStep) sort(pods []*corev1.Pod) error {
	start := first(s.set)
	s.want = make([]*corev1.Pod, *s.set.Spec.Replicas)
	for _, p := range pods {
		if i := ordinal(s.set, p.Name) - start; i >= 0 && i < len(s.want) {
			s.want[i] = p
		} else {
			s.surplus = append(s.surplus, p)
		}
	}
	sort.Slice(s.surplus, func(i, j int) bool {
		return ordinal(s.set, s.surplus[i].Name) > ordinal(s.set, s.surplus[j].Name)
	})
	for i, p := range s.want {
		if p != nil {
			continue
		}
		r := s.update
		if s.keepsCurrent(i) {
			r = s.current
		}
		template, err := templateOf(r)
		if err != nil {
			return err
		}
		s.want[i] = newSetPod(s.set, template, r.Name, start+i)
	}
	return nil
}

// keepsCurrent says that a new pod at place i is made of the current revision: it is below the partition.
func (s *setStep) keepsCurrent(i int) bool {
	u := s.set.Spec.UpdateStrategy
	if u.RollingUpdate == nil {
		return u.Type == appsv1.RollingUpdateStatefulSetStrategyType && i < int(s.set.Status.CurrentReplicas)
	}
	return u.RollingUpdate.Partition != nil && i < int(*u.RollingUpdate.Partition)
}

// newSetPod is a pod with its identity.
func newSetPod(set *appsv1.StatefulSet, t *corev1.PodTemplateSpec, revision string, n int) *corev1.Pod {
	p := podFromTemplate(t, set, controllerRef(set, statefulSetKind))
	p.Name = fmt.Sprintf("%s-%d", set.Name, n)
	p.Spec.Hostname, p.Spec.Subdomain = p.Name, set.Spec.ServiceName
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	p.Labels[appsv1.StatefulSetPodNameLabel] = p.Name
	p.Labels[appsv1.PodIndexLabel] = strconv.Itoa(n)
	p.Labels[appsv1.StatefulSetRevisionLabel] = revision
	mountClaims(set, p, n)
	return p
}

// available says that a pod has been ready for long enough.
func (s *setStep) available(p *corev1.Pod) bool {
	return podAvailable(p, s.set.Spec.MinReadySeconds, s.v.Now())
}

// away says that a pod serves nobody.
func (s *setStep) away(p *corev1.Pod) bool { return !s.available(p) || p.DeletionTimestamp != nil }

// count fills the numbers of the status.
func (s *setStep) count(pods []*corev1.Pod) {
	for _, p := range pods {
		s.status.Replicas++
		if p.Status.Phase == corev1.PodRunning && podReady(p) {
			s.status.ReadyReplicas++
			if s.available(p) {
				s.status.AvailableReplicas++
			} else {
				s.out.again(s.k, availableAt(p, s.set.Spec.MinReadySeconds))
			}
		}
		if p.DeletionTimestamp != nil {
			continue
		}
		if p.Labels[appsv1.StatefulSetRevisionLabel] == s.current.Name {
			s.status.CurrentReplicas++
		}
		if p.Labels[appsv1.StatefulSetRevisionLabel] == s.update.Name {
			s.status.UpdatedReplicas++
		}
	}
}

// replicas sees to the pods that there should be, and says whether the step goes on.
func (s *setStep) replicas() bool {
	for _, p := range s.want {
		if !s.replica(p) && !s.parallel() {
			return false
		}
	}
	return true
}

// replica sees to one, and says whether its successors may be looked at.
func (s *setStep) replica(p *corev1.Pod) bool {
	switch {
	case podEnded(p):
		if p.DeletionTimestamp == nil {
			s.delete(p)
		}
		return false
	case p.Status.Phase == "" && p.UID == "":
		if s.claimsStale(p) {
			return false
		}
		if !s.createClaims(p) {
			return false
		}
		s.create(p)
		return false
	case p.Status.Phase == corev1.PodPending:
		s.createClaims(p)
	}
	if p.DeletionTimestamp != nil || !s.available(p) {
		return false
	}
	s.ownClaims(p)
	if p.Labels[appsv1.StatefulSetPodNameLabel] != p.Name {
		s.write(mutation(s.k, Pods, "", p, func(now *corev1.Pod) error {
			if now.Labels == nil {
				now.Labels = map[string]string{}
			}
			now.Labels[appsv1.StatefulSetPodNameLabel] = now.Name
			now.Labels[appsv1.PodIndexLabel] = strconv.Itoa(ordinal(s.set, now.Name))
			return nil
		}))
	}
	return true
}

// shrink deletes surplus pods from the end, and says whether the step goes on.
func (s *setStep) shrink() bool {
	for _, p := range s.surplus {
		s.ownClaims(p)
	}
	var sick *corev1.Pod // the first one; it does not wait for itself
	for i := len(s.surplus) - 1; i >= 0 && sick == nil; i-- {
		if s.away(s.surplus[i]) {
			sick = s.surplus[i]
		}
	}
	for _, p := range s.surplus {
		switch {
		case s.parallel() && p.DeletionTimestamp == nil:
			s.delete(p)
		case s.parallel():
		case p.DeletionTimestamp != nil || (!s.available(p) && p != sick):
			return false
		default:
			s.delete(p)
			return false
		}
	}
	return true
}

// roll deletes outdated pods from the end, above the partition, as far as maxUnavailable allows. Parallel, pods that are
// unavailable already go first, whatever the limit.
func (s *setStep) roll() {
	partition, most := 0, 1
	if u := s.set.Spec.UpdateStrategy.RollingUpdate; u != nil {
		if u.Partition != nil {
			partition = int(*u.Partition)
		}
		n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(u.MaxUnavailable, intstr.FromInt32(1)), len(s.want), false)
		if err != nil {
			s.tell(corev1.EventTypeWarning, "FailedUpdate", err.Error())
			return
		}
		most = max(1, n)
	}
	for _, p := range s.want {
		if s.away(p) {
			most--
		}
	}
	outdated := func(p *corev1.Pod) bool {
		return p.UID != "" && p.DeletionTimestamp == nil && p.Labels[appsv1.StatefulSetRevisionLabel] != s.update.Name
	}
	for i := len(s.want) - 1; i >= partition && s.parallel(); i-- {
		if p := s.want[i]; outdated(p) && !s.available(p) {
			s.delete(p)
			s.status.CurrentReplicas--
		}
	}
	for i := len(s.want) - 1; i >= partition && most > 0; i-- {
		if p := s.want[i]; outdated(p) && (!s.parallel() || s.available(p)) {
			s.delete(p)
			s.status.CurrentReplicas--
			most--
		}
	}
}

// create makes a pod.
func (s *setStep) create(p *corev1.Pod) {
	w := creation(s.k, Pods, p)
	w.Ignore = terminating
	w.Done = func(runtime.Object) []Write { return s.did("Create", p, nil) }
	w.Failed = func(err error) []Write { return s.did("Create", p, err) }
	s.write(w)
}

// delete deletes one.
func (s *setStep) delete(p *corev1.Pod) {
	w := deletion(s.k, Pods, p)
	w.Done = func(runtime.Object) []Write { return s.did("Delete", p, nil) }
	w.Failed = func(err error) []Write { return s.did("Delete", p, err) }
	s.write(w)
}

// did tells what was done to a pod, or why not.
func (s *setStep) did(verb string, p *corev1.Pod, err error) []Write {
	about := Reference(s.set, statefulSetKind)
	what := fmt.Sprintf("%s Pod %s in StatefulSet %s ", verb, p.Name, s.set.Name)
	if err != nil {
		return []Write{record(s.k, "statefulset-controller", about, corev1.EventTypeWarning, "Failed"+verb, what+"failed error: "+err.Error())}
	}
	return []Write{record(s.k, "statefulset-controller", about, corev1.EventTypeNormal, "Successful"+verb, what+"successful")}
}

func (s *setStep) tell(eventType, reason, message string) {
	s.write(record(s.k, "statefulset-controller", Reference(s.set, statefulSetKind), eventType, reason, message))
}

// storeStatus writes what changed; a rollout that is over makes the update revision the current one.
func (s *setStep) storeStatus() {
	if n := *s.set.Spec.Replicas; s.status.UpdatedReplicas == n && s.status.ReadyReplicas == n && s.status.Replicas == n {
		s.status.CurrentReplicas, s.status.CurrentRevision = n, s.status.UpdateRevision
	}
	if equality.Semantic.DeepEqual(s.status, s.set.Status) {
		return
	}
	status := s.status
	s.write(mutation(s.k, StatefulSets, "status", s.set, func(now *appsv1.StatefulSet) error {
		now.Status = *status.DeepCopy()
		return nil
	}))
}
