package kinds

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/sqlstore"
)

// Strategy is what is special about a kind. Every function may be nil. All of
// them see hub objects, and may change only obj. They are called by api/rest
// in the order in which they stand here:
//
//	create: Default, (mutating admission), PrepareForCreate, BeginCreate, Validate, Warnings, Canonicalize, (validating admission), Related
//	update: Default, (mutating admission), PrepareForUpdate, BeginUpdate, ValidateUpdate, Warnings, Canonicalize, (validating admission), Related
//	delete: CheckDelete, (validating admission), Related
type Strategy struct {
	// Default fills in what the API reference says a missing field means. It is idempotent.
	Default func(obj runtime.Object)

	// PrepareForCreate clears what a client may not set (status), sets generation.
	PrepareForCreate func(r *Context, obj runtime.Object)
	// PrepareForUpdate keeps what this path may not change and bumps generation.
	PrepareForUpdate func(r *Context, obj, old runtime.Object)

	// BeginCreate and BeginUpdate allocate (ClusterIPs, node ports). An error is sent as it is
	// (use field errors through apierrors.NewInvalid).
	BeginCreate func(r *Context, obj runtime.Object) error
	BeginUpdate func(r *Context, obj, old runtime.Object) error

	// Validate and ValidateUpdate list what is wrong, in upstream's order and wording. Metadata is validated by
	// api/rest (with ValidateName and the Free rules below), before these. What is said twice is answered once.
	Validate       func(r *Context, obj runtime.Object) field.ErrorList
	ValidateUpdate func(r *Context, obj, old runtime.Object) field.ErrorList

	// Warnings become Warning headers; old is nil on create.
	Warnings func(r *Context, obj, old runtime.Object) []string

	// Canonicalize brings a valid object to its stored form.
	Canonicalize func(obj runtime.Object)

	// Related writes go into the same transaction as the object's own:
	// a Service and its IPAddress. obj is nil when old is being deleted for good.
	Related func(r *Context, obj, old runtime.Object) ([]Related, error)

	// CheckDelete refuses a deletion (an apierrors error), or adjusts old before it (its grace period).
	CheckDelete func(r *Context, old runtime.Object) error
	// GracePeriod gives the seconds between the request to delete old and its removal, given what was asked
	// (nil when the client did not say). nil function: always at once. Pods: spec.terminationGracePeriodSeconds.
	GracePeriod func(r *Context, old runtime.Object, asked *int64) int64

	// ValidateName checks metadata.name (prefix: it is a generateName). nil: DNS-1123 subdomain.
	ValidateName func(name string, prefix bool) []string

	// Fields are the field selector values beside metadata.name and metadata.namespace, sorted by name.
	Fields func(obj runtime.Object) []sqlstore.Pair
	// FieldNames are the names that Fields may give, so that an unknown one is refused.
	FieldNames []string
	// FieldAliases are older names of some of them.
	FieldAliases map[string]string
	// UnknownField words the refusal of an unknown one; nil: as most kinds do.
	UnknownField func(gvk schema.GroupVersionKind, name string) error

	// ResetFields are the paths (fieldpath strings such as "status" or "spec") that this path ignores, which
	// managedFields must not record: status for the main resource, spec for status.
	ResetFields []string

	// AllowCreateOnUpdate: a PUT of a name that does not exist creates it (leases, events, ...).
	AllowCreateOnUpdate bool
	// ForbidUnconditionalUpdate: an update without resourceVersion is refused.
	ForbidUnconditionalUpdate bool

	// FreeMeta: metadata is held only to what holds for every kind, and only when nothing else is wrong.
	FreeMeta bool
	// FreeFinalizers: a finalizer need not name its owner's domain.
	FreeFinalizers bool
	// FreeUpdate: an update's metadata is not held again to this kind's rules for a new object (its name rule for generateName).
	FreeUpdate bool
}

// Related is one more write in the transaction of an object.
type Related struct {
	Resource  schema.GroupResource
	Namespace string
	Name      string
	Object    runtime.Object // a hub object; nil deletes
	New       bool           // the key must not live
}
