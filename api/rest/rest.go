package rest

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"kuberow/api/admission"
	"kuberow/api/kinds"
	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// Proposer applies commands through the log: raftlog's Node.
type Proposer interface {
	Propose(ctx context.Context, cmd *sqlstore.Command) (*sqlstore.Result, error)
}

// Config is what the verbs need. All fields but Connect are required.
type Config struct {
	Store      *sqlstore.Store
	Views      <-chan struct{} // closed once the views are installed; nil when they are
	Proposer   Proposer
	Registry   *kinds.Registry
	Cluster    *kinds.Cluster
	Admission  []admission.Plugin
	Authorizer authorizer.UnconditionalAuthorizer
	Clock      func() time.Time
	Random     func(n int) string // name suffixes
	UID        func() types.UID
	Logger     *slog.Logger

	// Connect serves the subresources that are streams: log, exec, attach, portforward, proxy.
	Connect http.Handler

	// Types makes the schemas of kinds that client-go has no apply configurations for (api/openapi can); nil leaves
	// them to a guess.
	Types func([]*kinds.Resource) (managedfields.TypeConverter, error)

	// Observe is told how long reading rows of a resource took; operation is get or list. nil: nobody asks.
	Observe func(operation string, gr schema.GroupResource, took time.Duration)

	// Stopping ends when the server shuts down: watches end with it.
	Stopping context.Context
}

// cacheBytes bounds the JSON behind the decoded objects that are kept.
const cacheBytes = 8 << 20

// REST serves the generic verbs.
type REST struct {
	Config
	objects *wire.Cache
	frames  *frames
	fields  *fieldManagers
	leases  *leases
}

// New makes the verbs over a store.
func New(c Config) *REST {
	// A copy can double an object; the library keeps its limit in a variable, as upstream's server sets it, too.
	atomic.StoreInt64(&jsonpatch.AccumulatedCopySizeLimit, maxBody)
	if c.Stopping == nil {
		c.Stopping = context.Background()
	}
	r := &REST{Config: c, objects: wire.NewCache(cacheBytes), frames: newFrames()}
	r.fields = newFieldManagers(r)
	r.leases = &leases{rest: r}
	return r
}

// Objects is the cache of decoded rows, for others who read rows (the controllers).
func (r *REST) Objects() *wire.Cache { return r.objects }
