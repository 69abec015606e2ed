package scheduler

import (
	"fmt"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// The controller. Keys: a pod that waits for a node; retry, when something
// changed that may help those that were refused before: a node, a pod that left, a volume.

// Name is what pods put into spec.schedulerName, and what reports events.
const Name = "default-scheduler"

// flushInterval is how often refused pods are tried again though nothing seems to have changed.
const flushInterval = 5 * time.Minute

// retry is the key of all refused pods.
var retry = controllers.Key{Resource: controllers.Nodes}

// podKind is what events regard.
var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// New is the controller.
func New() controllers.Controller {
	retryAlways := func(controllers.View, controllers.Object) []controllers.Key { return []controllers.Key{retry} }
	return controllers.Controller{
		Name: Name, Manager: "kube-scheduler",
		User:  "system:kube-scheduler",
		Every: flushInterval,
		Keys: map[controllers.Resource]controllers.KeysFunc{
			controllers.Pods:                   podKeys,
			controllers.Nodes:                  nodeKeys,
			controllers.PersistentVolumes:      retryAlways,
			controllers.PersistentVolumeClaims: retryAlways,
			controllers.StorageClasses:         retryAlways,
		},
		Step: step,
	}
}

// waits says whether a pod is for this scheduler to place.
func waits(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && p.Spec.SchedulerName == Name && p.DeletionTimestamp == nil &&
		len(p.Spec.SchedulingGates) == 0 && !ended(p)
}

// ended says that a pod takes no room any more.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// podKeys wakes a pod that waits when it is new or changed by others than this
// scheduler, and the refused ones when a pod made room or may be what an affinity asks for.
func podKeys(_ controllers.View, c controllers.Object) []controllers.Key {
	now, _ := c.Now.(*corev1.Pod)
	prev, _ := c.Prev.(*corev1.Pod)
	if now != nil && waits(now) {
		if prev != nil && waits(prev) && equality.Semantic.DeepEqual(prev.Spec, now.Spec) && equality.Semantic.DeepEqual(prev.Labels, now.Labels) {
			return nil // only its status: most likely our own refusal
		}
		return []controllers.Key{keyOf(now)}
	}
	placed := func(p *corev1.Pod) bool { return p != nil && p.Spec.NodeName != "" && !ended(p) }
	if placed(prev) != placed(now) || (placed(now) && !equality.Semantic.DeepEqual(prev.Labels, now.Labels)) {
		return []controllers.Key{retry}
	}
	return nil
}

// nodeKeys wakes the refused pods when a node changed in what is asked of it.
func nodeKeys(_ controllers.View, c controllers.Object) []controllers.Key {
	now, _ := c.Now.(*corev1.Node)
	prev, _ := c.Prev.(*corev1.Node)
	if now != nil && prev != nil &&
		equality.Semantic.DeepEqual(now.Spec, prev.Spec) && equality.Semantic.DeepEqual(now.Labels, prev.Labels) &&
		equality.Semantic.DeepEqual(now.Status.Allocatable, prev.Status.Allocatable) {
		return nil
	}
	return []controllers.Key{retry}
}

func keyOf(p *corev1.Pod) controllers.Key {
	return controllers.Key{Namespace: p.Namespace, Name: p.Name}
}

// step places what waits.
func step(v controllers.View, keys []controllers.Key) controllers.Outcome {
	var out controllers.Outcome
	asked := map[controllers.Key]bool{}
	all := false
	for _, k := range keys {
		all = all || k == retry || k == controllers.Key{}
		asked[k] = true
	}
	pods := list[*corev1.Pod](v, controllers.Pods)
	var queue []*corev1.Pod
	for _, p := range pods {
		if waits(p) && (all || asked[keyOf(p)]) {
			queue = append(queue, p)
		}
	}
	if len(queue) == 0 {
		return out
	}
	sort.SliceStable(queue, func(i, j int) bool { return goesFirst(queue[i], queue[j]) })
	c := newCluster(v, list[*corev1.Node](v, controllers.Nodes), pods)
	for _, p := range queue {
		out.Writes = append(out.Writes, c.carryOut(p, c.place(p))...)
	}
	return out
}

// carryOut makes the writes of a decision, and counts what it takes.
func (c *cluster) carryOut(p *corev1.Pod, d decision) []controllers.Write {
	switch {
	case d.evictions != nil:
		node := c.accept(d.evictions, p)
		writes := refuse(c.v, p, d.why, node)
		for _, victim := range d.evictions.victims {
			writes = append(writes, evict(c.v, p, victim, node)...)
		}
		return writes
	case d.node == nil:
		return refuse(c.v, p, d.why, "")
	}
	d.node.add(p)
	if len(d.question.late) > 0 {
		return c.reserve(d.question, d.node.node)
	}
	return []controllers.Write{bind(p, d.node.node.Name)}
}

// goesFirst orders the queue: by priority, then by age.
func goesFirst(a, b *corev1.Pod) bool {
	if pa, pb := priority(a), priority(b); pa != pb {
		return pa > pb
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

func priority(p *corev1.Pod) int32 {
	if p.Spec.Priority == nil {
		return 0
	}
	return *p.Spec.Priority
}

// bind makes the write that gives a pod its node. Somebody else may have bound or deleted it: then there is nothing to do.
func bind(p *corev1.Pod, node string) controllers.Write {
	k := keyOf(p)
	return controllers.Write{
		Verb: controllers.Create, Key: k,
		Write: kinds.Write{
			Resource: controllers.Pods, Subresource: "binding", Namespace: p.Namespace, Name: p.Name,
			Object: &corev1.Binding{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Binding"},
				ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
				Target:     corev1.ObjectReference{Kind: "Node", Name: node},
			},
		},
		Ignore: apierrors.IsNotFound,
		Done: func(runtime.Object) []controllers.Write {
			return []controllers.Write{event(k, p, corev1.EventTypeNormal, "Scheduled", "Binding",
				fmt.Sprintf("Successfully assigned %s/%s to %s", p.Namespace, p.Name, node))}
		},
	}
}

// refuse makes the writes that tell why a pod has no node: an event, and the condition when it is news. A nominated node is
// where the pod will have a place soon.
func refuse(v controllers.View, p *corev1.Pod, why, nominated string) []controllers.Write {
	k := keyOf(p)
	writes := []controllers.Write{event(k, p, corev1.EventTypeWarning, "FailedScheduling", "Scheduling", shorten(why))}
	old := condition(p)
	if old != nil && old.Status == corev1.ConditionFalse && old.Reason == corev1.PodReasonUnschedulable && old.Message == why {
		return writes
	}
	c := corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
		LastTransitionTime: metav1.NewTime(v.Now()), ObservedGeneration: p.Generation,
	}
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return append(writes, controllers.Write{
		Verb: controllers.Mutate, Key: k, Ignore: apierrors.IsNotFound,
		Write: kinds.Write{
			Resource: controllers.Pods, Subresource: "status", Namespace: p.Namespace, Name: p.Name,
			Mutate: func(obj runtime.Object) error {
				now, ok := obj.(*corev1.Pod)
				if !ok || now.UID != p.UID || now.Spec.NodeName != "" {
					return nil // it is not the pod that was refused
				}
				if nominated != "" {
					now.Status.NominatedNodeName = nominated
				}
				if have := condition(now); have != nil {
					*have = c
				} else {
					now.Status.Conditions = append(now.Status.Conditions, c)
				}
				return nil
			},
		},
	})
}

// condition finds PodScheduled, nil when it is not there.
func condition(p *corev1.Pod) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == corev1.PodScheduled {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

// event makes a Record of the newer API, which the scheduler uses.
func event(k controllers.Key, p *corev1.Pod, eventType, reason, action, message string) controllers.Write {
	return controllers.Write{Verb: controllers.Record, Key: k, Event: &controllers.Event{
		Regarding: controllers.Reference(p, podKind), Type: eventType, Reason: reason, Action: action, Message: message, Component: Name,
	}}
}

// longestNote is what an event may say.
const longestNote = 1024

func shorten(message string) string {
	if len(message) <= longestNote {
		return message
	}
	const suffix = " ..."
	return message[:longestNote-len(suffix)] + suffix
}

// list gives all objects of a resource with their type.
func list[T runtime.Object](v controllers.View, gr controllers.Resource) []T {
	objs := v.List(gr, "", nil)
	out := make([]T, 0, len(objs))
	for _, obj := range objs {
		if t, ok := obj.(T); ok {
			out = append(out, t)
		}
	}
	return out
}
