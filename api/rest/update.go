package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"kuberow/sqlstore"
)

// PUT and everything else that changes an object. A change is a function from
// the object as it is to the object as it should be; it is called again when
// another write came between reading and applying. A client that names a
// resourceVersion gets 409 instead.

// change makes the wanted object from the current one (shared, without
// managedFields; nil when it does not exist). tracked tells that it has
// computed managedFields itself.
type change func(current *row) (obj runtime.Object, tracked bool, err error)

// maxRounds bounds the retries of one update under contention.
const maxRounds = 100

// update applies a change to the op's object. With mayCreate an object that does not exist is created.
func (o *op) update(apply change, mayCreate bool, uid types.UID) (res row, created bool, err error) {
	mayCreate = mayCreate || o.strategy.AllowCreateOnUpdate
	for range maxRounds {
		current, there, err := o.rest.live(o.Ctx, o.Resource, o.key())
		if err != nil {
			return row{}, false, err
		}
		if !there && !mayCreate {
			return row{}, false, o.notFound()
		}
		var again bool
		if there {
			res, again, err = o.updateOnce(apply, &current, uid)
		} else {
			created = true
			res, again, err = o.createByUpdate(apply, uid)
		}
		if !again {
			return res, created, err
		}
		if err := o.Ctx.Err(); err != nil {
			return row{}, false, err
		}
	}
	return row{}, false, apierrors.NewConflict(o.groupResource(), o.Name,
		fmt.Errorf("other writes came first %d times", maxRounds))
}

// updateOnce is one round: the stages from the change to the proposal.
func (o *op) updateOnce(apply change, current *row, uid types.UID) (res row, again bool, err error) {
	defer o.End()
	old := current.obj
	before, err := meta.Accessor(old)
	if err != nil {
		return row{}, false, fmt.Errorf("update %s: %w", current.kv.Key, err)
	}
	if uid != "" && uid != before.GetUID() {
		return row{}, false, o.wrongUID(uid, before.GetUID())
	}
	obj, tracked, err := apply(current)
	if err != nil {
		return row{}, false, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return row{}, false, fmt.Errorf("update %s: %w", current.kv.Key, err)
	}
	if !tracked {
		o.trackRow(current, obj)
	}
	if err := o.mutatingAdmission(opUpdate, obj, old); err != nil {
		return row{}, false, err
	}
	o.dedupeOwners(m, true)
	if err := o.checkVersion(m, before); err != nil {
		return row{}, false, err
	}
	if err := o.checkNamespace(m); err != nil {
		return row{}, false, err
	}
	if err := o.prepareUpdate(obj, old); err != nil {
		return row{}, false, err
	}
	if err := o.validatingAdmission(opUpdate, obj, old); err != nil {
		return row{}, false, err
	}
	if lastFinalizerGone(m, before) && (o.Resource.Holds == nil || !o.Resource.Holds(obj)) {
		return o.removeAfterUpdate(obj, current)
	}
	return o.replace(obj, current)
}

// checkVersion is optimistic concurrency: the version the client saw must be the current one.
func (o *op) checkVersion(m, before metav1.Object) error {
	version, err := parseVersion(m.GetResourceVersion())
	switch {
	case err != nil:
		return err
	case version == 0 && o.strategy.ForbidUnconditionalUpdate:
		kind := schema.GroupKind{Group: o.Resource.Group, Kind: o.Resource.Name}
		return apierrors.NewInvalid(kind, o.Name, field.ErrorList{
			field.Invalid(metadata.Child("resourceVersion"), 0, "must be specified for an update")})
	case version == 0:
		m.SetResourceVersion(before.GetResourceVersion())
		return nil
	case strconv.FormatUint(version, 10) != before.GetResourceVersion():
		return o.modified()
	}
	return nil
}

// parseVersion reads a resourceVersion; none is 0. What does not read as one is a 500 in
// upstream's storage, whose words these are.
func parseVersion(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// replace proposes the changed object on the condition that current is still current.
func (o *op) replace(obj runtime.Object, current *row) (res row, again bool, err error) {
	put, err := o.rest.put(&o.Context, o.Resource, obj)
	if err != nil {
		return row{}, false, err
	}
	keepTimes(&put, &current.kv)
	if put.Lease == 0 && o.Resource.TTL == nil {
		put.Lease = current.kv.Lease
	}
	if unchanged(&put, &current.kv) {
		return *current, false, nil
	}
	if o.DryRun {
		return unwritten(put, current.kv.ModRevision, obj), false, nil
	}
	ops, compares, err := o.related(obj, current.obj)
	if err != nil {
		return row{}, false, err
	}
	txn, err := o.propose(&sqlstore.Txn{
		Compare: append([]sqlstore.Compare{is(&current.kv)}, compares...),
		Then:    append([]sqlstore.Op{put}, ops...),
	})
	if err != nil {
		return row{}, false, err
	}
	if !txn.Succeeded {
		return row{}, true, nil
	}
	return o.written(txn, obj), false, nil
}

// is is the condition that a row is still the current one of its key.
func is(kv *sqlstore.KV) sqlstore.Compare {
	return sqlstore.Compare{Key: kv.Key, Target: sqlstore.CompareMod, Result: sqlstore.Equal, Int: kv.ModRevision}
}

// createByUpdate is a PUT or an apply of a name that does not exist.
func (o *op) createByUpdate(apply change, uid types.UID) (res row, again bool, err error) {
	if uid != "" {
		return row{}, false, o.wrongUID(uid, "")
	}
	obj, tracked, err := apply(nil)
	if err != nil {
		return row{}, false, err
	}
	if err := o.authorize("create"); err != nil {
		return row{}, false, err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return row{}, false, fmt.Errorf("create %s: %w", o.Resource.Name, err)
	}
	if !tracked {
		o.track(o.Resource.Hub.New(), obj)
	}
	if err := o.mutatingAdmission(opCreate, obj, nil); err != nil {
		return row{}, false, err
	}
	o.dedupeOwners(m, true)
	if _, err := parseVersion(m.GetResourceVersion()); err != nil { // one that can be read is ignored
		return row{}, false, err
	}
	if !o.DryRun { // which shows it again
		m.SetResourceVersion("")
	}
	wipeSystemMeta(m)
	if err := o.checkNamespace(m); err != nil {
		return row{}, false, err
	}
	res, err = o.createOnce(obj, m)
	return res, apierrors.IsAlreadyExists(err) && !o.DryRun, err
}

// lastFinalizerGone tells whether an update removed what kept a deleted object alive.
func lastFinalizerGone(m, before metav1.Object) bool {
	if len(m.GetFinalizers()) > 0 || before.GetDeletionTimestamp() == nil {
		return false
	}
	grace := before.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// removeAfterUpdate deletes the object instead of writing it without its last finalizer.
func (o *op) removeAfterUpdate(obj runtime.Object, current *row) (res row, again bool, err error) {
	put, err := o.rest.put(&o.Context, o.Resource, obj)
	if err != nil {
		return row{}, false, err
	}
	answer := unwritten(put, current.kv.ModRevision, obj)
	if o.DryRun {
		return answer, false, nil
	}
	_, again, err = o.remove(current)
	return answer, again, err
}

// wrongUID is the 409 of an update meant for another object of that name. A dry run does not
// get as far as the part of upstream's storage that knows where keys begin.
func (o *op) wrongUID(want, have types.UID) error {
	key := o.key()
	if o.DryRun {
		key = strings.TrimPrefix(key, "/registry")
	}
	return apierrors.NewConflict(o.groupResource(), o.Name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %s, UID in object meta: %s",
		key, want, have))
}

// keepTimes keeps the old managedFields when only their times differ and the
// object is the same: a write that changes nothing must not look like one.
func keepTimes(put *sqlstore.Op, kv *sqlstore.KV) {
	if !bytes.Equal(put.Value, kv.Value) || bytes.Equal(put.ManagedFields, kv.ManagedFields) {
		return
	}
	var now, before []metav1.ManagedFieldsEntry
	if json.Unmarshal(put.ManagedFields, &now) != nil || json.Unmarshal(kv.ManagedFields, &before) != nil || len(now) != len(before) {
		return
	}
	for i := range now {
		now[i].Time = before[i].Time
	}
	if again, err := json.Marshal(now); err == nil && bytes.Equal(again, kv.ManagedFields) {
		put.ManagedFields = again
	}
}

var errNoObject = errors.New("the request has no object")

// serveUpdate answers PUT on an object or on a part of it.
func (c *call) serveUpdate() error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	options := &metav1.UpdateOptions{}
	if err := c.updateOptions(options); err != nil {
		return err
	}
	mediaType, err := c.inputType()
	if err != nil {
		return err
	}
	obj, err := c.decode(body, mediaType, options.FieldValidation)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return errNoObject
	}
	if err := c.checkNamespace(m); err != nil {
		return err
	}
	if err := c.checkName(m); err != nil {
		return err
	}
	if err := usableName(c.info); err != nil {
		return err
	}
	c.dedupeOwners(m, false)
	c.defaults(obj)
	res, created, err := c.update(func(*row) (runtime.Object, bool, error) {
		return obj.DeepCopyObject(), false, nil
	}, false, m.GetUID())
	if err != nil {
		return err
	}
	return c.answer(okOrCreated(created), res)
}

func okOrCreated(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}
