package kinds

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Resource is what the generic verbs know about one resource of one group.
// Two Resources may share a Prefix and a Hub: Event is served by the core
// group and by events.k8s.io, and stored once.
type Resource struct {
	Group      string   // "" for the core group
	Name       string   // plural, lower case: pods
	Singular   string   // pod
	Kind       string   // Pod
	ShortNames []string // po
	Categories []string // all
	Namespaced bool

	// Verbs in discovery's order; a verb that is not listed answers 405.
	Verbs []string

	// Versions in order of preference; the first is discovery's preferred one.
	Versions []*Version

	// Hub is the version that is stored and that every Strategy function sees.
	// It need not be of this Group (events.k8s.io stores the core Event).
	Hub *Version

	// Prefix of the keys, etcd's own: /registry/pods. Then /NAMESPACE/NAME,
	// or /NAME for cluster-scoped kinds. "" for a resource that stores nothing.
	Prefix string

	// StorageVersionHash is what discovery prints for clients that migrate storage.
	StorageVersionHash string

	Strategy     *Strategy
	Subresources []*Subresource

	// Create serves POST for a resource that stores nothing: reviews, bindings.
	Create CreateFunc

	// Read serves get and list for a resource that stores nothing (componentstatuses): a
	// name gives one object, "" gives the list.
	Read func(r *Context, name string) (runtime.Object, error)

	// Custom marks a resource made by a CustomResourceDefinition: its objects are
	// unstructured.
	Custom bool

	// KeepsEmpties marks the kinds that upstream stores as JSON, where an empty list is not the same as none;
	// protobuf, in which it stores the other built-in kinds, knows only one of the two.
	KeepsEmpties bool

	// Types is the schema of a custom resource, for managedFields; nil for the built-in kinds.
	Types managedfields.TypeConverter

	// Table renders the objects that Read computed; RowConditions are what a stored object's row says beside its
	// cells (a pod that has completed). MayHaveRowConditions tells from the stored JSON that there are none, so that
	// a list need not be decoded for them; nil: always ask.
	Table                func(objs []runtime.Object) *metav1.Table
	RowConditions        func(obj runtime.Object) []metav1.TableRowCondition
	MayHaveRowConditions func(value []byte) bool

	// ReturnsDeleted marks the resources whose DELETE answers with the object as it was, where others answer with a
	// Status: pods, services, namespaces, serviceaccounts, persistentvolumes and their claims, podtemplates,
	// resourcequotas, and all of storage.k8s.io and resource.k8s.io.
	ReturnsDeleted bool

	// Propagation is what a DELETE that does not say otherwise does with dependents; "" is Background.
	Propagation Propagation

	// DeleteWarning is sent with a DELETE that leaves Propagation to its default.
	DeleteWarning string

	// HiddenAnnotation is an annotation that stands in the stored object but not in bare metadata: a DaemonSet's
	// template generation is a field of upstream's internal type.
	HiddenAnnotation string

	// Holds tells whether something beside metadata.finalizers keeps a deleted object: a namespace's
	// spec.finalizers.
	Holds func(obj runtime.Object) bool

	// TTL gives how long an object lives from its last write; nil is for ever. Events use --event-ttl.
	TTL func(*Cluster) time.Duration
}

// Propagation is a default for dependents.
type Propagation string

// The defaults that are not Background.
const (
	OrphanDependents     Propagation = "Orphan" // jobs and replicationcontrollers
	NoGarbageCollection  Propagation = "None"   // events: dependents are not looked at, whatever the client asks
	BackgroundDependents Propagation = ""
)

// Version is one served version of a resource.
type Version struct {
	GVK     schema.GroupVersionKind
	New     func() runtime.Object
	NewList func() runtime.Object

	// ToHub and FromHub convert between this version and Resource.Hub; nil when they are the same.
	ToHub   func(in runtime.Object) (runtime.Object, error)
	FromHub func(hub runtime.Object) (runtime.Object, error)

	// Default, when set, is called instead of the strategy's for what comes in this version: upstream's older versions
	// fill in less. It takes the hub form, as the strategy's does.
	Default func(hub runtime.Object)

	// Prune removes what the version's schema does not know from an object that was just decoded, and names it. Only
	// custom resources need it: decoding into a Go type does the same.
	Prune func(obj runtime.Object) (unknown []string)

	// Deprecated is the text of the Warning header, "" when not deprecated.
	Deprecated string
}

// Subresource is a path below an object: pods/web-1/status.
type Subresource struct {
	Name  string                    // status
	GVK   schema.GroupVersionKind   // of the body; discovery prints group and version only where they differ from the parent's
	Also  []schema.GroupVersionKind // other names that the body's kind goes by
	Verbs []string

	// Strategy is set when the subresource reads and writes the parent object
	// itself (status, approval, ephemeralcontainers, resize, finalize).
	Strategy *Strategy

	// Scale is set for the scale subresource.
	Scale *Scale

	// Create serves POST: eviction, binding, token. r.Name is the parent's name.
	// Default, when set, fills in what the body left out before that.
	Create  CreateFunc
	Default func(in runtime.Object)

	// NoTable marks a status that upstream does not print.
	NoTable bool

	// Connect marks log, exec, attach, portforward and proxy: api/stream serves them.
	Connect bool
}

// HasTable tells whether the subresource is also shown as a Table: the status, which is the whole
// object, but for a few kinds, and a Scale. The paths that change some other part of an object are not.
func (s *Subresource) HasTable() bool { return s.Name == "status" && !s.NoTable || s.Scale != nil }

// CreateFunc serves a POST whose body is not stored as such.
type CreateFunc func(r *Context, in runtime.Object) (runtime.Object, error)

// Scale maps autoscaling/v1 Scale on a hub object.
type Scale struct {
	Get func(obj runtime.Object) (spec, status int32, selector string, err error)
	Set func(obj runtime.Object, replicas int32) error
}

// GroupResource names the resource as apimachinery does.
func (r *Resource) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.Group, Resource: r.Name}
}

// Version finds a served version by name, nil when it is not served.
func (r *Resource) Version(name string) *Version {
	for _, v := range r.Versions {
		if v.GVK.Version == name {
			return v
		}
	}
	return nil
}

// Subresource finds a subresource by name, nil when there is none.
func (r *Resource) Subresource(name string) *Subresource {
	for _, s := range r.Subresources {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Key is the etcd key of an object.
func (r *Resource) Key(namespace, name string) string {
	if r.Namespaced {
		return r.Prefix + "/" + namespace + "/" + name
	}
	return r.Prefix + "/" + name
}

// Range is the prefix of all keys of the resource, in one namespace or ("") in all.
func (r *Resource) Range(namespace string) string {
	if r.Namespaced && namespace != "" {
		return r.Prefix + "/" + namespace + "/"
	}
	return r.Prefix + "/"
}
