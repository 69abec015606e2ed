package rest

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// DELETE. An object goes at once unless something holds it: a grace period
// (pods), finalizers, or dependents that must go first or be left alone (two
// more finalizers). Then it is only marked with deletionTimestamp, and goes
// with the update that removes the last hold.

// deleted is how a deletion ended.
type deleted struct {
	row
	gone bool // removed, rather than marked
}

// delete deletes the op's object.
func (o *op) delete(options *metav1.DeleteOptions) (deleted, error) {
	for range maxRounds {
		current, there, err := o.rest.live(o.Ctx, o.Resource, o.key())
		if err != nil {
			return deleted{}, err
		}
		if !there {
			return deleted{}, o.notFound()
		}
		res, again, err := o.deleteOnce(&current, options.DeepCopy())
		if !again {
			return res, err
		}
		if err := o.Ctx.Err(); err != nil {
			return deleted{}, err
		}
	}
	return deleted{}, o.modified()
}

// deleteOnce is one round of a deletion, based on current.
func (o *op) deleteOnce(current *row, options *metav1.DeleteOptions) (res deleted, again bool, err error) {
	before, err := meta.Accessor(current.obj)
	if err != nil {
		return deleted{}, false, fmt.Errorf("delete %s: %w", current.kv.Key, err)
	}
	if err := o.preconditions(before, options.Preconditions); err != nil {
		return deleted{}, false, err
	}
	obj := current.obj.DeepCopyObject()
	m, err := meta.Accessor(obj)
	if err != nil {
		return deleted{}, false, fmt.Errorf("delete %s: %w", current.kv.Key, err)
	}
	if o.strategy.CheckDelete != nil {
		if err := o.strategy.CheckDelete(&o.Context, obj); err != nil {
			return deleted{}, false, err
		}
	}
	graceful, pending := o.grace(obj, m, options)
	if pending {
		return deleted{row: *current}, false, nil
	}
	m.SetFinalizers(o.finalizers(m.GetFinalizers(), options))
	if err := o.mutatingAdmission(opDelete, nil, current.obj); err != nil {
		return deleted{}, false, err
	}
	if err := o.validatingAdmission(opDelete, nil, current.obj); err != nil {
		return deleted{}, false, err
	}
	held := len(m.GetFinalizers()) > 0
	switch {
	case o.Resource.Holds != nil && o.Resource.Holds(obj):
		if before.GetDeletionTimestamp() != nil {
			return deleted{row: *current}, false, nil
		}
		at := metav1.NewTime(o.Now)
		m.SetDeletionTimestamp(&at)
		return o.mark(obj, current)
	case graceful && (held || *m.GetDeletionGracePeriodSeconds() > 0):
		return o.mark(obj, current)
	case graceful:
		return o.markAndRemove(obj, current)
	case held:
		markDeleted(m, o.Now)
		return o.mark(obj, current)
	case o.DryRun:
		return deleted{row: *current, gone: true}, false, nil
	}
	last, again, err := o.remove(current)
	return deleted{row: last, gone: true}, again, err
}

// preconditions checks what the client said the object must be.
func (o *op) preconditions(m metav1.Object, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	gvk := o.Resource.Hub.GVK
	if gvk.Group == "" && gvk.Kind == "Namespace" {
		return o.namespacePreconditions(m, p)
	}
	gr := schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind} // Real Kubernetes names the kind here, too.
	if p.UID != nil && *p.UID != m.GetUID() {
		return apierrors.NewConflict(gr, m.GetName(), fmt.Errorf(
			"the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated",
			*p.UID, m.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return apierrors.NewConflict(gr, m.GetName(), fmt.Errorf(
			"the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified",
			*p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// namespacePreconditions: the deletion of a namespace has upstream's own code, and own words.
func (o *op) namespacePreconditions(m metav1.Object, p *metav1.Preconditions) error {
	conflict := func(what string, want, have any) error {
		return apierrors.NewConflict(o.groupResource(), m.GetName(),
			fmt.Errorf("Precondition failed: %s in precondition: %v, %s in object meta: %v", what, want, what, have))
	}
	if p.UID != nil && *p.UID != m.GetUID() {
		return conflict("UID", *p.UID, m.GetUID())
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion() {
		return conflict("ResourceVersion", *p.ResourceVersion, m.GetResourceVersion())
	}
	return nil
}

// grace sets deletionTimestamp and its period for kinds that end gracefully. pending
// means that an earlier request has already asked for no less.
func (o *op) grace(obj runtime.Object, m metav1.Object, options *metav1.DeleteOptions) (graceful, pending bool) {
	asked := options.GracePeriodSeconds
	if asked != nil && *asked < 0 {
		one := int64(1)
		asked = &one
	}
	if since := m.GetDeletionTimestamp(); since != nil {
		running := m.GetDeletionGracePeriodSeconds()
		switch {
		case running == nil || *running == 0:
			return false, false
		case asked == nil || *asked >= *running:
			return false, true
		}
		period := *asked
		at := metav1.NewTime(since.Add(time.Duration(period-*running) * time.Second))
		if at.Time.Before(o.Now) {
			at = metav1.NewTime(o.Now)
			if period != 0 {
				period = 1
			}
		}
		m.SetDeletionTimestamp(&at)
		m.SetDeletionGracePeriodSeconds(&period)
		return true, false
	}
	if o.strategy.GracePeriod == nil {
		return false, false
	}
	period := o.strategy.GracePeriod(&o.Context, obj, asked)
	at := metav1.NewTime(o.Now.Add(time.Duration(period) * time.Second))
	m.SetDeletionTimestamp(&at)
	m.SetDeletionGracePeriodSeconds(&period)
	if g := m.GetGeneration(); g > 0 {
		m.SetGeneration(g + 1)
	}
	return true, false
}

// markDeleted marks an object that only finalizers hold.
func markDeleted(m metav1.Object, now time.Time) {
	at := m.GetDeletionTimestamp()
	if at == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if at == nil || at.After(now) {
		t := metav1.NewTime(now)
		m.SetDeletionTimestamp(&t)
	}
	zero := int64(0)
	m.SetDeletionGracePeriodSeconds(&zero)
}

// finalizers adds the one that tells the garbage collector what to do with dependents.
func (o *op) finalizers(have []string, options *metav1.DeleteOptions) []string {
	if o.Resource.Propagation == kinds.NoGarbageCollection {
		return have
	}
	orphan, foreground := o.dependents(have, options)
	var kept []string
	for _, f := range have {
		if f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents {
			kept = append(kept, f)
		}
	}
	if orphan {
		kept = append(kept, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		kept = append(kept, metav1.FinalizerDeleteDependents)
	}
	if len(kept) == len(have) && !slices.ContainsFunc(kept, func(f string) bool { return !slices.Contains(have, f) }) {
		return have
	}
	return kept
}

// dependents decides: what the request says, else what an earlier one left as a finalizer, else the kind's default.
func (o *op) dependents(have []string, options *metav1.DeleteOptions) (orphan, foreground bool) {
	switch {
	case options.OrphanDependents != nil:
		return *options.OrphanDependents, false
	case options.PropagationPolicy != nil:
		return *options.PropagationPolicy == metav1.DeletePropagationOrphan, *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	for _, f := range have {
		switch f {
		case metav1.FinalizerOrphanDependents:
			return true, false
		case metav1.FinalizerDeleteDependents:
			return false, true
		}
	}
	return o.Resource.Propagation == kinds.OrphanDependents, false
}

// mark writes the object with its deletionTimestamp.
func (o *op) mark(obj runtime.Object, current *row) (deleted, bool, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return deleted{}, false, fmt.Errorf("delete %s: %w", current.kv.Key, err)
	}
	m.SetManagedFields(managed(&current.kv))
	res, again, err := o.replace(obj, current)
	return deleted{row: res}, again, err
}

// markAndRemove ends an object that ends gracefully, without grace: its last
// revision says that it was deleted, as watchers of pods expect.
func (o *op) markAndRemove(obj runtime.Object, current *row) (deleted, bool, error) {
	marked, again, err := o.mark(obj, current)
	marked.gone = true
	if err != nil || again || o.DryRun {
		return marked, again, err
	}
	last, again, err := o.remove(&marked.row)
	if again && err == nil {
		// The pod's kubelet may have seen the mark and removed the object first: that is success, too.
		now, there, err := o.rest.live(o.Ctx, o.Resource, o.key())
		if err == nil && (!there || uidOf(now.obj) != uidOf(obj)) {
			return marked, false, nil
		}
	}
	return deleted{row: last, gone: true}, again, err
}

func uidOf(obj runtime.Object) types.UID {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return m.GetUID()
}

// remove proposes the tombstone, and gives the object as it was with the revision of its end.
func (o *op) remove(current *row) (res row, again bool, err error) {
	ops, compares, err := o.related(nil, current.obj)
	if err != nil {
		return row{}, false, err
	}
	txn, err := o.propose(&sqlstore.Txn{
		Compare: append([]sqlstore.Compare{is(&current.kv)}, compares...),
		Then:    append([]sqlstore.Op{{Type: sqlstore.OpDelete, Key: current.kv.Key}}, ops...),
	})
	if err != nil {
		return row{}, false, err
	}
	if !txn.Succeeded {
		return row{}, true, nil
	}
	last := *current
	last.kv.ModRevision = txn.Revision
	last.kv.ID = 0
	last.obj = last.obj.DeepCopyObject()
	if m, err := meta.Accessor(last.obj); err == nil {
		m.SetResourceVersion(fmt.Sprint(txn.Revision))
	}
	return last, false, nil
}

// serveDelete answers DELETE on an object.
func (c *call) serveDelete() error {
	options, err := c.deleteOptions()
	if err != nil {
		return err
	}
	c.warnDefaultPropagation(options)
	res, err := c.delete(options)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if !res.gone && options.OrphanDependents != nil && !*options.OrphanDependents {
		code = http.StatusAccepted
	}
	if res.gone && !c.Resource.ReturnsDeleted {
		return c.answerStatus(code, c.success(res.obj))
	}
	return c.answer(code, res.row)
}

// warnDefaultPropagation warns of a default that surprises.
func (c *call) warnDefaultPropagation(options *metav1.DeleteOptions) {
	if c.Resource.DeleteWarning != "" && options.PropagationPolicy == nil && options.OrphanDependents == nil {
		c.Warn(c.Resource.DeleteWarning)
	}
}

// success is the Status that answers for an object that is gone.
func (c *call) success(obj runtime.Object) *metav1.Status {
	s := &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: c.Name, Group: c.Resource.Group, Kind: c.Resource.Name, // Real Kubernetes, too, gives the resource as kind.
	}}
	if m, err := meta.Accessor(obj); err == nil {
		s.Details.UID = m.GetUID()
	}
	return s
}
