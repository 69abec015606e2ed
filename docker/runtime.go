package docker

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/client"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

// LabelCluster marks everything that a cluster owns in the engine with its ID.
const LabelCluster = "kuberow.dev/cluster"

// The other labels say what it is.
const (
	labelRole       = "kuberow.dev/role" // sandbox, container, volume, proxy
	labelPodUID     = "kuberow.dev/pod-uid"
	labelNamespace  = "kuberow.dev/namespace"
	labelPod        = "kuberow.dev/pod"
	labelNode       = "kuberow.dev/node"
	labelContainer  = "kuberow.dev/container"
	labelAttempt    = "kuberow.dev/attempt"
	labelSpecHash   = "kuberow.dev/spec-hash"
	labelMessage    = "kuberow.dev/termination-message"     // where the message is, inside the sandbox
	labelMessageLog = "kuberow.dev/termination-message-log" // set for FallbackToLogsOnError
	labelVolume     = "kuberow.dev/volume"

	roleSandbox   = "sandbox"
	roleContainer = "container"
	roleVolume    = "volume"
	roleProxy     = "proxy"
)

// Config says which cluster the runtime works for.
type Config struct {
	Cluster       string // the store's cluster_id: what the labels hold
	Subnet        string // of the Docker network; holds PodCIDR and ServiceCIDR: 10.96.0.0/11
	Gateway       string // of the Docker network, where pods reach the API server: 10.112.0.1
	PodCIDR       string // 10.112.0.0/16
	ServiceCIDR   string // 10.96.0.0/16
	ClusterDNS    string // 10.96.0.10
	ClusterDomain string // cluster.local
	Program       string // the executable that the proxy and dials inside pods run; "" is this process's own
	Logger        *slog.Logger
}

// Runtime is a Docker engine seen as the kubelet's Runtime.
type Runtime struct {
	Config
	engine *client.Client

	mu        sync.Mutex
	pauseID   string // image of the sandboxes, once imported
	networkID string

	messages sync.Map // ID of an ended container -> its termination message: read once, as it cannot change any more
}

var _ kubelet.Runtime = (*Runtime)(nil)
var _ kubelet.FilesUpdater = (*Runtime)(nil)

// Connect finds the engine that the docker command would use ($DOCKER_HOST and
// so on). An error says that none answers.
func Connect(ctx context.Context, c Config) (*Runtime, error) {
	engine, err := client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation())
	if err != nil {
		return nil, fmt.Errorf("read the Docker settings: %w", err)
	}
	r := &Runtime{Config: c, engine: engine}
	if r.Logger == nil {
		r.Logger = slog.Default()
	}
	if _, err := r.Version(ctx); err != nil {
		engine.Close()
		return nil, err
	}
	return r, nil
}

// Close forgets the connection; containers go on.
func (r *Runtime) Close() error { return r.engine.Close() }

// Name is what container IDs start with.
func (r *Runtime) Name() string { return "docker" }

// Version is the engine's; an error means that it does not answer now.
func (r *Runtime) Version(ctx context.Context) (string, error) {
	v, err := r.engine.ServerVersion(ctx)
	if err != nil {
		return "", fmt.Errorf("ask the Docker engine for its version: %w", err)
	}
	return v.Version, nil
}

// mine selects what belongs to this cluster, and to a pod when uid is not "".
func (r *Runtime) mine(uid types.UID, more ...string) filters.Args {
	f := filters.NewArgs(filters.Arg("label", LabelCluster+"="+r.Cluster))
	if uid != "" {
		f.Add("label", labelPodUID+"="+string(uid))
	}
	for _, m := range more {
		f.Add("label", m)
	}
	return f
}

// short is the cluster's mark in names that people see.
func (r *Runtime) short() string {
	id := strings.ReplaceAll(r.Cluster, "-", "")
	return id[:min(8, len(id))]
}

const idPrefix = "docker://"

func engineID(id string) string { return strings.TrimPrefix(id, idPrefix) }
