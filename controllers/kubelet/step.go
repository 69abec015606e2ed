package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
	"kuberow/controllers"
)

// The controller: how the kubelet hangs on the runner. Step shows each pod to
// its worker and writes the status that follows from what the worker reports.

// Name is the controller's name and the field manager of its writes.
const Name = "kubelet"

var (
	podResource       = schema.GroupResource{Resource: "pods"}
	configMapResource = schema.GroupResource{Resource: "configmaps"}
	secretResource    = schema.GroupResource{Resource: "secrets"}
	serviceResource   = schema.GroupResource{Resource: "services"}
)

// housekeeping is how often missed events and orphans are looked for.
const housekeeping = 30 * time.Second

// Controller gives the control loop of this kubelet.
func (k *Kubelet) Controller() controllers.Controller {
	return controllers.Controller{
		Name: Name, Manager: Name,
		Keys: map[schema.GroupResource]func(controllers.View, controllers.Object) []controllers.Key{
			podResource:       podKeys,
			configMapResource: k.refKeys("configmap"),
			secretResource:    k.refKeys("secret"),
		},
		Step:  k.Step,
		Every: housekeeping,
	}
}

// podKeys gives pods that are or were bound.
func podKeys(_ controllers.View, o controllers.Object) []controllers.Key {
	for _, obj := range []runtime.Object{o.Now, o.Prev} {
		if p, ok := obj.(*corev1.Pod); ok && p != nil && p.Spec.NodeName != "" {
			return []controllers.Key{{Namespace: p.Namespace, Name: p.Name}}
		}
	}
	return nil
}

// Step looks at pods; see Controller.
func (k *Kubelet) Step(v controllers.View, keys []controllers.Key) controllers.Outcome {
	out := controllers.Outcome{Again: map[controllers.Key]time.Time{}}
	for _, key := range keys {
		if key == (controllers.Key{}) {
			k.housekeep()
			continue
		}
		k.stepPod(v, key, &out)
	}
	out.Writes = append(out.Writes, k.told.take()...)
	return out
}

// stepPod handles one key.
func (k *Kubelet) stepPod(v controllers.View, key controllers.Key, out *controllers.Outcome) {
	pod, _ := v.Get(podResource, key.Namespace, key.Name).(*corev1.Pod)
	w := k.match(key, pod)
	if w == nil {
		return
	}
	w.observe(pod)
	now := k.Clock.Now()
	if w.needsSync(now) {
		k.kick(w)
	}
	var probe time.Time
	if k.sim == nil {
		probe = k.probe(w)
	}
	k.write(key, w, pod, now, out)
	w.mu.Lock()
	next := w.next
	w.mu.Unlock()
	setAgain(out, key, next)
	setAgain(out, key, probe)
}

func setAgain(out *controllers.Outcome, key controllers.Key, t time.Time) {
	if old, ok := out.Again[key]; !t.IsZero() && (!ok || t.Before(old)) {
		out.Again[key] = t
	}
}

// match finds the worker of a key's pod, making it. A worker whose pod is gone
// (deleted, or replaced by another of its name) is told so. nil when there is nothing of ours.
func (k *Kubelet) match(key controllers.Key, pod *corev1.Pod) *worker {
	if pod != nil && (pod.Spec.NodeName == "" || k.NodeAddresses(pod.Spec.NodeName) == nil) {
		pod = nil
	}
	k.mu.Lock()
	old := k.byName[key]
	var w *worker
	if pod != nil {
		if w = k.pods[pod.UID]; w == nil {
			w = k.newWorker(key, pod.UID, pod.Spec.NodeName)
			k.pods[pod.UID] = w
		}
		if old != w {
			k.byName[key] = w
			k.addRefs(pod)
		}
	} else {
		delete(k.byName, key)
	}
	k.mu.Unlock()
	if old != nil && old != w && k.isGone(old) {
		old.lost()
		k.kick(old)
	}
	return w
}

// isGone asks the API whether a worker's pod is there no more. A View that
// could not be read has no pods either, and must not stop what runs.
func (k *Kubelet) isGone(w *worker) bool {
	o, err := k.Reader.Get(k.ctx, podResource, w.key.Namespace, w.key.Name)
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	p, ok := o.(*corev1.Pod)
	return ok && p.UID != w.uid
}

// forget drops a worker whose pod is gone and removed.
func (k *Kubelet) forget(w *worker) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, w.uid)
	w.mu.Lock()
	defer w.mu.Unlock()
	k.dropRefs(w.pod)
}

// patience is how long the first status of a pod waits for the worker: a pod
// that starts at once then needs only one.
const patience = 100 * time.Millisecond

// write wants the status write, or the delete, that a pod needs.
func (k *Kubelet) write(key controllers.Key, w *worker, pod *corev1.Pod, now time.Time, out *controllers.Outcome) {
	w.mu.Lock()
	if !k.up.Load() {
		w.mu.Unlock()
		return
	}
	if t := w.born.Add(patience); w.busy && pod.Status.StartTime == nil && pod.DeletionTimestamp == nil && now.Before(t) {
		w.mu.Unlock()
		setAgain(out, key, t)
		return
	}
	in := k.statusInput(w, pod, now)
	status := makeStatus(in)
	w.mu.Unlock()

	if !equality.Semantic.DeepEqual(pod.Status, status) {
		out.Writes = append(out.Writes, k.statusWrite(key, pod, status))
		return // the change brings the key back
	}
	if pod.DeletionTimestamp != nil && in.stopped && terminalPhase(status.Phase) {
		zero := int64(0)
		out.Writes = append(out.Writes, controllers.Write{
			Verb: controllers.Delete, Key: key, Ignore: goneOrOther,
			Write: kinds.Write{
				User: controllers.NodeUser(pod.Spec.NodeName), Agent: Name, Resource: podResource,
				Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, GracePeriodSeconds: &zero,
			},
		})
	}
}

// errOtherPod says that the name now belongs to another pod.
var errOtherPod = errors.New("the pod was replaced by another of the same name")

// goneOrOther are failures that mean there is nothing left to write.
func goneOrOther(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) || errors.Is(err, errOtherPod)
}

// statusWrite puts the status on the pod as it is when the write is made:
// what others wrote into it meanwhile stays.
func (k *Kubelet) statusWrite(key controllers.Key, pod *corev1.Pod, status corev1.PodStatus) controllers.Write {
	uid := pod.UID
	return controllers.Write{
		Verb: controllers.Mutate, Key: key,
		Ignore: func(err error) bool { return apierrors.IsNotFound(err) || errors.Is(err, errOtherPod) },
		Write: kinds.Write{
			User: controllers.NodeUser(pod.Spec.NodeName), Agent: Name, Resource: podResource, Subresource: "status",
			Namespace: pod.Namespace, Name: pod.Name,
			Mutate: func(obj runtime.Object) error {
				p, ok := obj.(*corev1.Pod)
				if !ok {
					return fmt.Errorf("write status of pod %s: got a %T", key.Name, obj)
				}
				if p.UID != uid {
					return errOtherPod
				}
				p.Status = mergeStatus(p.Status, status)
				return nil
			},
		},
	}
}

// housekeep finds what no change told of: sandboxes whose pod is gone, and
// events of the engine that were missed.
func (k *Kubelet) housekeep() {
	k.orphans()
	if k.sim == nil && k.up.Load() {
		k.spawn(func() {
			if err := k.relist(k.ctx); err != nil && k.ctx.Err() == nil {
				k.Logger.Warn("kubelet: list what runs", "err", err)
			}
		})
	}
}
