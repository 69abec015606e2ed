package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/sqlstore"
)

// POST. The key must not live when the proposal is applied: that is the whole
// concurrency control of a create. A generated name that is taken is
// generated again.

// maxNames is how many generated names are tried.
const maxNames = 8

// create takes a decoded hub object through all stages. The object belongs to
// the pipeline from here on.
func (o *op) create(obj runtime.Object) (row, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return row{}, fmt.Errorf("create %s: %w", o.Resource.Name, err)
	}
	wipeSystemMeta(m)
	if err := o.checkNamespace(m); err != nil {
		return row{}, err
	}
	o.dedupeOwners(m, false)
	o.Name = m.GetName()
	if o.Resource.Group == "" && o.Resource.Name == "namespaces" {
		o.Namespace = o.Name
	}
	o.defaults(obj)
	o.track(o.Resource.Hub.New(), obj)
	if err := o.mutatingAdmission(opCreate, obj, nil); err != nil {
		return row{}, err
	}
	o.dedupeOwners(m, true)
	generated := m.GetName() == "" && m.GetGenerateName() != ""
	if !generated {
		return o.createOnce(obj, m)
	}
	entries := m.GetManagedFields()
	for range maxNames {
		var res row
		if res, err = o.createOnce(obj, m); !apierrors.IsAlreadyExists(err) {
			return res, err
		}
		m.SetName("")
		m.SetManagedFields(entries)
	}
	return row{}, err
}

// createOnce runs the stages after mutating admission, which depend on the name.
func (o *op) createOnce(obj runtime.Object, m metav1.Object) (row, error) {
	defer o.End()
	o.systemMeta(m)
	if err := o.prepareCreate(obj); err != nil {
		return row{}, err
	}
	if err := o.validatingAdmission(opCreate, obj, nil); err != nil {
		return row{}, err
	}
	return o.insert(obj)
}

// insert proposes the new object.
func (o *op) insert(obj runtime.Object) (row, error) {
	named, err := o.namedVersion(obj)
	if err != nil {
		return row{}, err
	}
	put, err := o.rest.put(&o.Context, o.Resource, obj)
	if err != nil {
		return row{}, err
	}
	if o.DryRun {
		if current, there, err := o.rest.live(o.Ctx, o.Resource, put.Key); err != nil || there {
			if err == nil {
				err = o.alreadyExists(&current.kv)
			}
			return row{}, err
		}
		return unwritten(put, named, obj), nil
	}
	ops, compares, err := o.related(obj, nil)
	if err != nil {
		return row{}, err
	}
	res, err := o.propose(&sqlstore.Txn{
		Compare: append([]sqlstore.Compare{{Key: put.Key, Target: sqlstore.CompareMod, Result: sqlstore.Equal}}, compares...),
		Then:    append([]sqlstore.Op{put}, ops...),
	})
	if err != nil {
		return row{}, err
	}
	if res.Succeeded {
		return o.written(res, obj), nil
	}
	if len(res.Current) > 0 && res.Current[0].ModRevision != 0 {
		return row{}, o.alreadyExists(&res.Current[0])
	}
	return row{}, o.takenMeanwhile()
}

// namedVersion is the resourceVersion that a client gave a new object. It is refused
// where it reads as one, and only when the object would be written: upstream's storage looks, not its handler.
func (o *op) namedVersion(obj runtime.Object) (int64, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return 0, fmt.Errorf("create %s: %w", o.Resource.Name, err)
	}
	version, err := strconv.ParseInt(m.GetResourceVersion(), 10, 64)
	if err != nil || version == 0 {
		return 0, nil
	}
	if !o.DryRun {
		return 0, errors.New("resourceVersion should not be set on objects to be created")
	}
	return version, nil
}

// alreadyExists is the 409 of a create, which says more when the object is on its way out.
func (o *op) alreadyExists(kv *sqlstore.KV) error {
	err := apierrors.NewAlreadyExists(o.groupResource(), o.Name)
	if current, decodeErr := o.rest.objects.Object(kv, o.Resource.Hub.New); decodeErr == nil {
		if m, accessErr := meta.Accessor(current); accessErr == nil && m.GetDeletionTimestamp() != nil {
			err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
		}
	}
	return err
}

// takenMeanwhile is answered when something that the write reserved beside
// its object (a cluster IP) was taken between choosing and applying.
func (o *op) takenMeanwhile() error {
	err := apierrors.NewServerTimeout(o.groupResource(), o.Verb, 1)
	err.ErrStatus.Message = fmt.Sprintf("%s: what it reserves was taken by another request meanwhile, try again", o.Resource.Name)
	return err
}

// post reads what a POST brings.
func (c *call) post() (body []byte, mediaType string, o *metav1.CreateOptions, err error) {
	if mediaType, err = c.inputType(); err != nil {
		return nil, "", nil, err
	}
	if body, err = c.readBody(); err != nil {
		return nil, "", nil, err
	}
	o = &metav1.CreateOptions{}
	return body, mediaType, o, c.createOptions(o)
}

// serveCreate answers POST on a collection.
func (c *call) serveCreate() error {
	body, mediaType, options, err := c.post()
	if err != nil {
		return err
	}
	obj, err := c.decode(body, mediaType, options.FieldValidation)
	if err != nil {
		return err
	}
	res, err := c.create(obj)
	if err != nil {
		return err
	}
	return c.answer(http.StatusCreated, res)
}
