package controllers

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	"kuberow/api/admission/quota"
)

// The quota controller counts what is there: admission charges a quota when
// something is created, and this corrects it when something goes away, or the quota is new. Key: a
// ResourceQuota. Woken by it, by the end of what it counts, and by the clock.
//
// A creation does not wake it: between the charge and the object there would be nothing to count
// yet, and the charge would be lost. When something else wakes it just then, the charge is lost
// all the same: so what was counted is counted once more, when the object must be there.

// recountPeriod is how often quotas are counted though nothing seems to have changed.
const recountPeriod = 5 * time.Minute

// chargePatience is how long after its charge an object is surely there, or never.
const chargePatience = time.Second

// ResourceQuota is resourcequota-controller.
func ResourceQuota() Controller {
	return Controller{
		Name:  "resourcequota-controller",
		Every: recountPeriod,
		Keys:  keyMap{ResourceQuotas: changedQuota},
		Any:   chargedQuotas,
		Step: func(v View, keys []Key) Outcome {
			out := Outcome{Again: map[Key]time.Time{}}
			for _, k := range keys {
				if k == (Key{}) {
					for _, q := range typed[*corev1.ResourceQuota](v.List(ResourceQuotas, "", nil)) {
						recount(v, NameKey(q), q, &out)
					}
				} else if q := get[*corev1.ResourceQuota](v, ResourceQuotas, k.Namespace, k.Name); q != nil {
					recount(v, k, q, &out)
				}
			}
			return out
		},
	}
}

// changedQuota wakes a quota whose limits are new.
func changedQuota(v View, c Object) []Key {
	q, _ := c.Now.(*corev1.ResourceQuota)
	if q == nil || equality.Semantic.DeepEqual(q.Status.Hard, q.Spec.Hard) {
		return nil
	}
	return itself(v, c)
}

// chargedQuotas gives the quotas of the namespace that count such an object, when its use has changed.
func chargedQuotas(v View, c Object) []Key {
	namespace := accessor(c.Current()).GetNamespace()
	if namespace == "" || c.Prev == nil || quota.Ignored(c.Resource) {
		return nil
	}
	var keys []Key
	for _, q := range typed[*corev1.ResourceQuota](v.List(ResourceQuotas, namespace, nil)) {
		if len(quota.Names(c.Resource, quota.Keys(q.Spec.Hard))) == 0 {
			continue
		}
		if c.Now != nil &&
			equality.Semantic.DeepEqual(quota.Usage(c.Resource, c.Now, v.Now()), quota.Usage(c.Resource, c.Prev, v.Now())) {
			continue
		}
		keys = append(keys, NameKey(q))
	}
	return keys
}

// recount makes the write of what a quota's namespace uses, when that is news.
func recount(v View, k Key, q *corev1.ResourceQuota, out *Outcome) {
	names := quota.Keys(q.Spec.Hard)
	used := corev1.ResourceList{}
	for _, name := range names {
		used[name] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	seen := map[string]bool{}
	for _, res := range v.Registry().All() {
		gr := res.GroupResource()
		if !res.Namespaced || res.Prefix == "" || seen[res.Prefix] || quota.Ignored(gr) || len(quota.Names(gr, names)) == 0 {
			continue
		}
		seen[res.Prefix] = true
		for _, obj := range v.List(gr, q.Namespace, nil) {
			if quota.Matches(q, gr, obj) {
				used = quota.Add(used, quota.Mask(quota.Usage(gr, obj, v.Now()), names))
			}
		}
	}
	if equality.Semantic.DeepEqual(q.Status.Hard, q.Spec.Hard) && equality.Semantic.DeepEqual(q.Status.Used, used) {
		return
	}
	out.Again[k] = v.Now().Add(chargePatience)
	out.Writes = append(out.Writes, mutation(k, ResourceQuotas, "status", q, func(now *corev1.ResourceQuota) error {
		if now.ResourceVersion != q.ResourceVersion {
			return conflict(ResourceQuotas, q.Name, "it was charged since it was counted")
		}
		now.Status.Hard, now.Status.Used = q.Spec.Hard.DeepCopy(), used
		return nil
	}))
}
