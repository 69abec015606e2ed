package controllers

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
)

// The garbage collector deletes what has lost its owners, and carries out
// deletions in the foreground and with orphans. It watches every resource. Real
// Kubernetes builds a graph of all objects in memory for this; here the table owner is
// the graph. Keys:
//
//	resource, namespace, name   an object with owners, or one that waits for its dependents
//	uid                         an object that is gone: its dependents are looked at

// GarbageCollector is garbage-collector-controller.
func GarbageCollector() Controller {
	return Controller{
		Name:    "garbage-collector-controller",
		Account: "generic-garbage-collector",
		Any:     garbageKeys,
		Step: func(v View, keys []Key) Outcome {
			g := &garbage{v: v, seen: map[Key]bool{}}
			for _, k := range keys {
				if k.UID != "" {
					g.ownerGone(k)
				} else {
					g.look(k)
				}
			}
			return g.out
		},
	}
}

// garbageKeys says what a change may have turned into garbage.
func garbageKeys(v View, c Object) []Key {
	var keys []Key
	if c.Now == nil {
		m := accessor(c.Prev)
		return append(ownersToRecheck(v, m, nil), Key{UID: m.GetUID()})
	}
	now := accessor(c.Now)
	var before []metav1.OwnerReference
	if c.Prev != nil {
		before = accessor(c.Prev).GetOwnerReferences()
	}
	changed := c.Prev == nil || !equality.Semantic.DeepEqual(before, now.GetOwnerReferences())
	if (len(now.GetOwnerReferences()) > 0 && changed) || waitsForDependents(now) || orphansDependents(now) {
		keys = append(keys, Key{Resource: c.Resource, Namespace: now.GetNamespace(), Name: now.GetName()})
	}
	if c.Prev != nil && changed {
		keys = append(keys, ownersToRecheck(v, accessor(c.Prev), now.GetOwnerReferences())...)
	}
	return keys
}

// ownersToRecheck gives the owners that an object no longer blocks: they may have waited for it.
func ownersToRecheck(v View, was metav1.Object, now []metav1.OwnerReference) []Key {
	var keys []Key
	for _, ref := range was.GetOwnerReferences() {
		if slices.ContainsFunc(now, func(r metav1.OwnerReference) bool { return r.UID == ref.UID && blocks(r) }) {
			continue
		}
		if res := resourceOf(v, ref); res != nil {
			k := Key{Resource: res.GroupResource(), Name: ref.Name}
			if res.Namespaced {
				k.Namespace = was.GetNamespace()
			}
			keys = append(keys, k)
		}
	}
	return keys
}

// resourceOf finds the resource of an owner, nil when it is not served.
func resourceOf(v View, ref metav1.OwnerReference) *kinds.Resource {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	return v.Registry().ForKind(gv.WithKind(ref.Kind).GroupKind())
}

// waitsForDependents says that an object is deleted in the foreground.
func waitsForDependents(m metav1.Object) bool {
	return m.GetDeletionTimestamp() != nil && slices.Contains(m.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// orphansDependents says that an object is deleted and leaves its dependents behind.
func orphansDependents(m metav1.Object) bool {
	return m.GetDeletionTimestamp() != nil && slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// blocks says that an owner waits for this dependent.
func blocks(ref metav1.OwnerReference) bool {
	return ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// garbage is one step.
type garbage struct {
	v    View
	out  Outcome
	seen map[Key]bool // looked at in this step already
}

// ownerGone looks at everything that the object owned.
func (g *garbage) ownerGone(k Key) {
	for _, d := range g.v.Dependents(k.UID) {
		g.lookAt(keyOfDependent(d), d.Object, k)
	}
}

func keyOfDependent(d Dependent) Key {
	m := accessor(d.Object)
	return Key{Resource: d.Resource, Namespace: m.GetNamespace(), Name: m.GetName()}
}

// look looks at the object that a key names.
func (g *garbage) look(k Key) {
	if obj := g.v.Get(k.Resource, k.Namespace, k.Name); obj != nil {
		g.lookAt(k, obj, k)
	}
}

// lookAt decides what is to be done about an object, because of the key why.
func (g *garbage) lookAt(k Key, obj runtime.Object, why Key) {
	if g.seen[k] {
		return
	}
	g.seen[k] = true
	m := accessor(obj)
	switch {
	case orphansDependents(m):
		g.orphan(k, obj)
	case waitsForDependents(m):
		g.foreground(k, obj)
	case m.GetDeletionTimestamp() == nil && len(m.GetOwnerReferences()) > 0:
		g.judge(k, obj, why)
	}
}

// orphan takes the owner out of its dependents, then lets it go.
func (g *garbage) orphan(k Key, obj runtime.Object) {
	uid := accessor(obj).GetUID()
	for _, d := range g.v.Dependents(uid) {
		w := release(k, d.Resource, d.Object, uid)
		w.Beside = true
		g.out.Writes = append(g.out.Writes, w)
	}
	g.out.Writes = append(g.out.Writes, withoutFinalizer(k, obj, metav1.FinalizerOrphanDependents))
}

// foreground deletes the dependents, or lets the owner go when none blocks it any more.
func (g *garbage) foreground(k Key, obj runtime.Object) {
	uid := accessor(obj).GetUID()
	blocked := false
	dependents := g.v.Dependents(uid)
	for _, d := range dependents {
		blocked = blocked || slices.ContainsFunc(accessor(d.Object).GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return r.UID == uid && blocks(r)
		})
	}
	if !blocked {
		g.out.Writes = append(g.out.Writes, withoutFinalizer(k, obj, metav1.FinalizerDeleteDependents))
		return
	}
	for _, d := range dependents {
		g.lookAt(keyOfDependent(d), d.Object, k)
	}
}

// withoutFinalizer makes the write that takes a finalizer away.
func withoutFinalizer(k Key, obj runtime.Object, finalizer string) Write {
	w := mutation(k, k.Resource, "", obj, func(now runtime.Object) error {
		m := accessor(now)
		m.SetFinalizers(slices.DeleteFunc(slices.Clone(m.GetFinalizers()), func(f string) bool { return f == finalizer }))
		return nil
	})
	w.Ignore = Gone
	return w
}

// owners sorts an object's owners into those that keep it, those that are gone, and those that wait for it to go.
func (g *garbage) owners(m metav1.Object) (solid, dangling, waiting []metav1.OwnerReference) {
	for _, ref := range m.GetOwnerReferences() {
		res := resourceOf(g.v, ref)
		if res == nil || (res.Namespaced && m.GetNamespace() == "") {
			solid = append(solid, ref) // nobody can say that it is gone
			continue
		}
		namespace := ""
		if res.Namespaced {
			namespace = m.GetNamespace()
		}
		owner := g.v.Get(res.GroupResource(), namespace, ref.Name)
		switch {
		case owner == nil || accessor(owner).GetUID() != ref.UID:
			dangling = append(dangling, ref)
		case waitsForDependents(accessor(owner)):
			waiting = append(waiting, ref)
		default:
			solid = append(solid, ref)
		}
	}
	return solid, dangling, waiting
}

// judge deletes an object without solid owners, or takes the others out of one that has some.
func (g *garbage) judge(k Key, obj runtime.Object, why Key) {
	m := accessor(obj)
	solid, dangling, waiting := g.owners(m)
	lost := append(dangling, waiting...)
	if len(lost) == 0 {
		return
	}
	if len(solid) > 0 {
		w := mutation(k, k.Resource, "", obj, func(now runtime.Object) error {
			n := accessor(now)
			refs := n.GetOwnerReferences()
			for _, ref := range lost {
				refs = withoutOwner(refs, ref.UID)
			}
			n.SetOwnerReferences(refs)
			return nil
		})
		w.Ignore = Gone
		g.write(w, why)
		return
	}
	w := deletion(k, k.Resource, obj)
	w.ResourceVersion = m.GetResourceVersion()
	w.Propagation = string(g.policy(m, len(waiting) > 0))
	g.write(w, why)
}

// policy is how a dependent goes: in the foreground when its owner waits and it has dependents itself, else as its finalizers ask.
func (g *garbage) policy(m metav1.Object, waited bool) metav1.DeletionPropagation {
	switch {
	case waited && len(g.v.Dependents(m.GetUID())) > 0:
		return metav1.DeletePropagationForeground
	case slices.Contains(m.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(m.GetFinalizers(), metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// write adds a write whose cause is what woke another key: the end of the owner.
func (g *garbage) write(w Write, why Key) {
	w.Cause = g.v.Cause(why)
	g.out.Writes = append(g.out.Writes, w)
}
