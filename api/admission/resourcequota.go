package admission

// ResourceQuota: a write that would use more than a quota of the namespace has
// left is refused; one that fits is charged, by raising status.used in the
// same step that checks it, so that two writes cannot both take the last of it.
//
// A quota limits nothing before the quota controller has written its status.
// What is charged for a write that fails afterwards is given back when the
// controller counts again, which it does when objects go.

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/api/admission/quota"
	"kuberow/api/kinds"
)

func resourceQuota(l *lookup) Plugin {
	return Plugin{Name: "ResourceQuota", Validate: func(a *Attributes) error {
		gr := a.Resource.GroupResource()
		if a.Namespace == "" || !a.Resource.Namespaced || quota.Ignored(gr) || !quotaOperation(a) {
			return nil
		}
		quotas, err := l.quotasIn(a.Ctx, a.Namespace)
		if err != nil {
			return err
		}
		for _, q := range quotas {
			if err := checkQuota(a, gr, q); err != nil {
				return err
			}
		}
		return nil
	}}
}

// quotaOperation: what can raise usage. A pod only does when it is made, resized, or loses its deadline.
func quotaOperation(a *Attributes) bool {
	old, wasPod := a.Old.(*corev1.Pod)
	pod, isPod := a.Object.(*corev1.Pod)
	switch {
	case a.Operation == create:
		return a.Subresource == ""
	case a.Operation != update:
		return false
	case isPod && wasPod:
		return a.Subresource == "resize" || a.Subresource == "" && quota.Terminating(old) != quota.Terminating(pod)
	case a.is("", "persistentvolumeclaims", ""), a.is("", "persistentvolumeclaims", "status"), a.is("", "services", ""):
		return true
	}
	return false
}

func checkQuota(a *Attributes, gr schema.GroupResource, q *corev1.ResourceQuota) error {
	names := quota.Names(gr, quota.Keys(q.Status.Hard))
	if len(names) == 0 || !quota.Matches(q, gr, a.Object) {
		return nil
	}
	if err := quota.Constraints(names, a.Object); err != nil {
		return forbidden(a, "failed quota: %s: %w", q.Name, err)
	}
	for _, n := range names {
		if _, known := q.Status.Used[n]; !known {
			return forbidden(a, "status unknown for quota: %s, resources: %s", q.Name, joinNames(names))
		}
	}
	usage := quota.Usage(gr, a.Object, a.Now)
	if a.Operation == update && a.Old != nil && quota.Matches(q, gr, a.Old) {
		usage = quota.Growth(usage, quota.Usage(gr, a.Old, a.Now))
	}
	usage = quota.Growth(quota.Mask(usage, names), nil)
	if len(usage) == 0 {
		return nil
	}
	if err := fits(a, q, usage); err != nil || a.DryRun {
		return err
	}
	return charge(a, q.Name, usage)
}

func fits(a *Attributes, q *corev1.ResourceQuota, usage corev1.ResourceList) error {
	if a.Subresource == "status" {
		return nil // what has already happened is counted, not refused
	}
	total := quota.Mask(quota.Add(q.Status.Used, usage), quota.Keys(usage))
	if over := quota.Exceeded(total, q.Status.Hard); len(over) > 0 {
		return forbidden(a, "exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
			quota.Text(quota.Mask(usage, over)), quota.Text(quota.Mask(q.Status.Used, over)), quota.Text(quota.Mask(q.Status.Hard, over)))
	}
	return nil
}

// charge raises status.used, checking against the quota as it is at that moment.
func charge(a *Attributes, name string, usage corev1.ResourceList) error {
	_, err := a.Client.Mutate(a.Ctx, kinds.Write{
		User:  &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}},
		Agent: "kube-apiserver", Cause: a.Cause,
		Resource: schema.GroupResource{Resource: "resourcequotas"}, Subresource: "status", Namespace: a.Namespace, Name: name,
		Mutate: func(o runtime.Object) error {
			q := o.(*corev1.ResourceQuota)
			if err := fits(a, q, usage); err != nil {
				return err
			}
			q.Status.Used = quota.Add(q.Status.Used, usage)
			return nil
		},
	})
	return err
}

func joinNames(names []corev1.ResourceName) string {
	var out []string
	for _, n := range names {
		out = append(out, string(n))
	}
	return strings.Join(out, ",")
}
