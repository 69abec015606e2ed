package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/kinds"
	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// row is an object as it stands in the store, or as a dry run would have left it.
type row struct {
	kv  sqlstore.KV    // ID is 0 for a dry run
	obj runtime.Object // the decoded hub object: shared, without managedFields
}

// live reads the current row of a key.
func (r *REST) live(ctx context.Context, res *kinds.Resource, key string) (row, bool, error) {
	start := time.Now()
	kv, there, err := r.Store.Get(ctx, key, 0)
	r.observe("get", res, start)
	if err != nil || !there {
		return row{}, false, err
	}
	obj, err := r.objects.Object(&kv, res.Hub.New)
	return row{kv: kv, obj: obj}, true, err
}

// observe tells how long the store took, since start.
func (r *REST) observe(operation string, res *kinds.Resource, start time.Time) {
	if r.Observe != nil {
		r.Observe(operation, res.GroupResource(), time.Since(start))
	}
}

// maxObject is how many bytes an object may have; etcd's limit of a request is the same.
const maxObject = 3 << 19

// managed decodes the managedFields of a row.
func managed(kv *sqlstore.KV) []metav1.ManagedFieldsEntry {
	if len(kv.ManagedFields) == 0 {
		return nil
	}
	var entries []metav1.ManagedFieldsEntry
	if json.Unmarshal(kv.ManagedFields, &entries) != nil {
		return nil // the row was written by hand; what manages it is then unknown
	}
	return entries
}

// put makes the operation that writes obj, and computes what the index tables
// need. It takes resourceVersion and managedFields out of obj: the first is
// decided by apply, the second is stored beside the value.
func (r *REST) put(c *kinds.Context, res *kinds.Resource, obj runtime.Object) (sqlstore.Op, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return sqlstore.Op{}, fmt.Errorf("encode %s: %w", res.Name, err)
	}
	op := sqlstore.Op{Type: sqlstore.OpPut, Key: res.Key(m.GetNamespace(), m.GetName())}
	if entries := m.GetManagedFields(); len(entries) > 0 {
		if op.ManagedFields, err = json.Marshal(entries); err != nil {
			return op, fmt.Errorf("encode managedFields of %s: %w", op.Key, err)
		}
	}
	m.SetManagedFields(nil)
	m.SetResourceVersion("")
	wire.Normalize(obj)
	obj.GetObjectKind().SetGroupVersionKind(res.Hub.GVK)
	if !res.Custom && !res.KeepsEmpties {
		dropEmpties(reflect.ValueOf(obj))
	}
	if op.Value, err = json.Marshal(obj); err != nil {
		return op, fmt.Errorf("encode %s: %w", op.Key, err)
	}
	if len(op.Value) > maxObject {
		return op, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("%s would take %d bytes, the limit is %d", op.Key, len(op.Value), maxObject))
	}
	op.Object = sqlstore.ObjectRef{
		Group: res.Group, Resource: res.Name, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()),
	}
	op.Labels = labelPairs(m.GetLabels())
	op.Fields = fieldPairs(res, obj)
	for _, ref := range m.GetOwnerReferences() {
		op.Owners = append(op.Owners, string(ref.UID))
	}
	if res.TTL != nil {
		if op.Lease, err = r.leases.forTTL(c.Ctx, res.TTL(r.Cluster), c.Now); err != nil {
			return op, err
		}
	}
	return op, nil
}

func labelPairs(labels map[string]string) []sqlstore.Pair {
	if len(labels) == 0 {
		return nil
	}
	pairs := make([]sqlstore.Pair, 0, len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, sqlstore.Pair{Name: name, Value: labels[name]})
	}
	return pairs
}

// fieldPairs are the fields that have a value: one that is absent counts as "",
// and a new pod alone would have four rows that say so.
func fieldPairs(res *kinds.Resource, obj runtime.Object) []sqlstore.Pair {
	if res.Strategy == nil || res.Strategy.Fields == nil {
		return nil
	}
	return slices.DeleteFunc(res.Strategy.Fields(obj), func(p sqlstore.Pair) bool { return p.Value == "" })
}

// related makes the operations that go with a write.
func (o *op) related(obj, old runtime.Object) (ops []sqlstore.Op, compares []sqlstore.Compare, err error) {
	if o.strategy.Related == nil {
		return nil, nil, nil
	}
	list, err := o.strategy.Related(&o.Context, obj, old)
	if err != nil {
		return nil, nil, err
	}
	for _, rel := range list {
		res := o.rest.Registry.Get(rel.Resource)
		if res == nil {
			return nil, nil, fmt.Errorf("write %s with %s: it is not served", rel.Resource, o.Resource.Name)
		}
		key := res.Key(rel.Namespace, rel.Name)
		if rel.Object == nil {
			ops = append(ops, sqlstore.Op{Type: sqlstore.OpDelete, Key: key})
			continue
		}
		if err := o.relatedMeta(res, rel.Object); err != nil {
			return nil, nil, err
		}
		op, err := o.rest.put(&o.Context, res, rel.Object)
		if err != nil {
			return nil, nil, err
		}
		ops = append(ops, op)
		if rel.New {
			compares = append(compares, sqlstore.Compare{Key: key, Target: sqlstore.CompareMod, Result: sqlstore.Equal})
		}
	}
	return ops, compares, nil
}

// relatedMeta gives an object that a strategy made what the server decides. The server itself manages its fields.
func (o *op) relatedMeta(res *kinds.Resource, obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("write with %s: %w", o.Resource.Name, err)
	}
	if m.GetUID() == "" {
		m.SetUID(o.UID())
	}
	if t := m.GetCreationTimestamp(); t.IsZero() {
		m.SetCreationTimestamp(metav1.NewTime(o.Now))
	}
	server := o.rest.newOp(o.Ctx, who{}, "create", res, res.Hub, nil, m.GetNamespace(), m.GetName())
	server.manager, server.Now = "kube-apiserver", o.Now
	server.track(res.Hub.New(), obj)
	return nil
}

// propose sends a transaction through the log.
func (o *op) propose(t *sqlstore.Txn) (*sqlstore.Result, error) {
	cmd := &sqlstore.Command{Request: o.request(), Txn: t}
	start := time.Now()
	res, err := o.rest.Proposer.Propose(o.Ctx, cmd)
	o.rest.observe(storeOperation(t), o.Resource, start)
	if err == nil {
		err = res.Err
	}
	if lease := t.Then[0].Lease; lease != 0 && sqlstore.CodeOf(err) == sqlstore.CodeNotFound {
		o.rest.leases.forget(lease)
		return nil, apierrors.NewServerTimeout(o.groupResource(), o.Verb, 1)
	}
	return res, err
}

// storeOperation names what a transaction does to its first key.
func storeOperation(t *sqlstore.Txn) string {
	if t.Then[0].Type == sqlstore.OpDelete {
		return "delete"
	}
	for _, c := range t.Compare {
		if c.Key == t.Then[0].Key && c.Target == sqlstore.CompareMod {
			return "update"
		}
	}
	return "create"
}

// request is the row of table request that the write will point at.
func (o *op) request() sqlstore.Request {
	name := ""
	if o.User != nil {
		name = o.User.GetName()
	}
	return sqlstore.Request{
		At: o.rest.Clock().UnixNano(), User: name, Agent: o.Agent, Verb: o.Verb, Path: o.path, Cause: o.Cause,
	}
}

// written turns the row that a transaction wrote first into the answer.
func (o *op) written(res *sqlstore.Result, obj runtime.Object) row {
	kv := res.Rows[0]
	if m, err := meta.Accessor(obj); err == nil {
		m.SetResourceVersion(fmt.Sprint(kv.ModRevision))
	}
	o.rest.objects.Put(&kv, obj)
	return row{kv: kv, obj: obj}
}

// unwritten is the answer of a dry run.
func unwritten(op sqlstore.Op, revision int64, obj runtime.Object) row {
	if m, err := meta.Accessor(obj); err == nil && revision != 0 {
		m.SetResourceVersion(fmt.Sprint(revision))
	}
	return row{kv: sqlstore.KV{Key: op.Key, Value: op.Value, ManagedFields: op.ManagedFields, ModRevision: revision}, obj: obj}
}

// unchanged tells whether writing op would leave the row as it is.
func unchanged(op *sqlstore.Op, kv *sqlstore.KV) bool {
	return bytes.Equal(op.Value, kv.Value) && bytes.Equal(op.ManagedFields, kv.ManagedFields)
}
