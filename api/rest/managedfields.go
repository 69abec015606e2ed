package rest

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"kuberow/api/kinds"
)

// managedFields record who set which field. apimachinery's managers compute
// them; here is what they need to know of a kind: its schema, its conversion
// and the fields that a path ignores.
//
// The schema of the built-in kinds is one text that takes 115 ms and 15 MB to
// parse. It is parsed at the first write, or by Warm after the server is ready.

type fieldManagers struct {
	rest *REST
	conv func() managedfields.TypeConverter

	mu       sync.Mutex
	managers map[managerKey]*managedfields.FieldManager
	parts    map[partKey]*kinds.Resource
}

// partKey names a kind that is a part of another: the Scale of a Deployment.
type partKey struct {
	parent *kinds.Resource
	gvk    schema.GroupVersionKind
}

type managerKey struct {
	res     *kinds.Resource
	version *kinds.Version
	sub     string
}

func newFieldManagers(r *REST) *fieldManagers {
	return &fieldManagers{
		rest: r, managers: map[managerKey]*managedfields.FieldManager{}, parts: map[partKey]*kinds.Resource{},
		conv: sync.OnceValue(func() managedfields.TypeConverter {
			return &typeConverter{
				builtIn: applyconfigurations.NewTypeConverter(clientscheme.Scheme),
				deduced: managedfields.NewDeducedTypeConverter(),
				more:    sync.OnceValue(r.moreTypes),
				which:   map[schema.GroupVersionKind]managedfields.TypeConverter{},
			}
		}),
	}
}

// Warm loads what the first write would otherwise wait for.
func (r *REST) Warm() {
	probe := &metav1.PartialObjectMetadata{}
	probe.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	_, _ = r.fields.conv().ObjectToTyped(probe, typed.AllowDuplicates)
}

// manager gives the field manager of the op's kind, version and path.
func (o *op) fieldManager() (*managedfields.FieldManager, error) {
	f := o.rest.fields
	key := managerKey{res: o.Resource, version: o.Version, sub: o.Subresource}
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.managers[key]; m != nil {
		return m, nil
	}
	c := converter{res: o.Resource}
	make, types := managedfields.NewDefaultFieldManager, o.Resource.Types
	if o.Resource.Custom {
		make = managedfields.NewDefaultCRDFieldManager
	}
	if types == nil {
		types = f.conv()
	}
	m, err := make(types, c, c, c, o.Version.GVK, o.Resource.Hub.GVK.GroupVersion(), o.Subresource, o.resetFields())
	if err != nil {
		return nil, fmt.Errorf("manage fields of %s: %w", o.Resource.Name, err)
	}
	f.prune()
	f.managers[key] = m
	return m, nil
}

// part gives the resource that stands for what a subresource reads and writes: a Scale, a TokenRequest.
func (f *fieldManagers) part(parent *kinds.Resource, gvk schema.GroupVersionKind, empty func() runtime.Object) *kinds.Resource {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := partKey{parent, gvk}
	if f.parts[k] == nil {
		v := &kinds.Version{GVK: gvk, New: empty}
		f.parts[k] = &kinds.Resource{
			Group: parent.Group, Name: parent.Name, Kind: gvk.Kind, Namespaced: parent.Namespaced,
			Prefix: parent.Prefix, Hub: v, Versions: []*kinds.Version{v}, Strategy: &kinds.Strategy{},
		}
	}
	return f.parts[k]
}

// prune drops what belongs to resources that are served no longer: a custom
// resource whose definition changed is another Resource. f.mu is held.
func (f *fieldManagers) prune() {
	served := func(res *kinds.Resource) bool { return f.rest.Registry.Get(res.GroupResource()) == res }
	for k := range f.managers {
		if k.res.Custom && !served(k.res) {
			delete(f.managers, k)
		}
	}
	for k := range f.parts {
		if k.parent.Custom && !served(k.parent) {
			delete(f.parts, k)
		}
	}
}

// resetFields are the fields that the op's path ignores, in each version.
func (o *op) resetFields() map[fieldpath.APIVersion]fieldpath.Filter {
	if len(o.strategy.ResetFields) == 0 {
		return nil
	}
	set := fieldpath.NewSet()
	for _, text := range o.strategy.ResetFields {
		var parts []any
		for _, name := range splitPath(text) {
			parts = append(parts, name)
		}
		set.Insert(fieldpath.MakePathOrDie(parts...))
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	for _, v := range o.Resource.Versions {
		filters[fieldpath.APIVersion(v.GVK.GroupVersion().String())] = fieldpath.NewExcludeSetFilter(set)
	}
	return filters
}

// splitPath cuts a.b.c, or \.a\.b as fieldpath prints it.
func splitPath(text string) (parts []string) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == '.' {
			if i > start {
				parts = append(parts, text[start:i])
			}
			start = i + 1
		}
	}
	return parts
}

// track records in obj.managedFields what the op's manager changed from live
// to obj. A part of an object that has no PUT of its own (a pod's binding) is
// written on behalf of nobody: Real Kubernetes records no manager for it.
func (o *op) track(live, obj runtime.Object) {
	if o.unmanaged || o.sub != nil && !slices.Contains(o.sub.Verbs, "update") && !slices.Contains(o.sub.Verbs, "patch") {
		keepManaged(live, obj)
		return
	}
	m, err := o.fieldManager()
	if err != nil {
		o.rest.Logger.Warn("managedFields not recorded", "error", err)
		return
	}
	live.GetObjectKind().SetGroupVersionKind(o.Resource.Hub.GVK)
	obj.GetObjectKind().SetGroupVersionKind(o.Resource.Hub.GVK)
	known := entryTimes(live, obj)
	m.UpdateNoErrors(live, obj, o.manager)
	o.stamp(known, obj)
}

func keepManaged(live, obj runtime.Object) {
	l, err := meta.Accessor(live)
	if err != nil {
		return
	}
	if m, err := meta.Accessor(obj); err == nil {
		m.SetManagedFields(l.GetManagedFields())
	}
}

// trackRow is track against a stored row.
func (o *op) trackRow(current *row, obj runtime.Object) { o.track(current.complete(), obj) }

// complete gives a copy of the row's object with its managedFields. The copy
// is as deep as is needed to set them without touching the shared object.
func (r *row) complete() runtime.Object {
	live := shallow(r.obj)
	if m, err := meta.Accessor(live); err == nil {
		m.SetManagedFields(managed(&r.kv))
	}
	return live
}

// entryTimes lists when entries say that they were made: those of the stored object and those
// that the client sent.
func entryTimes(objects ...runtime.Object) map[string]bool {
	known := map[string]bool{}
	for _, obj := range objects {
		if m, err := meta.Accessor(obj); err == nil {
			for _, e := range m.GetManagedFields() {
				known[entryTime(&e)] = true
			}
		}
	}
	return known
}

// stamp gives the entries that were written now the request's time instead of the library's
// clock, so that a run can be repeated exactly. An apply that changes only who owns what leaves
// its entry without a time.
func (o *op) stamp(known map[string]bool, obj runtime.Object) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	entries := m.GetManagedFields()
	if len(entries) == 0 {
		return
	}
	now := metav1.NewTime(o.Now.UTC())
	for i := range entries {
		if entries[i].Time != nil && !known[entryTime(&entries[i])] {
			entries[i].Time = &now
		}
	}
	m.SetManagedFields(entries)
}

// entryTime names an entry and its time.
func entryTime(e *metav1.ManagedFieldsEntry) string {
	second := int64(0)
	if e.Time != nil {
		second = e.Time.Unix()
	}
	return fmt.Sprint(e.Manager, "\x00", e.Operation, "\x00", e.APIVersion, "\x00", e.Subresource, "\x00", second)
}
