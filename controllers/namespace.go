package controllers

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/kinds"
)

// The namespace controller empties a namespace that is being deleted. Key: a
// Namespace. Woken by it, and by the end of pods in it. Steps, each on what the one before left:
//
//	pods       they end first, as they need their ConfigMaps and Secrets until then
//	the rest   every kind that the registry knows, custom ones included
//	finalize   when nothing is left, the finalizer "kubernetes" goes, and with it the namespace

// Namespace is namespace-controller.
func Namespace() Controller {
	return Controller{
		Name: "namespace-controller",
		Keys: keyMap{
			Namespaces: itself,
			Pods: func(_ View, c Object) []Key {
				if c.Now != nil {
					return nil
				}
				return []Key{{Name: accessor(c.Prev).GetNamespace()}}
			},
		},
		Step: stepNamespaces,
	}
}

// finalizerPatience is how often a namespace is looked at in which something waits for finalizers.
const finalizerPatience = time.Second

func stepNamespaces(v View, keys []Key) Outcome {
	var out Outcome
	for _, k := range keys {
		ns := get[*corev1.Namespace](v, Namespaces, "", k.Name)
		if ns == nil || ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
			continue
		}
		emptyNamespace(v, k, ns, &out)
	}
	return out
}

// emptyNamespace does one of the steps.
func emptyNamespace(v View, k Key, ns *corev1.Namespace, out *Outcome) {
	pods := v.List(Pods, ns.Name, nil)
	if len(pods) > 0 {
		out.Writes = append(out.Writes, deleteAll(k, v.Registry().Get(Pods), pods)...)
		out.Writes = append(out.Writes, namespaceConditions(v, k, ns, nil)...)
		return
	}
	left := map[*kinds.Resource][]runtime.Object{}
	seen := map[string]bool{} // core events and those of events.k8s.io are the same rows
	for _, res := range v.Registry().All() {
		if !res.Namespaced || res.Prefix == "" || seen[res.Prefix] || !slices.Contains(res.Verbs, "delete") {
			continue
		}
		seen[res.Prefix] = true
		if objs := v.List(res.GroupResource(), ns.Name, nil); len(objs) > 0 {
			left[res] = objs
			out.Writes = append(out.Writes, deleteAll(k, res, objs)...)
		}
	}
	if len(left) == 0 {
		out.Writes = append(out.Writes, namespaceConditions(v, k, ns, nil)...)
		out.Writes = append(out.Writes, finalize(k, ns))
		return
	}
	if len(out.Writes) > 0 {
		out.again(k, v.Now())
	}
	stuck := stuckOnFinalizers(left)
	if len(stuck) > 0 {
		out.Writes = append(out.Writes, namespaceConditions(v, k, ns, stuck)...)
		out.again(k, v.Now().Add(finalizerPatience))
	}
}

// deleteAll makes the writes that delete what is not on its way out yet, side by side.
func deleteAll(k Key, res *kinds.Resource, objs []runtime.Object) []Write {
	var writes []Write
	for _, obj := range objs {
		if accessor(obj).GetDeletionTimestamp() != nil {
			continue
		}
		w := deletion(k, res.GroupResource(), obj)
		w.Propagation = string(metav1.DeletePropagationBackground)
		w.Beside = true
		writes = append(writes, w)
	}
	return writes
}

// stuckOnFinalizers keeps what a delete alone does not remove.
func stuckOnFinalizers(left map[*kinds.Resource][]runtime.Object) map[*kinds.Resource][]runtime.Object {
	stuck := map[*kinds.Resource][]runtime.Object{}
	for res, objs := range left {
		for _, obj := range objs {
			if len(accessor(obj).GetFinalizers()) > 0 {
				stuck[res] = append(stuck[res], obj)
			}
		}
	}
	return stuck
}

// finalize takes the finalizer away.
func finalize(k Key, ns *corev1.Namespace) Write {
	w := mutation(k, Namespaces, "finalize", ns, func(now *corev1.Namespace) error {
		now.Spec.Finalizers = slices.DeleteFunc(slices.Clone(now.Spec.Finalizers), func(f corev1.FinalizerName) bool {
			return f == corev1.FinalizerKubernetes
		})
		return nil
	})
	w.Ignore = Gone
	return w
}

// namespaceConditions makes the write that tells how the deletion is going, when that is news.
func namespaceConditions(v View, k Key, ns *corev1.Namespace, left map[*kinds.Resource][]runtime.Object) []Write {
	want := []corev1.NamespaceCondition{
		{Type: corev1.NamespaceDeletionDiscoveryFailure, Reason: "ResourcesDiscovered", Message: "All resources successfully discovered"},
		{Type: corev1.NamespaceDeletionGVParsingFailure, Reason: "ParsedGroupVersions", Message: "All legacy kube types successfully parsed"},
		{Type: corev1.NamespaceDeletionContentFailure, Reason: "ContentDeleted", Message: "All content successfully deleted, may be waiting on finalization"},
		{Type: corev1.NamespaceContentRemaining, Reason: "ContentRemoved", Message: "All content successfully removed"},
		{Type: corev1.NamespaceFinalizersRemaining, Reason: "ContentHasNoFinalizers", Message: "All content-preserving finalizers finished"},
	}
	for i := range want {
		want[i].Status = corev1.ConditionFalse
	}
	if len(left) > 0 {
		kinds, finalizers := tellRemaining(left)
		want[3].Status, want[3].Reason = corev1.ConditionTrue, "SomeResourcesRemain"
		want[3].Message = "Some resources are remaining: " + kinds
		want[4].Status, want[4].Reason = corev1.ConditionTrue, "SomeFinalizersRemain"
		want[4].Message = "Some content in the namespace has finalizers remaining: " + finalizers
	}
	have := map[corev1.NamespaceConditionType]corev1.NamespaceCondition{}
	for _, c := range ns.Status.Conditions {
		have[c.Type] = c
	}
	news := ns.Status.Phase != corev1.NamespaceTerminating
	for i := range want {
		old, ok := have[want[i].Type]
		want[i].LastTransitionTime = metav1.NewTime(v.Now())
		if ok && old.Status == want[i].Status {
			want[i].LastTransitionTime = old.LastTransitionTime
		}
		news = news || !ok || old.Status != want[i].Status || old.Reason != want[i].Reason || old.Message != want[i].Message
	}
	if !news {
		return nil
	}
	w := mutation(k, Namespaces, "status", ns, func(now *corev1.Namespace) error {
		now.Status.Phase = corev1.NamespaceTerminating
		now.Status.Conditions = want
		return nil
	})
	w.Ignore = Gone
	return []Write{w}
}

// tellRemaining counts what is left by kind, and by finalizer.
func tellRemaining(left map[*kinds.Resource][]runtime.Object) (byKind, byFinalizer string) {
	var kindParts, finalizerParts []string
	counts := map[string]int{}
	for res, objs := range left {
		kindParts = append(kindParts, fmt.Sprintf("%s.%s has %d resource instances", res.Name, res.Group, len(objs)))
		for _, obj := range objs {
			for _, f := range accessor(obj).GetFinalizers() {
				counts[f]++
			}
		}
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		finalizerParts = append(finalizerParts, fmt.Sprintf("%s in %d resource instances", f, counts[f]))
	}
	sort.Strings(kindParts)
	return strings.Join(kindParts, ", "), strings.Join(finalizerParts, ", ")
}
