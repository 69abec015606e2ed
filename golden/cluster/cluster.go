package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"kuberow/api"
	"kuberow/api/auth"
	"kuberow/api/kinds"
	"kuberow/controllers"
	"kuberow/controllers/kubelet"
	"kuberow/docker"
	"kuberow/raftlog"
	"kuberow/sqlstore"
	"kuberow/tables"
)

// Version is what /version and kuberow version say: the Kubernetes that is
// spoken, and who speaks.
const Version = "v1.37.2+kuberow"

// minorVersion is the Kubernetes that the OpenAPI documents describe.
const minorVersion = "1.37"

// Cluster is a running kuberow.
type Cluster struct {
	config Config
	log    *slog.Logger
	clock  clock.WithTickerAndDelayedExecution
	random func(n int) string
	uid    func() types.UID

	views    chan struct{} // closed when the views are there
	settings *kinds.Cluster
	pki      *auth.PKI
	store    *sqlstore.Store
	node     *raftlog.Node
	registry *kinds.Registry
	api      *api.Server
	accounts *auth.ServiceAccounts
	audit    *api.Audit // nil for none

	doors   doors
	runtime kubelet.Runtime
	chosen  string // which runtime, and why
	kubelet *kubelet.Kubelet
	docker  *docker.Runtime // nil when pods are simulated
	proxy   *docker.ServiceProxy
	runner  atomic.Pointer[controllers.Runner] // nil until startRunner; the kubelet runs before

	cancel context.CancelFunc // ends what runs in the background
	work   sync.WaitGroup
	failed chan struct{}
	once   sync.Once
}

// Start brings a cluster up, step by step in the order of dependency, and
// returns when it is ready to be asked. ctx bounds only the start: Stop ends it.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{config: config, log: config.Logger, clock: clock.RealClock{}, random: rand.String, uid: uuid.NewUUID, views: make(chan struct{}), failed: make(chan struct{})}
	if c.log == nil {
		c.log = slog.Default()
	}
	quietLibraries(c.log)
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	for _, step := range []func(ctx, background context.Context) error{
		c.openStore,     // the data directory, its lock, cluster.db: nobody else is at it from here on
		c.openKeys,      // keys and certificates
		c.startLog,      // Raft: from here on commands are applied
		c.bindPort,      // the port of the API, not yet answered
		c.openAPI,       // the registry of kinds and the pipeline of a request
		c.bootstrap,     // the objects of a new cluster
		c.chooseRuntime, // Docker or simulated
		c.openDoors,     // listeners: from here on clients are answered
		c.installViews,  // the tables of kubectl; whoever asks for one this early waits
		c.startNodes,    // the kubelet, adopting what runs
		c.startRunner,   // the controllers
		c.takeProposals, // what other processes wrote into the table proposal
		c.writeKubeconfig,
	} {
		if err := step(ctx, background); err != nil {
			c.Stop()
			return nil, err
		}
	}
	return c, nil
}

// openKeys makes the keys that are missing, and certificates that do not fit the flags.
func (c *Cluster) openKeys(context.Context, context.Context) error {
	first, last, err := c.config.nodePorts()
	if err != nil {
		return err
	}
	if c.config.AdvertiseAddress == "" {
		c.config.AdvertiseAddress = c.config.ClusterGateway
	}
	c.pki, err = auth.OpenPKI(auth.PKIOptions{
		Dir: filepath.Join(c.config.DataDir, "pki"), ServiceIP: c.config.serviceIP(1), ClusterDomain: c.config.ClusterDomain,
		Names: []string{c.config.BindAddress, c.config.AdvertiseAddress}, Now: c.clock.Now,
	})
	if err != nil {
		return err
	}
	c.settings = &kinds.Cluster{
		ServiceCIDRs: []string{c.config.ServiceClusterIPRange}, NodePortFirst: first, NodePortLast: last,
		EventTTL: c.config.EventTTL, Issuer: "https://kubernetes.default.svc",
		ClusterDNS: c.config.serviceIP(10), ClusterDomain: c.config.ClusterDomain,
		CertificateCA: c.pki.CA.CertPEM, AdvertiseAddress: c.config.AdvertiseAddress, SecurePort: c.config.SecurePort,
	}
	return nil
}

func (c *Cluster) openStore(ctx, _ context.Context) (err error) {
	c.store, err = sqlstore.Open(ctx, sqlstore.Options{Path: c.config.database(), Logger: c.log})
	return err
}

// installViews makes the views of a new file, or of a new version of kuberow.
// SQLite reads the text of each twice, so it comes after the listeners.
func (c *Cluster) installViews(ctx, _ context.Context) error {
	err := c.store.WithWriter(ctx, func(ctx context.Context, db *sqlx.Conn) error { return tables.Install(ctx, db) })
	if err == nil {
		close(c.views)
	}
	return err
}

func (c *Cluster) startLog(_, background context.Context) (err error) {
	c.node, err = raftlog.Start(background, c.store, raftlog.Options{Logger: c.log, Clock: c.clock, RetainRevisions: c.config.RetainRevisions})
	return err
}

// Ready is the line that says where everything is.
func (c *Cluster) Ready() string {
	return fmt.Sprintf("kuberow: ready; export KUBECONFIG=%s, sqlite3 %s; pods are %s", c.config.kubeconfig(), c.config.database(), c.chosen)
}

// Failed is closed when the cluster cannot go on: a listener ended, the disk is gone.
func (c *Cluster) Failed() <-chan struct{} { return c.failed }

func (c *Cluster) fail(what string, err error) {
	c.log.Error(what, "error", err)
	c.once.Do(func() { close(c.failed) })
}

// Stop ends everything, from the top down. Containers go on running.
func (c *Cluster) Stop() error {
	c.doors.close(c.api)
	c.cancel()
	c.work.Wait()
	if c.kubelet != nil {
		c.kubelet.Stop()
	}
	if c.docker != nil {
		c.docker.Close()
	}
	c.audit.Close()
	var err error
	if c.node != nil {
		err = c.node.Stop()
	}
	if c.store != nil {
		if closed := c.store.Close(); err == nil {
			err = closed
		}
	}
	return err
}
