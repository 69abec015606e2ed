package controllers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"sort"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/rand"
)

// Revisions of StatefulSets and DaemonSets: each template that one had is a ControllerRevision, as the patch that
// brings the template back. Names hold a hash of that patch, upstream's, so that they are the same on every cluster.

// revisionHashLabel holds the hash in a StatefulSet's revisions.
const revisionHashLabel = "controller.kubernetes.io/hash"

// lineage is the ControllerRevisions of one owner.
type lineage struct {
	key      Key
	owner    metav1.Object
	gvk      schema.GroupVersionKind
	selector labels.Selector
	hash     func(t *corev1.PodTemplateSpec, patch []byte, collisions *int32) string
	label    string                       // that holds the hash
	list     []*appsv1.ControllerRevision // from old to new
}

// readLineage finds them, and adopts those whose owner was deleted and which fit.
func readLineage(v View, l lineage, out *Outcome) *lineage {
	for _, r := range typed[*appsv1.ControllerRevision](v.Owned(ControllerRevisions, l.owner.GetUID())) {
		if metav1.IsControlledBy(r, l.owner) {
			l.list = append(l.list, r)
		}
	}
	if l.owner.GetDeletionTimestamp() == nil && !l.selector.Empty() {
		for _, r := range typed[*appsv1.ControllerRevision](v.List(ControllerRevisions, l.owner.GetNamespace(), l.selector)) {
			if controllerOf(r) == nil && r.DeletionTimestamp == nil {
				out.Writes = append(out.Writes, adoption(l.key, ControllerRevisions, r, controllerRef(l.owner, l.gvk)))
				l.list = append(l.list, r)
			}
		}
	}
	l.sort()
	return &l
}

func (l *lineage) sort() {
	sort.SliceStable(l.list, func(i, j int) bool {
		a, b := l.list[i], l.list[j]
		if a.Revision != b.Revision {
			return a.Revision < b.Revision
		}
		if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
			return a.CreationTimestamp.Before(&b.CreationTimestamp)
		}
		return a.Name < b.Name
	})
}

// named finds one, nil when there is none.
func (l *lineage) named(name string) *appsv1.ControllerRevision {
	for _, r := range l.list {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// latest gives the revision of a template and makes it the newest: it is created, or an old one of the same content
// gets a new number. A name that is taken by another content counts a collision, which goes into the hash.
func (l *lineage) latest(v View, t *corev1.PodTemplateSpec, counter **int32, out *Outcome) (*appsv1.ControllerRevision, error) {
	patch, err := templatePatch(t)
	if err != nil {
		return nil, err
	}
	next := int64(1)
	if n := len(l.list); n > 0 {
		next = l.list[n-1].Revision + 1
	}
	for i := len(l.list) - 1; i >= 0; i-- {
		r := l.list[i]
		if !bytes.Equal(r.Data.Raw, patch) {
			continue
		}
		if i == len(l.list)-1 {
			return r, nil
		}
		out.Writes = append(out.Writes, mutation(l.key, ControllerRevisions, "", r, func(now *appsv1.ControllerRevision) error {
			now.Revision = next
			return nil
		}))
		again := r.DeepCopy()
		again.Revision = next
		l.list[i] = again
		l.sort()
		return again, nil
	}
	r := l.revision(t, patch, next, *counter)
	for v.Get(ControllerRevisions, r.Namespace, r.Name) != nil {
		if *counter == nil {
			*counter = new(int32)
		}
		**counter++
		r = l.revision(t, patch, next, *counter)
	}
	out.Writes = append(out.Writes, creation(l.key, ControllerRevisions, r.DeepCopy()))
	l.list = append(l.list, r)
	return r, nil
}

// revision makes a new one.
func (l *lineage) revision(t *corev1.PodTemplateSpec, patch []byte, number int64, collisions *int32) *appsv1.ControllerRevision {
	hash := l.hash(t, patch, collisions)
	r := &appsv1.ControllerRevision{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevision"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: l.owner.GetNamespace(), Name: fmt.Sprintf("%.223s-%s", l.owner.GetName(), hash),
			Labels: map[string]string{}, Annotations: maps.Clone(l.owner.GetAnnotations()),
			OwnerReferences: []metav1.OwnerReference{controllerRef(l.owner, l.gvk)},
		},
		Data: runtime.RawExtension{Raw: patch}, Revision: number,
	}
	maps.Copy(r.Labels, t.Labels)
	r.Labels[l.label] = hash
	return r
}

// patchHash is the hash in the names of a StatefulSet's revisions; a DaemonSet's have that of the template.
func patchHash(_ *corev1.PodTemplateSpec, patch []byte, collisions *int32) string {
	h := fnv.New32()
	h.Write(patch)
	if collisions != nil {
		h.Write(strconv.AppendInt(nil, int64(*collisions), 10))
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// prune deletes the oldest revisions that nothing lives by, beyond the limit.
func (l *lineage) prune(limit *int32, live map[string]bool, out *Outcome) {
	if limit == nil || *limit < 0 {
		return
	}
	var dead []*appsv1.ControllerRevision
	for _, r := range l.list {
		if !live[r.Name] {
			dead = append(dead, r)
		}
	}
	for i := 0; i < len(dead)-int(*limit); i++ {
		out.Writes = append(out.Writes, deletion(l.key, ControllerRevisions, dead[i]))
	}
}

// templatePatch is the content of a revision: the strategic merge patch that replaces the template.
func templatePatch(t *corev1.PodTemplateSpec) ([]byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("marshal template: %w", err)
	}
	template := map[string]any{}
	if err := json.Unmarshal(data, &template); err != nil {
		return nil, fmt.Errorf("unmarshal template: %w", err)
	}
	template["$patch"] = "replace"
	return json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
}

// templateOf reads the template that a revision keeps.
func templateOf(r *appsv1.ControllerRevision) (*corev1.PodTemplateSpec, error) {
	var content struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(r.Data.Raw, &content); err != nil {
		return nil, fmt.Errorf("unmarshal revision %s: %w", r.Name, err)
	}
	return &content.Spec.Template, nil
}
