package rest

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// typeConverter finds the schema of a kind: client-go's for most built-in
// kinds, the one made from the API's own description for the others, and for
// what neither knows (Scale) a guess, in which lists are atomic.
type typeConverter struct {
	builtIn, deduced managedfields.TypeConverter
	more             func() managedfields.TypeConverter

	mu    sync.Mutex
	which map[schema.GroupVersionKind]managedfields.TypeConverter
}

// of gives the converter that knows the kind, found out by trying.
func (t *typeConverter) of(gvk schema.GroupVersionKind) managedfields.TypeConverter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.which[gvk]; c != nil {
		return c
	}
	empty := &unstructured.Unstructured{Object: map[string]any{}}
	empty.SetGroupVersionKind(gvk)
	found := t.deduced
	if _, err := t.builtIn.ObjectToTyped(empty); err == nil {
		found = t.builtIn
	} else if more := t.more(); more != nil {
		if _, err := more.ObjectToTyped(empty); err == nil {
			found = more
		}
	}
	t.which[gvk] = found
	return found
}

// ObjectToTyped implements managedfields.TypeConverter.
func (t *typeConverter) ObjectToTyped(obj runtime.Object, o ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return t.of(obj.GetObjectKind().GroupVersionKind()).ObjectToTyped(obj, o...)
}

// TypedToObject implements managedfields.TypeConverter.
func (t *typeConverter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	return t.builtIn.TypedToObject(v)
}

// moreTypes makes the schemas that client-go does not have, nil when nobody can.
func (r *REST) moreTypes() managedfields.TypeConverter {
	if r.Types == nil {
		return nil
	}
	var others []*kinds.Resource
	for _, res := range r.Registry.All() {
		if !res.Custom && !clientscheme.Scheme.Recognizes(res.Hub.GVK) || res.Prefix == "" {
			others = append(others, res)
		}
	}
	c, err := r.Types(others)
	if err != nil {
		r.Logger.Warn("some kinds have no schema for managedFields", "error", err)
		return nil
	}
	return c
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

// forget drops the managers of a resource that is served no longer.
func (f *fieldManagers) forget(res *kinds.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k := range f.managers {
		if k.res == res {
			delete(f.managers, k)
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
	if o.sub != nil && !slices.Contains(o.sub.Verbs, "update") && !slices.Contains(o.sub.Verbs, "patch") {
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
	m.UpdateNoErrors(live, obj, o.manager)
	o.stamp(live, obj)
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

// stamp gives the entries that were written now the request's time instead of
// the library's clock, so that a run can be repeated exactly.
func (o *op) stamp(live, obj runtime.Object) {
	l, err := meta.Accessor(live)
	if err != nil {
		return
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	entries := m.GetManagedFields()
	if len(entries) == 0 {
		return
	}
	old := map[string]*metav1.Time{}
	for _, e := range l.GetManagedFields() {
		old[entryKey(&e)] = e.Time
	}
	now := metav1.NewTime(o.Now.UTC())
	for i := range entries {
		if before := old[entryKey(&entries[i])]; before == nil || !before.Equal(entries[i].Time) {
			entries[i].Time = &now
		}
	}
	m.SetManagedFields(entries)
}

func entryKey(e *metav1.ManagedFieldsEntry) string {
	return e.Manager + "\x00" + string(e.Operation) + "\x00" + e.APIVersion + "\x00" + e.Subresource
}

// converter is what apimachinery's field managers ask of a kind.
type converter struct{ res *kinds.Resource }

// ConvertToVersion implements runtime.ObjectConvertor for the versions of the kind.
func (c converter) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := to.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("convert %s to %s: not one version", c.res.Name, to.Identifier())
	}
	in, err := c.structured(in)
	if err != nil {
		return nil, err
	}
	from := in.GetObjectKind().GroupVersionKind().GroupVersion()
	if from == gv {
		return in, nil
	}
	if from != c.res.Hub.GVK.GroupVersion() {
		v := c.version(from)
		if v == nil || v.ToHub == nil {
			return nil, runtime.NewNotRegisteredErrForTarget(c.res.Name, nilType, to)
		}
		if in, err = v.ToHub(in); err != nil {
			return nil, err
		}
		in.GetObjectKind().SetGroupVersionKind(c.res.Hub.GVK)
	}
	if gv == c.res.Hub.GVK.GroupVersion() {
		return in, nil
	}
	v := c.version(gv)
	if v == nil || v.FromHub == nil {
		return nil, runtime.NewNotRegisteredErrForTarget(c.res.Name, nilType, to)
	}
	out, err := v.FromHub(in)
	if err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(v.GVK)
	return out, nil
}

// structured makes a typed object of an unstructured one, unless the kind is custom.
func (c converter) structured(in runtime.Object) (runtime.Object, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok || c.res.Custom {
		return in, nil
	}
	gvk := u.GroupVersionKind()
	out, err := c.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, out); err != nil {
		return nil, err
	}
	out.GetObjectKind().SetGroupVersionKind(gvk)
	return out, nil
}

func (c converter) version(gv schema.GroupVersion) *kinds.Version {
	for _, v := range c.res.Versions {
		if v.GVK.GroupVersion() == gv {
			return v
		}
	}
	return nil
}

// Convert implements runtime.ObjectConvertor; field managers do not call it.
func (c converter) Convert(in, out, _ any) error {
	return fmt.Errorf("convert %T to %T: not supported", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; field managers do not call it.
func (c converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// Default implements runtime.ObjectDefaulter on an object of any version.
func (c converter) Default(in runtime.Object) {
	if c.res.Strategy == nil || c.res.Strategy.Default == nil {
		return
	}
	if in.GetObjectKind().GroupVersionKind() == c.res.Hub.GVK {
		c.res.Strategy.Default(in)
	}
}

// New implements runtime.ObjectCreater.
func (c converter) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	for _, v := range append([]*kinds.Version{c.res.Hub}, c.res.Versions...) {
		if v.GVK == gvk {
			obj := v.New()
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			return obj, nil
		}
	}
	return nil, runtime.NewNotRegisteredErrForKind(c.res.Name, gvk)
}
