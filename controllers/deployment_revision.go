package controllers

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"
)

// Revisions of a Deployment: each template it had is a ReplicaSet, which has the revision in an annotation.
// The newest has the highest one; rolling back gives an old ReplicaSet a new number.

// The annotations of Deployments and their ReplicaSets.
const (
	revisionAnnotation = "deployment.kubernetes.io/revision"
	historyAnnotation  = "deployment.kubernetes.io/revision-history"
	desiredAnnotation  = "deployment.kubernetes.io/desired-replicas"
	maxAnnotation      = "deployment.kubernetes.io/max-replicas"
)

// longestHistory bounds the annotation with the earlier revisions, in characters.
const longestHistory = 2000

// notCopied are the annotations that a Deployment does not hand down.
var notCopied = map[string]bool{
	corev1.LastAppliedConfigAnnotation: true,
	revisionAnnotation:                 true,
	historyAnnotation:                  true,
	desiredAnnotation:                  true,
	maxAnnotation:                      true,
	appsv1.DeprecatedRollbackTo:        true,
}

// creating says whether syncRevision may create the latest ReplicaSet.
type creating string

const (
	mayCreate    creating = "create"
	mayNotCreate creating = "only find"
)

// templateHash names a template. It is upstream's: FNV-1a over a dump of the Go value, so
// that a ReplicaSet has the same name on every cluster.
func templateHash(t *corev1.PodTemplateSpec, collisions *int32) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%v", dump.ForHash(*t))
	if collisions != nil {
		b := make([]byte, 8)
		binary.LittleEndian.PutUint32(b, uint32(*collisions))
		h.Write(b)
	}
	return rand.SafeEncodeString(fmt.Sprint(h.Sum32()))
}

// sameTemplate compares templates but for the hash that a ReplicaSet's has as a label.
func sameTemplate(a, b *corev1.PodTemplateSpec) bool {
	if a.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != b.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
		a, b = withoutHash(a), withoutHash(b)
	}
	return equality.Semantic.DeepEqual(a, b)
}

// withoutHash copies a template without the label.
func withoutHash(t *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	c := *t
	c.Labels = maps.Clone(t.Labels)
	delete(c.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return &c
}

// revisionOfSet reads the annotation; 0 when it is missing or no number.
func revisionOfSet(rs *appsv1.ReplicaSet) int64 {
	n, _ := strconv.ParseInt(rs.Annotations[revisionAnnotation], 10, 64)
	return n
}

// syncRevision finds the ReplicaSet with the Deployment's template, sees that
// it has the highest revision, and copies that to the Deployment. When there is none
// and it may, it creates it.
func (r *rollout) syncRevision(c creating) {
	r.latest = nil
	for _, rs := range r.sets {
		if sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
			r.latest = rs // the oldest, when there are several
			break
		}
	}
	highest := int64(0)
	for _, rs := range r.old() {
		highest = max(highest, revisionOfSet(rs))
	}
	switch {
	case r.latest != nil:
		r.updateLatest(highest + 1)
	case c == mayCreate:
		r.createLatest(highest + 1)
	}
}

// updateLatest brings the annotations of the latest ReplicaSet up to date.
func (r *rollout) updateLatest(revision int64) {
	rs := r.latest
	before := rs.DeepCopy()
	changed := handDown(r.d, rs, revision)
	if rs.Spec.MinReadySeconds != r.d.Spec.MinReadySeconds {
		rs.Spec.MinReadySeconds = r.d.Spec.MinReadySeconds
		changed = true
	}
	if changed {
		annotations, minReady := maps.Clone(rs.Annotations), rs.Spec.MinReadySeconds
		r.write(mutation(r.key, ReplicaSets, "", before, func(now *appsv1.ReplicaSet) error {
			if now.Annotations == nil {
				now.Annotations = map[string]string{}
			}
			maps.Copy(now.Annotations, annotations)
			now.Spec.MinReadySeconds = minReady
			return nil
		}))
	}
	r.setRevision(rs.Annotations[revisionAnnotation])
	if hasDeadline(r.d) && findCondition(&r.d.Status, appsv1.DeploymentProgressing) == nil {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "FoundNewReplicaSet", fmt.Sprintf("Found new replica set %q", rs.Name))
	}
}

// createLatest makes the ReplicaSet of a new template.
func (r *rollout) createLatest(revision int64) {
	hash := templateHash(&r.d.Spec.Template, r.d.Status.CollisionCount)
	rs := r.newSet(hash)
	if other := r.v.Get(ReplicaSets, rs.Namespace, rs.Name); other != nil {
		r.collide()
		return
	}
	size := r.newSize(append(r.old(), rs), rs)
	rs.Spec.Replicas = &size
	handDown(r.d, rs, revision)
	setReplicasAnnotations(rs, *r.d.Spec.Replicas, *r.d.Spec.Replicas+maxSurge(r.d))

	w := creation(r.key, ReplicaSets, rs.DeepCopy())
	w.Failed = func(err error) []Write { return r.createFailed(rs.Name, err) }
	r.write(w)
	if size > 0 {
		r.tell(corev1.EventTypeNormal, "ScalingReplicaSet", fmt.Sprintf("Scaled up replica set %s from 0 to %d", rs.Name, size))
	}
	r.sets = append(r.sets, rs)
	r.latest = rs
	r.setRevision(strconv.FormatInt(revision, 10))
	if hasDeadline(r.d) {
		r.setCondition(&r.d.Status, appsv1.DeploymentProgressing, corev1.ConditionTrue, "NewReplicaSetCreated", fmt.Sprintf("Created new replica set %q", rs.Name))
	}
}

// newSet is the ReplicaSet of the Deployment's template, with no pods yet.
func (r *rollout) newSet(hash string) *appsv1.ReplicaSet {
	template := *r.d.Spec.Template.DeepCopy()
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	selector := r.d.Spec.Selector.DeepCopy()
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	name := r.d.Name
	if longest := 253 - 1 - len(hash); len(name) > longest {
		name = name[:longest]
	}
	return &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + hash, Namespace: r.d.Namespace, Labels: maps.Clone(template.Labels),
			OwnerReferences: []metav1.OwnerReference{controllerRef(r.d, deploymentKind)},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: new(int32), MinReadySeconds: r.d.Spec.MinReadySeconds, Selector: selector, Template: template},
	}
}

// collide counts a hash collision: another ReplicaSet has the name. The next step hashes with the count.
func (r *rollout) collide() {
	count := int32(0)
	if r.d.Status.CollisionCount != nil {
		count = *r.d.Status.CollisionCount
	}
	count++
	r.d.Status.CollisionCount = &count
}

// createFailed tells why a ReplicaSet could not be created.
func (r *rollout) createFailed(name string, err error) []Write {
	if terminating(err) {
		return nil
	}
	message := fmt.Sprintf("Failed to create new replica set %q: %v", name, err)
	writes := []Write{r.told(corev1.EventTypeWarning, "ReplicaSetCreateError", message)}
	if hasDeadline(r.d) {
		status := r.stored.Status.DeepCopy()
		r.setCondition(status, appsv1.DeploymentProgressing, corev1.ConditionFalse, "ReplicaSetCreateError", message)
		writes = append(writes, mutation(r.key, Deployments, "status", r.stored, func(now *appsv1.Deployment) error {
			now.Status = *status
			return nil
		}))
	}
	return writes
}

// setRevision copies the revision to the Deployment.
func (r *rollout) setRevision(revision string) {
	if r.d.Annotations == nil {
		r.d.Annotations = map[string]string{}
	}
	if revision != "" {
		r.d.Annotations[revisionAnnotation] = revision
	}
}

// handDown gives the latest ReplicaSet the Deployment's annotations and, when its own is lower, the
// revision. An earlier revision of it goes into the history. It says whether anything changed.
func handDown(d *appsv1.Deployment, rs *appsv1.ReplicaSet, revision int64) bool {
	changed := false
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	for k, value := range d.Annotations {
		if have, ok := rs.Annotations[k]; !notCopied[k] && (!ok || have != value) {
			rs.Annotations[k] = value
			changed = true
		}
	}
	had, known := rs.Annotations[revisionAnnotation]
	was, err := strconv.ParseInt(had, 10, 64)
	if (had != "" && err != nil) || was >= revision {
		return changed
	}
	rs.Annotations[revisionAnnotation] = strconv.FormatInt(revision, 10)
	if known {
		rs.Annotations[historyAnnotation] = longerHistory(rs.Annotations[historyAnnotation], had)
	}
	return true
}

// longerHistory appends a revision, dropping the oldest when the list becomes too long.
func longerHistory(history, revision string) string {
	if history == "" {
		return revision
	}
	history += "," + revision
	for len(history) > longestHistory {
		_, rest, more := strings.Cut(history, ",")
		if !more {
			break
		}
		history = rest
	}
	return history
}

// setReplicasAnnotations tells a ReplicaSet the Deployment's size, and says whether that is news.
func setReplicasAnnotations(rs *appsv1.ReplicaSet, desired, most int32) bool {
	if rs.Annotations == nil {
		rs.Annotations = map[string]string{}
	}
	d, m := strconv.Itoa(int(desired)), strconv.Itoa(int(most))
	if rs.Annotations[desiredAnnotation] == d && rs.Annotations[maxAnnotation] == m {
		return false
	}
	rs.Annotations[desiredAnnotation], rs.Annotations[maxAnnotation] = d, m
	return true
}

// sizeAnnotation reads one of them.
func sizeAnnotation(rs *appsv1.ReplicaSet, name string) (int32, bool) {
	n, err := strconv.ParseUint(rs.Annotations[name], 10, 32)
	if err != nil || n > math.MaxInt32 {
		return 0, false
	}
	return int32(n), true
}

// rollbackTarget reads the annotation by which clients of old API versions ask for a rollback.
func rollbackTarget(d *appsv1.Deployment) *int64 {
	n, err := strconv.ParseInt(d.Annotations[appsv1.DeprecatedRollbackTo], 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

// rollback does what that annotation says, and takes it away.
func (r *rollout) rollback() {
	r.syncRevision(mayCreate)
	target := *rollbackTarget(r.d)
	if target == 0 {
		target = r.lastRevision()
	}
	delete(r.d.Annotations, appsv1.DeprecatedRollbackTo)
	annotations, template := maps.Clone(r.d.Annotations), r.d.Spec.Template.DeepCopy()
	told := r.told(corev1.EventTypeWarning, "DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.")
	if target == 0 {
		told = r.told(corev1.EventTypeWarning, "DeploymentRollbackRevisionNotFound", "Unable to find last revision.")
	}
	for _, rs := range r.sets {
		if target == 0 || revisionOfSet(rs) != target {
			continue
		}
		if sameTemplate(&rs.Spec.Template, &r.d.Spec.Template) {
			told = r.told(corev1.EventTypeWarning, "DeploymentRollbackTemplateUnchanged",
				fmt.Sprintf("The rollback revision contains the same template as current deployment %q", r.d.Name))
			break
		}
		template = withoutHash(&rs.Spec.Template)
		annotations = rolledBackAnnotations(r.d.Annotations, rs.Annotations)
		told = r.told(corev1.EventTypeNormal, "DeploymentRollback", fmt.Sprintf("Rolled back deployment %q to revision %d", r.d.Name, target))
		break
	}
	r.write(mutation(r.key, Deployments, "", r.stored, func(now *appsv1.Deployment) error {
		now.Annotations = annotations
		now.Spec.Template = *template.DeepCopy()
		return nil
	}), told)
}

// lastRevision is the second highest one.
func (r *rollout) lastRevision() int64 {
	highest, second := int64(0), int64(0)
	for _, rs := range r.sets {
		if n := revisionOfSet(rs); n >= highest {
			highest, second = n, highest
		} else {
			second = max(second, n)
		}
	}
	return second
}

// rolledBackAnnotations keeps what is the Deployment's own, and takes the rest from the ReplicaSet.
func rolledBackAnnotations(own, from map[string]string) map[string]string {
	out := map[string]string{}
	for k, value := range own {
		if notCopied[k] {
			out[k] = value
		}
	}
	for k, value := range from {
		if !notCopied[k] {
			out[k] = value
		}
	}
	return out
}
