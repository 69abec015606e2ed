package controllers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
)

// What most controllers need to say about objects: keys, owners, typed lists, and writes that hold their ground.

// Current gives the object, or what it was when it is gone.
func (o Object) Current() runtime.Object {
	if o.Now != nil {
		return o.Now
	}
	return o.Prev
}

// NameKey is the key of an object by its name.
func NameKey(obj runtime.Object) Key {
	m := accessor(obj)
	return Key{Namespace: m.GetNamespace(), Name: m.GetName()}
}

// get is View.Get with a type; nil when there is none.
func get[T runtime.Object](v View, gr schema.GroupResource, namespace, name string) T {
	t, _ := v.Get(gr, namespace, name).(T)
	return t
}

// typed keeps the objects of type T.
func typed[T runtime.Object](objs []runtime.Object) []T {
	out := make([]T, 0, len(objs))
	for _, obj := range objs {
		if t, ok := obj.(T); ok {
			out = append(out, t)
		}
	}
	return out
}

// controllerRef is the owner reference of a controlling owner.
func controllerRef(owner metav1.Object, gvk schema.GroupVersionKind) metav1.OwnerReference {
	return *metav1.NewControllerRef(owner, gvk)
}

// controllerOf gives the controlling owner's reference, nil when there is none.
func controllerOf(obj metav1.Object) *metav1.OwnerReference {
	return metav1.GetControllerOfNoCopy(obj)
}

// selectorOf reads a label selector; one that cannot be read selects nothing.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// ownerKeys maps a change of a child to the keys of its controlling owners, now and before, of one kind.
func ownerKeys(c Object, kind string) []Key {
	var keys []Key
	for _, obj := range []runtime.Object{c.Now, c.Prev} {
		if obj == nil {
			continue
		}
		m := accessor(obj)
		if ref := controllerOf(m); ref != nil && ref.Kind == kind {
			k := Key{Namespace: m.GetNamespace(), Name: ref.Name}
			if len(keys) == 0 || keys[0] != k {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// strayed says whether a change may have made the object something to adopt: it
// has no controlling owner, and is new, or lost its owner, or has other labels.
func strayed(c Object) bool {
	if c.Now == nil || controllerOf(accessor(c.Now)) != nil {
		return false
	}
	if c.Prev == nil {
		return true
	}
	now, prev := accessor(c.Now), accessor(c.Prev)
	return controllerOf(prev) != nil || !labels.Equals(now.GetLabels(), prev.GetLabels())
}

// mutation makes a Mutate of the object that was seen. It fails with a
// conflict when there is another object of that name by now; change may fail likewise.
func mutation[T runtime.Object](k Key, gr schema.GroupResource, subresource string, seen T, change func(T) error) Write {
	m := accessor(seen)
	uid := m.GetUID()
	return Write{Verb: Mutate, Key: k, Write: kinds.Write{
		Resource: gr, Subresource: subresource, Namespace: m.GetNamespace(), Name: m.GetName(),
		Mutate: func(obj runtime.Object) error {
			now, ok := obj.(T)
			if !ok {
				return fmt.Errorf("mutate %s %s: it is a %T", gr, m.GetName(), obj)
			}
			if uid != "" && accessor(obj).GetUID() != uid {
				return conflict(gr, m.GetName(), "it was replaced by another of the same name")
			}
			return change(now)
		},
	}}
}

// deletion makes a Delete of the object that was seen, and of no other of the same name.
func deletion(k Key, gr schema.GroupResource, seen runtime.Object) Write {
	m := accessor(seen)
	return Write{Verb: Delete, Key: k, Ignore: Gone, Write: kinds.Write{
		Resource: gr, Namespace: m.GetNamespace(), Name: m.GetName(), UID: m.GetUID(),
	}}
}

// creation makes a Create.
func creation(k Key, gr schema.GroupResource, obj runtime.Object) Write {
	m := accessor(obj)
	return Write{Verb: Create, Key: k, Write: kinds.Write{
		Resource: gr, Namespace: m.GetNamespace(), Name: m.GetName(), Object: obj,
	}}
}

// record makes a Record.
func record(k Key, component string, about corev1.ObjectReference, eventType, reason, message string) Write {
	return Write{Verb: Record, Key: k, Event: &Event{
		Regarding: about, Type: eventType, Reason: reason, Message: message, Component: component,
	}}
}

// conflict is the error of a write that found something else than it was decided on.
func conflict(gr schema.GroupResource, name, why string) error {
	return apierrors.NewConflict(gr, name, fmt.Errorf("%s", why))
}

// terminating says that a create failed since the namespace is being deleted: nothing is left to do.
func terminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// withoutOwner gives the references that do not name uid.
func withoutOwner(refs []metav1.OwnerReference, uid types.UID) []metav1.OwnerReference {
	var kept []metav1.OwnerReference
	for _, ref := range refs {
		if ref.UID != uid {
			kept = append(kept, ref)
		}
	}
	return kept
}

// adoption makes the write that turns a stray object into owner's.
func adoption[T runtime.Object](k Key, gr schema.GroupResource, stray T, ref metav1.OwnerReference) Write {
	w := mutation(k, gr, "", stray, func(now T) error {
		m := accessor(now)
		if other := controllerOf(m); other != nil {
			if other.UID == ref.UID {
				return nil
			}
			return conflict(gr, m.GetName(), "it is controlled by another")
		}
		m.SetOwnerReferences(append(m.GetOwnerReferences(), ref))
		return nil
	})
	w.Patch = true
	return w
}

// release makes the write that takes an object out of owner's control.
func release[T runtime.Object](k Key, gr schema.GroupResource, child T, owner types.UID) Write {
	w := mutation(k, gr, "", child, func(now T) error {
		m := accessor(now)
		m.SetOwnerReferences(withoutOwner(m.GetOwnerReferences(), owner))
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	return w
}
