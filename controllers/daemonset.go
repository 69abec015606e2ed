package controllers

import (
	"fmt"
	"sort"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// The DaemonSet controller keeps one pod on each node that fits. Key: a DaemonSet. Woken by it, its pods, and all of them by
// nodes. The pod names its node in its affinity, and the scheduler binds it there.

// failedDaemonRest is how long a failed daemon pod stays at least: a kubelet that rejects pods must not be
// flooded with them.
const failedDaemonRest = 5 * time.Second

var daemonSetKind = appsv1.SchemeGroupVersion.WithKind("DaemonSet")

// DaemonSet is daemonset-controller.
func DaemonSet() Controller {
	return Controller{
		Name: "daemonset-controller", Account: "daemon-set-controller",
		Keys: keyMap{
			DaemonSets: itself,
			Pods: podOwnerKeys("DaemonSet", func(v View, pod *corev1.Pod) []Key {
				return daemonSetKeys(v, pod.Namespace, func(d *appsv1.DaemonSet) bool {
					return selectorOf(d.Spec.Selector).Matches(labels.Set(pod.Labels))
				})
			}),
			Nodes: func(v View, c Object) []Key {
				now, _ := c.Now.(*corev1.Node)
				prev, _ := c.Prev.(*corev1.Node)
				if now != nil && prev != nil && equality.Semantic.DeepEqual(now.Labels, prev.Labels) && equality.Semantic.DeepEqual(now.Spec.Taints, prev.Spec.Taints) {
					return nil
				}
				return daemonSetKeys(v, "", func(*appsv1.DaemonSet) bool { return true })
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				if d := get[*appsv1.DaemonSet](v, DaemonSets, k.Namespace, k.Name); d != nil && d.DeletionTimestamp == nil {
					(&daemonStep{v: v, k: k, set: d, out: &out}).step()
				}
			}
			return out
		},
	}
}

func daemonSetKeys(v View, namespace string, fits func(*appsv1.DaemonSet) bool) []Key {
	var keys []Key
	for _, d := range typed[*appsv1.DaemonSet](v.List(DaemonSets, namespace, nil)) {
		if fits(d) {
			keys = append(keys, NameKey(d))
		}
	}
	return keys
}

// daemonStep is one step of one DaemonSet.
type daemonStep struct {
	v   View
	k   Key
	set *appsv1.DaemonSet
	out *Outcome

	hash   string // of the template, in the pods' labels
	model  *corev1.Pod
	nodes  []daemonNode
	doom   []*corev1.Pod
	births []string // nodes to make a pod for
}

// daemonNode is a node and what the set has on it. starts says that a pod should be there, stays that one that is there
// may go on: a taint NoSchedule comes between the two.
type daemonNode struct {
	name         string
	starts, stay bool
	pods         []*corev1.Pod // oldest first, those on their way out included
}

// step does one.
func (s *daemonStep) step() {
	selector := selectorOf(s.set.Spec.Selector)
	if selector.Empty() {
		s.tell(corev1.EventTypeWarning, "SelectingAll", "This daemon set is selecting all pods. A non-empty selector is required.")
		return
	}
	status := *s.set.Status.DeepCopy()
	history := readLineage(s.v, lineage{key: s.k, owner: s.set, gvk: daemonSetKind, selector: selector, label: appsv1.DefaultDaemonSetUniqueLabelKey,
		hash: func(t *corev1.PodTemplateSpec, _ []byte, collisions *int32) string {
			return templateHash(t, collisions)
		}}, s.out)
	latest, err := history.latest(s.v, &s.set.Spec.Template, &status.CollisionCount, s.out)
	if err != nil {
		s.tell(corev1.EventTypeWarning, "FailedUpdate", err.Error())
		return
	}
	s.hash = latest.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
	s.model = daemonPod(s.set, s.hash)
	pods := s.claim(selector)
	s.survey(pods)
	s.manage()
	if s.set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType && len(s.doom)+len(s.births) == 0 {
		s.roll()
	}
	s.apply()
	s.storeStatus(status)
	live := map[string]bool{latest.Name: true}
	for _, r := range history.list {
		for _, p := range pods {
			if p.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] == r.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] {
				live[r.Name] = true
			}
		}
	}
	history.prune(s.set.Spec.RevisionHistoryLimit, live, s.out)
}

func (s *daemonStep) tell(eventType, reason, message string) {
	s.out.Writes = append(s.out.Writes, record(s.k, "daemonset-controller", Reference(s.set, daemonSetKind), eventType, reason, message))
}

// claim gives the set's pods, lets go of those that do not match any more, and adopts those that do.
func (s *daemonStep) claim(selector labels.Selector) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, p := range typed[*corev1.Pod](s.v.Owned(Pods, s.set.UID)) {
		switch {
		case !metav1.IsControlledBy(p, s.set):
		case selector.Matches(labels.Set(p.Labels)):
			pods = append(pods, p)
		default:
			s.out.Writes = append(s.out.Writes, release(s.k, Pods, p, s.set.UID))
		}
	}
	for _, p := range typed[*corev1.Pod](s.v.List(Pods, s.set.Namespace, selector)) {
		if controllerOf(p) == nil && p.DeletionTimestamp == nil {
			s.out.Writes = append(s.out.Writes, adoption(s.k, Pods, p, controllerRef(s.set, daemonSetKind)))
			pods = append(pods, p)
		}
	}
	return pods
}

// survey sorts the pods by node, and asks of each node whether it fits. A pod for a node that does not exist will never be bound.
func (s *daemonStep) survey(pods []*corev1.Pod) {
	on := map[string][]*corev1.Pod{}
	for _, p := range pods {
		if node := daemonTarget(p); node != "" && !(podEnded(p) && p.DeletionTimestamp != nil) {
			on[node] = append(on[node], p)
		}
	}
	affinity := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: s.set.Spec.Template.Spec})
	for _, n := range typed[*corev1.Node](s.v.List(Nodes, "", nil)) {
		d := daemonNode{name: n.Name, pods: on[n.Name]}
		sort.SliceStable(d.pods, func(i, j int) bool { return olderDaemon(d.pods[i], d.pods[j]) })
		delete(on, n.Name)
		fits, err := affinity.Match(n)
		if want := s.set.Spec.Template.Spec.NodeName; err == nil && fits && (want == "" || want == n.Name) {
			d.starts, d.stay = s.bears(n.Spec.Taints)
		}
		s.nodes = append(s.nodes, d)
	}
	for _, p := range pods {
		if _, missing := on[daemonTarget(p)]; missing && p.Spec.NodeName == "" && p.DeletionTimestamp == nil {
			s.doom = append(s.doom, p)
		}
	}
}

// olderDaemon: a bound pod goes before an unbound one, then by age.
func olderDaemon(a, b *corev1.Pod) bool {
	if (a.Spec.NodeName == "") != (b.Spec.NodeName == "") {
		return a.Spec.NodeName != ""
	}
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// bears asks the tolerations that daemon pods have about a node's taints.
func (s *daemonStep) bears(taints []corev1.Taint) (starts, stays bool) {
	starts, stays = true, true
	for i := range taints {
		t, borne := &taints[i], false
		for j := range s.model.Spec.Tolerations {
			borne = borne || s.model.Spec.Tolerations[j].ToleratesTaint(klog.Background(), t, false)
		}
		switch {
		case borne:
		case t.Effect == corev1.TaintEffectNoExecute:
			starts, stays = false, false
		case t.Effect == corev1.TaintEffectNoSchedule:
			starts = false
		}
	}
	return starts, stays
}

// manage finds nodes that lack their pod, and pods that are too many, ended, or on the wrong node.
func (s *daemonStep) manage() {
	surge, _ := s.fences()
	for _, n := range s.nodes {
		if !n.stay {
			s.doom = append(s.doom, standing(n.pods)...)
			continue
		}
		if len(n.pods) == 0 {
			if n.starts {
				s.births = append(s.births, n.name)
			}
			continue
		}
		var run []*corev1.Pod
		for _, p := range standing(n.pods) {
			if !podEnded(p) {
				run = append(run, p)
			} else {
				s.ended(p, n.name)
			}
		}
		switch {
		case surge > 0 && len(run) == 0 && n.starts && len(standing(n.pods)) == 0:
			s.births = append(s.births, n.name)
		case surge > 0:
			s.prunePair(run)
		case len(run) > 1:
			s.doom = append(s.doom, run[1:]...)
		}
	}
}

// ended deletes a pod that ended, and says so.
func (s *daemonStep) ended(p *corev1.Pod, node string) {
	if p.Status.Phase == corev1.PodSucceeded {
		s.tell(corev1.EventTypeNormal, "SucceededDaemonPod", fmt.Sprintf("Found succeeded daemon pod %s/%s on node %s, will try to delete it", p.Namespace, p.Name, node))
	} else {
		if due := p.CreationTimestamp.Add(failedDaemonRest); due.After(s.v.Now()) {
			s.out.again(s.k, due)
			return
		}
		s.tell(corev1.EventTypeWarning, "FailedDaemonPod", fmt.Sprintf("Found failed daemon pod %s/%s on node %s, will try to kill it", p.Namespace, p.Name, node))
	}
	s.doom = append(s.doom, p)
}

// prunePair leaves of the pods of a node an old and a new one, and only while the old one is ready and the new one not yet available.
func (s *daemonStep) prunePair(run []*corev1.Pod) {
	if len(run) < 2 {
		return
	}
	var latest, old *corev1.Pod
	for _, p := range run {
		switch {
		case s.updated(p) && latest == nil:
			latest = p
		case !s.updated(p) && old == nil:
			old = p
		default:
			s.doom = append(s.doom, p)
		}
	}
	if latest != nil && old != nil && (!podReady(old) || s.available(latest)) {
		s.doom = append(s.doom, old)
	}
}

// apply makes the writes.
func (s *daemonStep) apply() {
	about, ref := Reference(s.set, daemonSetKind), controllerRef(s.set, daemonSetKind)
	tell := func(eventType, reason, message string) []Write {
		return []Write{record(s.k, "daemonset-controller", about, eventType, reason, message)}
	}
	left := min(len(s.births), burst)
	for size, at := 1, 0; at < left; size *= 2 { // in batches of 1, 2, 4: when the first is refused, the others are not tried
		for i := range min(size, left-at) {
			p := s.model.DeepCopy()
			p.OwnerReferences = []metav1.OwnerReference{ref}
			pinTo(p, s.births[at+i])
			w := creation(s.k, Pods, p)
			w.Beside, w.Ignore = i > 0, terminating
			w.Done = func(pod runtime.Object) []Write {
				return tell(corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: "+accessor(pod).GetName())
			}
			w.Failed = func(err error) []Write {
				return tell(corev1.EventTypeWarning, "FailedCreate", "Error creating: "+err.Error())
			}
			s.out.Writes = append(s.out.Writes, w)
		}
		at += min(size, left-at)
	}
	for i, p := range s.doom[:min(len(s.doom), burst)] {
		w := deletion(s.k, Pods, p)
		w.Beside = i > 0
		w.Done = func(runtime.Object) []Write {
			return tell(corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: "+p.Name)
		}
		w.Failed = func(err error) []Write {
			return tell(corev1.EventTypeWarning, "FailedDelete", "Error deleting: "+err.Error())
		}
		s.out.Writes = append(s.out.Writes, w)
	}
}

// storeStatus counts, and writes what changed.
func (s *daemonStep) storeStatus(status appsv1.DaemonSetStatus) {
	fresh := appsv1.DaemonSetStatus{ObservedGeneration: s.set.Generation, CollisionCount: status.CollisionCount, Conditions: status.Conditions}
	for _, n := range s.nodes {
		if !n.starts {
			if len(n.pods) > 0 {
				fresh.NumberMisscheduled++
			}
			continue
		}
		fresh.DesiredNumberScheduled++
		if len(n.pods) == 0 {
			continue
		}
		fresh.CurrentNumberScheduled++
		p := n.pods[0]
		if podReady(p) {
			fresh.NumberReady++
			if s.available(p) {
				fresh.NumberAvailable++
			}
		}
		if s.updated(p) {
			fresh.UpdatedNumberScheduled++
		}
	}
	fresh.NumberUnavailable = fresh.DesiredNumberScheduled - fresh.NumberAvailable
	if equality.Semantic.DeepEqual(fresh, s.set.Status) {
		return
	}
	s.out.Writes = append(s.out.Writes, mutation(s.k, DaemonSets, "status", s.set, func(now *appsv1.DaemonSet) error {
		now.Status = *fresh.DeepCopy()
		return nil
	}))
}
