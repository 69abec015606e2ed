package controllers

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The keeper makes the objects again that a cluster cannot be without: the
// namespaces of the system, the Service kubernetes with its endpoints, and the
// lease by which API servers know each other, which it also renews. Key: such
// an object. Woken by its deletion or change, and for the lease every ten seconds.

const serverLeaseRenewal = 10 * time.Second

// Keeper keeps the objects that keep names.
func Keeper(keep func() []Kept) Controller {
	find := func(gr Resource) func(View, Object) []Key {
		return func(_ View, c Object) []Key {
			k := NameKey(c.Current())
			k.Resource = gr
			if !slices.ContainsFunc(keep(), func(o Kept) bool { return keptKey(o) == k }) {
				return nil
			}
			return []Key{k}
		}
	}
	return Controller{
		Name: "apiserver-keeper", User: serverUser, Every: serverLeaseRenewal,
		Keys: keyMap{
			Namespaces: find(Namespaces), Services: find(Services), Endpoints: find(Endpoints), EndpointSlices: find(EndpointSlices),
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			all := keep()
			for _, k := range keys {
				for _, o := range all {
					if keptKey(o) == k || k == (Key{}) {
						keepObject(v, o, &out)
					}
				}
			}
			return out
		},
	}
}

func keptKey(o Kept) Key {
	k := NameKey(o.Object)
	k.Resource = o.Resource
	return k
}

// keepObject makes the object, or brings it up to date.
func keepObject(v View, o Kept, out *Outcome) {
	k := keptKey(o)
	have := v.Get(o.Resource, k.Namespace, k.Name)
	if have == nil {
		if ns := v.Get(Namespaces, "", k.Namespace); k.Namespace != "" && (ns == nil || accessor(ns).GetDeletionTimestamp() != nil) {
			return // it comes after its namespace
		}
		w := creation(k, o.Resource, o.Object.DeepCopyObject())
		w.Agent, w.Ignore = serverManager, There
		out.Writes = append(out.Writes, w)
		return
	}
	if lease, ok := have.(*coordinationv1.Lease); ok {
		renew(v, k, lease, out)
		return
	}
	if o.Follow == nil || !o.Follow(have.DeepCopyObject()) {
		return
	}
	w := mutation(k, o.Resource, "", have, func(now runtime.Object) error {
		o.Follow(now)
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	out.Writes = append(out.Writes, w)
}

// renew says that the server lives.
func renew(v View, k Key, have *coordinationv1.Lease, out *Outcome) {
	now := metav1.NewMicroTime(v.Now())
	if have.Spec.RenewTime != nil && now.Sub(have.Spec.RenewTime.Time) < serverLeaseRenewal {
		return
	}
	w := mutation(k, Leases, "", have, func(l *coordinationv1.Lease) error {
		l.Spec.RenewTime = &now
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	out.Writes = append(out.Writes, w)
}
