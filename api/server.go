package api

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/admission"
	"kuberow/api/kinds"
	"kuberow/api/rest"
	"kuberow/api/wire"
	"kuberow/sqlstore"
)

// Config says what a Server is made of. Store, Proposer, Registry and Cluster are required.
type Config struct {
	Store     *sqlstore.Store
	Views     <-chan struct{} // closed once the views of package tables are installed; nil when they are
	Proposer  rest.Proposer
	Registry  *kinds.Registry
	Cluster   *kinds.Cluster
	Admission []admission.Plugin

	// The door; Guard can set it later, since it may need the server's own Reader. Without it every
	// request is refused.
	Authenticator authenticator.Request
	Authorizer    authorizer.UnconditionalAuthorizer
	// Impersonate gives the user that the request's headers ask for, nil when they ask for none.
	// constraint names the narrower right that allowed it, "" for the verb impersonate.
	Impersonate func(ctx context.Context, z authorizer.UnconditionalAuthorizer, header http.Header, a authorizer.AttributesRecord) (as user.Info, constraint string, err error)

	Clock  func() time.Time   // time.Now when nil
	Random func(n int) string // suffixes of generated names; crypto/rand when nil
	UID    func() types.UID   // random when nil
	Logger *slog.Logger       // slog.Default() when nil

	// RequestTimeout bounds requests that are not long-running (a minute when 0); MaxInflight and MaxMutatingInflight
	// are how many of them may be under way, 0 for any number.
	RequestTimeout                   time.Duration
	MaxInflight, MaxMutatingInflight int
	// Audit is told about every request; nil for none.
	Audit *Audit

	// Discovery serves /api, /apis and what is below them that is not a resource.
	Discovery http.Handler
	// Connect serves the subresources that are streams: log, exec, attach, portforward, proxy.
	Connect http.Handler
	// Types makes the schemas of kinds that client-go has no apply configurations for (api/openapi can); nil leaves
	// them to a guess.
	Types func([]*kinds.Resource) (managedfields.TypeConverter, error)
	// Prefixes serve all paths that begin with a prefix: /openapi/, /openid/v1/. The request has passed the whole chain.
	Prefixes map[string]http.Handler
	// Unserved answers for resources of a group that the registry does not hold (aggregation); nil is 404.
	Unserved http.Handler
	// Checks are health checks beside the built-in ones.
	Checks []Check
}

// Server answers HTTP. It is an http.Handler; TLS and listening are the caller's.
type Server struct {
	Config
	rest     *rest.REST
	router   *httprouter.Router
	resolver request.RequestInfoResolver
	checks   []Check
	metrics  *metrics
	inflight inflight
	flows    *flows

	ready    atomic.Bool
	stopping context.Context
	stop     context.CancelFunc
	running  sync.WaitGroup // requests under way
}

// New builds a server. It reads and writes nothing yet.
func New(c Config) (*Server, error) {
	for name, missing := range map[string]bool{
		"Store": c.Store == nil, "Proposer": c.Proposer == nil, "Registry": c.Registry == nil, "Cluster": c.Cluster == nil,
	} {
		if missing {
			return nil, fmt.Errorf("build API server: Config.%s is missing", name)
		}
	}
	c.fill()
	s := &Server{Config: c, inflight: newInflight(c.MaxInflight, c.MaxMutatingInflight), flows: newFlows(c.Store), resolver: &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}}
	s.metrics = newMetrics(s)
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.rest = rest.New(rest.Config{
		Store: c.Store, Views: c.Views, Proposer: c.Proposer, Registry: c.Registry, Cluster: c.Cluster, Admission: c.Admission,
		Authorizer: door{s}, Clock: c.Clock, Random: c.Random, UID: c.UID, Logger: c.Logger,
		Connect: c.Connect, Types: c.Types, Stopping: s.stopping, Observe: s.metrics.stored,
	})
	s.checks = append(s.builtInChecks(), c.Checks...)
	s.router = s.routes()
	return s, nil
}

// fill sets what was left out.
func (c *Config) fill() {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Random == nil {
		c.Random = randomSuffix
	}
	if c.UID == nil {
		c.UID = func() types.UID { return types.UID(uuid.NewString()) }
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
}

// suffixAlphabet has no vowels and nothing that looks like one, so that no suffix is a word.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"

func randomSuffix(n int) string {
	b := make([]byte, n)
	var r [8]byte
	for i := range b {
		_, _ = rand.Read(r[:]) // never fails: crypto/rand ends the program instead
		b[i] = suffixAlphabet[binary.LittleEndian.Uint64(r[:])%uint64(len(suffixAlphabet))]
	}
	return string(b)
}

// Guard sets the door. Call it before the first request.
func (s *Server) Guard(authn authenticator.Request, authz authorizer.UnconditionalAuthorizer) {
	s.Authenticator, s.Authorizer = authn, authz
}

// door is the authorizer as it is at the time of a request.
type door struct{ s *Server }

// Authorize implements authorizer.UnconditionalAuthorizer.
func (d door) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if d.s.Authorizer == nil {
		return authorizer.DecisionNoOpinion, "no authorizer is set", nil
	}
	return d.s.Authorizer.Authorize(ctx, a)
}

// Client writes in process, through the same stages as an HTTP request.
func (s *Server) Client() kinds.Client { return s.Audit.client(s.rest.Client(), s.Registry) }

// Reader reads in process.
func (s *Server) Reader() kinds.Reader { return s.rest.Reader() }

// Objects is the cache of decoded rows, shared with those who read rows themselves.
func (s *Server) Objects() *wire.Cache { return s.rest.Objects() }

// Warm loads what the first write would otherwise wait for. Call it after the server is ready.
func (s *Server) Warm() { s.rest.Warm() }

// SetReady makes /readyz say ok.
func (s *Server) SetReady() { s.ready.Store(true) }

// Shutdown ends watches and other long requests, and waits for the rest until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.ready.Store(false)
	s.stop()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shut down API server: %w", ctx.Err())
	}
}

// Stopping ends when the server shuts down, for handlers of long requests.
func (s *Server) Stopping() context.Context { return s.stopping }
