package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// Controller is one control loop, told as data and one function. It has no
// goroutine, timer, cache or clock of its own: the Runner reads changes, asks
// Keys which of the controller's keys they concern, and calls Step.
type Controller struct {
	// Name is kube-controller-manager's: deployment-controller. It is what
	// --controllers selects (by its short and its long name), and what its requests
	// are told by.
	Name string

	// Manager is the field manager of its writes, "" for kube-controller-manager, in which most of them run.
	Manager string

	// Account is the service account of kube-system that its writes are made by, "" when it is
	// called like the controller: replication-controller, generic-garbage-collector.
	Account string

	// User is another user than a service account: system:kube-scheduler, system:node:node-1.
	User string

	// Keys maps a change of a resource to the keys that it concerns. Level
	// triggered: at start every living object is given as a change once.
	Keys map[schema.GroupResource]func(v View, c Object) []Key

	// Any is the same for the resources that Keys does not name, custom ones included. Of those it
	// is given at start what has an owner or is being deleted.
	Any func(v View, c Object) []Key

	// Step brings the given keys closer to what is wanted. It reads v only, and
	// says what to write and when to be called again. The same key comes back
	// when a write of the outcome failed.
	Step func(v View, keys []Key) Outcome

	// Every makes the runner call Step with Key{} at this interval (leases,
	// collectors); 0 for never.
	Every time.Duration
}

// Key names what a controller works on; most often the object that it owns.
type Key struct {
	Namespace, Name string
	UID             types.UID // where a name alone is not enough (garbage collector)
	Resource        schema.GroupResource
}

// Object is a change in decoded form: the object as it is now, as it was
// before, and where in history that is. Objects are shared: DeepCopy before changing.
type Object struct {
	Resource schema.GroupResource
	Now      runtime.Object // nil when it is gone
	Prev     runtime.Object // nil when it is new (or at the first pass)
	Cause    sqlstore.Cause // the kv row of the change; goes into the writes it causes
}

// View is the cluster at one revision, decoded. Lists come in key order.
type View interface {
	Context() context.Context
	Revision() int64
	Now() time.Time
	Cluster() *kinds.Cluster
	// Get gives a hub object, nil when there is none.
	Get(gr schema.GroupResource, namespace, name string) runtime.Object
	// List gives the objects of a namespace ("" for all) that selector (nil for every) selects.
	List(gr schema.GroupResource, namespace string, selector labels.Selector) []runtime.Object
	// Owned gives the objects of a resource whose ownerReferences name uid.
	Owned(gr schema.GroupResource, uid types.UID) []runtime.Object
	// Dependents gives the objects of any resource whose ownerReferences name uid.
	Dependents(uid types.UID) []Dependent
	// Alive says whether an object with this uid exists.
	Alive(uid types.UID) bool
	// Registry is what is served now.
	Registry() *kinds.Registry
	// Cause gives the kv row that made the runner call Step for key.
	Cause(k Key) sqlstore.Cause
	// Random gives a name suffix of n characters from the runner's source.
	Random(n int) string
}

// Dependent is an object that names an owner, of whatever resource.
type Dependent struct {
	Resource schema.GroupResource
	Object   runtime.Object
}

// Outcome is what a Step wants.
type Outcome struct {
	Writes []Write
	// Again asks to be called for a key at a time, though nothing changed.
	Again map[Key]time.Time
}

// Write is one write of an Outcome. Writes of one key run in order, and when one
// fails the rest of its key is left out; those of different keys run side by
// side (one group commit takes many).
type Write struct {
	kinds.Write
	Verb Verb
	Key  Key // whose Step is repeated when the write fails
	// Beside runs the write together with the one before it of the same key: a thousand pods of one ReplicaSet.
	Beside bool
	// Event is what a Record records.
	Event *Event
	// Ignore says which API errors are no failure (IsNotFound for a delete, IsAlreadyExists for a create).
	Ignore func(error) bool
	// Done may turn the stored object into more writes, which run before the next one of the key (the event that names a new pod).
	Done func(obj runtime.Object) []Write
	// Failed may turn a failure into more writes (a FailedCreate event). nil: only the repetition with back-off.
	Failed func(err error) []Write
}

// Verb of a Write.
type Verb string

// The verbs. Record writes an Event object through the runner's recorder,
// which counts repetitions and drops floods; it never fails its key.
const (
	Create Verb = "create"
	Update Verb = "update"
	Mutate Verb = "mutate"
	Delete Verb = "delete"
	Record Verb = "record"
)

// Event is what a controller tells about an object (kubectl describe prints
// it). The recorder makes an Event object of it as client-go does.
type Event struct {
	Regarding corev1.ObjectReference // Reference makes one
	Type      string                 // Normal or Warning
	Reason    string                 // ScalingReplicaSet
	Message   string
	Component string // who says so: deployment-controller; kubelet
	Host      string // the node, for kubelets

	// Action makes it an event of the newer API (events.k8s.io), as the scheduler writes them: with eventTime and
	// reportingController in place of source, count and the two timestamps.
	Action  string
	Related *corev1.ObjectReference
}
