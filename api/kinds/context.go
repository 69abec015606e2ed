package kinds

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/sqlstore"
)

// Context is one request as the functions of a Strategy and the admission plugins see it.
type Context struct {
	Ctx         context.Context
	User        user.Info
	Agent       string // User-Agent
	Verb        string // create update patch delete deletecollection get list watch
	Resource    *Resource
	Version     *Version // the version the client speaks
	Subresource string
	Namespace   string
	Name        string // of the object (of the parent, for a subresource); "" until generated
	Now         time.Time
	DryRun      bool
	Cause       sqlstore.Cause // for controllers: the change that made them ask
	Reader      Reader
	Client      Client
	Cluster     *Cluster
	Random      func(n int) string // name suffix of n characters; follows the seed in deterministic mode
	UID         func() types.UID

	// Warn adds a Warning header to the answer.
	Warn func(text string)

	atEnd []func() // what Finally was given
}

// Finally has f run when this try of the write has ended: stored, refused or overtaken by another write.
// For what is held only meanwhile.
func (c *Context) Finally(f func()) { c.atEnd = append(c.atEnd, f) }

// End runs what Finally was given.
func (c *Context) End() {
	for _, f := range c.atEnd {
		f()
	}
	c.atEnd = nil
}

// Reader gives decoded hub objects. They are shared: DeepCopy before changing one.
// Get answers a NotFound API error when there is none.
type Reader interface {
	Get(ctx context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error)
	// List gives the objects in key order; namespace "" means all; a nil selector selects everything.
	List(ctx context.Context, gr schema.GroupResource, namespace string, selector labels.Selector) ([]runtime.Object, error)
}

// Client writes through the whole pipeline, in the name of a user, without HTTP.
// Each call gives the stored hub object.
type Client interface {
	Create(ctx context.Context, w Write) (runtime.Object, error)
	Update(ctx context.Context, w Write) (runtime.Object, error) // w.Subresource "status" and others as over HTTP
	// Mutate reads, changes with w.Mutate and updates, again when another write came between (optimistic, no
	// precondition but the ones that w.Mutate itself checks).
	Mutate(ctx context.Context, w Write) (runtime.Object, error)
	Delete(ctx context.Context, w Write) (runtime.Object, error)
}

// Write is one write through Client.
type Write struct {
	User        user.Info
	Agent       string // request.agent: deployment-controller
	Manager     string // the field manager; "" when it is called like Agent
	Resource    schema.GroupResource
	Subresource string
	Namespace   string
	Name        string
	Object      runtime.Object // hub object for Create and Update; resourceVersion set makes an Update conditional
	Mutate      func(obj runtime.Object) error
	Patch       bool // Mutate asks as a PATCH does and not as a PUT: RBAC tells them apart, and real controllers adopt by PATCH
	Cause       sqlstore.Cause
	DryRun      bool
	// Apply makes Update a forced server-side apply: Object is a configuration (an Unstructured with the wanted fields
	// alone) of the field manager that Agent names.
	Apply bool
	// Unmanaged makes Mutate's change nobody's: it is not recorded in managedFields.
	Unmanaged bool

	// For Delete.
	UID                types.UID // precondition when not ""
	ResourceVersion    string    // precondition when not ""
	GracePeriodSeconds *int64
	Propagation        string // Background, Foreground, Orphan or "" for the kind's default
}

// Cluster is what a kind needs to know of the cluster's settings.
type Cluster struct {
	ServiceCIDRs     []string // --service-cluster-ip-range
	NodePortFirst    int      // --service-node-port-range
	NodePortLast     int
	EventTTL         time.Duration // --event-ttl
	Issuer           string        // of service account tokens
	ClusterDNS       string        // 10.96.0.10
	ClusterDomain    string        // cluster.local
	CertificateCA    []byte        // PEM of the cluster's CA, what kube-root-ca.crt holds
	AdvertiseAddress string
	SecurePort       int
	Access           Access // the door: authorizer, RBAC rules, tokens
}
