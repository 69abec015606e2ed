package bootstrap

// Ensure: look which of the objects live, write those that do not as one
// transaction that fails when another server was faster, and correct the API
// server's address. On a new store that is one proposal and no reading.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// Store is what Ensure reads; *sqlstore.Store is one.
type Store interface {
	Get(ctx context.Context, key string, revision int64) (sqlstore.KV, bool, error)
	Range(ctx context.Context, q sqlstore.Query) (sqlstore.Page, error)
}

// Proposer writes; *raftlog.Node is one.
type Proposer interface {
	Propose(ctx context.Context, cmd *sqlstore.Command) (*sqlstore.Result, error)
}

// Options of Ensure.
type Options struct {
	Settings
	Store    Store
	Proposer Proposer
	Registry *kinds.Registry // for keys and field selectors
	UID      func() types.UID
}

// Ensure makes what is missing. It may be called at every start.
func Ensure(ctx context.Context, o Options) error {
	present, err := o.present(ctx)
	if err != nil {
		return err
	}
	ops, err := o.missing(present)
	if err != nil {
		return err
	}
	if len(ops) > 0 {
		if err := o.propose(ctx, "create", ops, nil); err != nil {
			return err
		}
	}
	if len(present) > 0 {
		return o.follow(ctx)
	}
	return nil
}

// present lists the keys of the ranges that the objects are in.
func (o Options) present(ctx context.Context) (map[string]bool, error) {
	const first = "/registry/namespaces/"
	page, err := o.Store.Range(ctx, sqlstore.Query{From: first, To: sqlstore.PrefixEnd(first), KeysOnly: true})
	if err != nil {
		return nil, fmt.Errorf("look for bootstrap objects: %w", err)
	}
	present := map[string]bool{}
	for _, row := range page.Rows {
		present[row.Key] = true
	}
	if len(present) == 0 {
		return present, nil // a new cluster
	}
	for _, gr := range bootstrapResources {
		res := o.Registry.Get(gr)
		if res == nil {
			return nil, fmt.Errorf("look for bootstrap objects: %s is not served", gr)
		}
		from := res.Range("")
		page, err := o.Store.Range(ctx, sqlstore.Query{From: from, To: sqlstore.PrefixEnd(from), KeysOnly: true})
		if err != nil {
			return nil, fmt.Errorf("look for bootstrap objects: %w", err)
		}
		for _, row := range page.Rows {
			present[row.Key] = true
		}
	}
	return present, o.presentNetwork(ctx, present)
}

func (o Options) presentNetwork(ctx context.Context, present map[string]bool) error {
	typed, err := NetworkObjects(o.Settings)
	if err != nil {
		return err
	}
	for _, t := range typed {
		res := o.Registry.Get(t.GroupResource)
		if res == nil {
			return fmt.Errorf("look for bootstrap objects: %s is not served", t.GroupResource)
		}
		key := res.Key(t.Object.GetNamespace(), t.Object.GetName())
		_, found, err := o.Store.Get(ctx, key, 0)
		if err != nil {
			return fmt.Errorf("look for bootstrap objects: %w", err)
		}
		if found {
			present[key] = true
		}
	}
	return nil
}

var bootstrapResources = []schema.GroupResource{
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, {Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}, {Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	{Group: "scheduling.k8s.io", Resource: "priorityclasses"},
	{Group: "flowcontrol.apiserver.k8s.io", Resource: "flowschemas"}, {Group: "flowcontrol.apiserver.k8s.io", Resource: "prioritylevelconfigurations"},
	{Group: "apiregistration.k8s.io", Resource: "apiservices"},
}

// missing makes the puts of what is not present.
func (o Options) missing(present map[string]bool) ([]sqlstore.Op, error) {
	prepared, err := Parse(objectsText)
	if err != nil {
		return nil, err
	}
	network, err := o.network()
	if err != nil {
		return nil, err
	}
	var ops []sqlstore.Op
	for _, p := range append(prepared, network...) {
		res := o.Registry.Get(schema.GroupResource{Group: p.Group, Resource: p.Resource})
		if res == nil {
			return nil, fmt.Errorf("make bootstrap object %s/%s: %s is not served", p.Namespace, p.Name, p.Resource)
		}
		if key := res.Key(p.Namespace, p.Name); !present[key] {
			op, err := o.put(res, key, p)
			if err != nil {
				return nil, err
			}
			ops = append(ops, op)
		}
	}
	return ops, nil
}

func (o Options) put(res *kinds.Resource, key string, p Object) (sqlstore.Op, error) {
	uid, now := string(o.UID()), o.Now.UTC().Format(time.RFC3339)
	fill := strings.NewReplacer(UIDPlace, uid, TimePlace, now)
	op := sqlstore.Op{
		Type: sqlstore.OpPut, Key: key, Value: []byte(fill.Replace(p.Value)), ManagedFields: []byte(fill.Replace(p.Managed)),
		Object: sqlstore.ObjectRef{Group: p.Group, Resource: p.Resource, Namespace: p.Namespace, Name: p.Name, UID: uid},
		Labels: p.Labels,
	}
	if res.Strategy != nil && res.Strategy.Fields != nil {
		obj, err := decode(res, op.Value)
		if err != nil {
			return op, err
		}
		op.Fields = res.Strategy.Fields(obj)
	}
	return op, nil
}

func decode(res *kinds.Resource, value []byte) (runtime.Object, error) {
	obj := res.Hub.New()
	if err := json.Unmarshal(value, obj); err != nil {
		return nil, fmt.Errorf("decode bootstrap object of %s: %w", res.Name, err)
	}
	return obj, nil
}

// network prepares the objects of network.go.
func (o Options) network() ([]Object, error) {
	typed, err := NetworkObjects(o.Settings)
	if err != nil {
		return nil, err
	}
	managed, err := Parse(managedText)
	if err != nil {
		return nil, err
	}
	var out []Object
	for i, t := range typed {
		stamp(t.Object, types.UID(UIDPlace), o.Now)
		value, err := json.Marshal(t.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", t.Resource, t.Object.GetName(), err)
		}
		if managed[i].Resource != t.Resource {
			return nil, fmt.Errorf("prepare %s: managed.txt has %s in its place; run make generate", t.Resource, managed[i].Resource)
		}
		out = append(out, Object{Group: t.Group, Resource: t.Resource, Namespace: t.Object.GetNamespace(), Name: t.Object.GetName(),
			Labels: pairs(t.Object.GetLabels()), Value: string(value), Managed: managed[i].Managed})
	}
	return out, nil
}

func pairs(labels map[string]string) []sqlstore.Pair {
	var out []sqlstore.Pair
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, sqlstore.Pair{Name: k, Value: labels[k]})
	}
	return out
}

// follow rewrites the objects that say where the API server is, when it moved, and renews its lease.
func (o Options) follow(ctx context.Context) error {
	want, err := NetworkObjects(o.Settings)
	if err != nil {
		return err
	}
	var ops []sqlstore.Op
	var compares []sqlstore.Compare
	for _, t := range want {
		res := o.Registry.Get(t.GroupResource)
		key := res.Key(t.Object.GetNamespace(), t.Object.GetName())
		kv, found, err := o.Store.Get(ctx, key, 0)
		if err != nil {
			return fmt.Errorf("follow the API server's address: %w", err)
		}
		if !found {
			continue
		}
		obj, err := decode(res, kv.Value)
		if err != nil {
			return err
		}
		if !move(obj, t.Object) {
			continue
		}
		value, err := json.Marshal(obj)
		if err != nil {
			return fmt.Errorf("encode %s: %w", key, err)
		}
		m := obj.(metav1.Object)
		op := sqlstore.Op{Type: sqlstore.OpPut, Key: key, Value: value, ManagedFields: kv.ManagedFields, Lease: kv.Lease, Labels: pairs(m.GetLabels()),
			Object: sqlstore.ObjectRef{Group: t.Group, Resource: t.Resource, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}}
		if res.Strategy != nil && res.Strategy.Fields != nil {
			op.Fields = res.Strategy.Fields(obj)
		}
		ops = append(ops, op)
		compares = append(compares, sqlstore.Compare{Key: key, Target: sqlstore.CompareMod, Result: sqlstore.Equal, Int: kv.ModRevision})
	}
	if len(ops) == 0 {
		return nil
	}
	return o.propose(ctx, "update", ops, compares)
}

// move copies what depends on the address; it says whether obj changed.
func move(obj runtime.Object, want metav1.Object) bool {
	before := obj.DeepCopyObject()
	switch obj := obj.(type) {
	case *corev1.Service:
		if want := want.(*corev1.Service); len(obj.Spec.Ports) == 1 {
			obj.Spec.Ports[0].TargetPort = want.Spec.Ports[0].TargetPort
		}
	case *corev1.Endpoints:
		obj.Subsets = want.(*corev1.Endpoints).Subsets
	case *discoveryv1.EndpointSlice:
		want := want.(*discoveryv1.EndpointSlice)
		obj.Endpoints, obj.Ports = want.Endpoints, want.Ports
	case *coordinationv1.Lease:
		obj.Spec.RenewTime = want.(*coordinationv1.Lease).Spec.RenewTime
		obj.Annotations = want.GetAnnotations()
	}
	if slice, ok := obj.(*discoveryv1.EndpointSlice); ok && !equal(before, obj) {
		slice.Generation++
	}
	return !equal(before, obj)
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// propose writes ops; without compares, only where none of the keys lives.
func (o Options) propose(ctx context.Context, verb string, ops []sqlstore.Op, compares []sqlstore.Compare) error {
	if compares == nil {
		for _, op := range ops {
			compares = append(compares, sqlstore.Compare{Key: op.Key, Target: sqlstore.CompareCreate, Result: sqlstore.Equal, Int: 0})
		}
	}
	result, err := o.Proposer.Propose(ctx, &sqlstore.Command{
		Request: sqlstore.Request{At: o.Now.UnixNano(), User: "system:apiserver", Agent: "kuberow", Verb: verb, Path: "bootstrap"},
		Txn:     &sqlstore.Txn{Compare: compares, Then: ops},
	})
	if err != nil {
		return fmt.Errorf("%s bootstrap objects: %w", verb, err)
	}
	if result.Err != nil {
		return fmt.Errorf("%s bootstrap objects: %w", verb, result.Err)
	}
	if !result.Succeeded {
		return fmt.Errorf("%s bootstrap objects: another server wrote one of them at the same time; start again", verb)
	}
	return nil
}
