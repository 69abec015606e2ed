package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/docker/docker/api/types"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/errdefs"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/controllers"
	"kuberow/docker/proxy"
)

// ServiceProxy keeps the one proxy container running and tells it, over its
// standard input, what Services and endpoints there are: a line of JSON for each
// state of the cluster. The container needs no credentials, and goes on with the
// last table while the server is away.
type ServiceProxy struct {
	runtime *Runtime
	wake    chan struct{}

	mu     sync.Mutex
	table  []byte // the newest table, one line
	sent   []byte // what the container has
	stream *types.HijackedResponse
}

// NewServiceProxy makes the proxy's keeper; Run does the work.
func NewServiceProxy(r *Runtime) *ServiceProxy {
	return &ServiceProxy{runtime: r, wake: make(chan struct{}, 1)}
}

// Controller computes the table at each change of a Service or an EndpointSlice.
func (p *ServiceProxy) Controller() controllers.Controller {
	services := schema.GroupResource{Resource: "services"}
	slices := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	all := func(controllers.View, controllers.Object) []controllers.Key {
		return []controllers.Key{{Name: "table"}}
	}
	return controllers.Controller{
		Name: "service-proxy-controller",
		Keys: map[schema.GroupResource]func(controllers.View, controllers.Object) []controllers.Key{services: all, slices: all},
		Step: func(v controllers.View, _ []controllers.Key) controllers.Outcome {
			var svcs []*corev1.Service
			for _, o := range v.List(services, "", nil) {
				svcs = append(svcs, o.(*corev1.Service))
			}
			var eps []*discoveryv1.EndpointSlice
			for _, o := range v.List(slices, "", nil) {
				eps = append(eps, o.(*discoveryv1.EndpointSlice))
			}
			p.set(proxy.Build(svcs, eps))
			return controllers.Outcome{}
		},
	}
}

func (p *ServiceProxy) set(t proxy.Table) {
	line, err := json.Marshal(t)
	if err != nil {
		p.runtime.Logger.Error("encode the service table", "error", err)
		return
	}
	p.mu.Lock()
	p.table = append(line, '\n')
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// retryProxy is how long to wait after the engine refused.
const retryProxy = 2 * time.Second

// Run sends each new table until ctx ends, and starts the container again when it is gone.
func (p *ServiceProxy) Run(ctx context.Context) {
	check := time.NewTicker(retryProxy)
	defer check.Stop()
	var last string
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-check.C:
		}
		err := p.send(ctx)
		if err != nil && err.Error() != last && ctx.Err() == nil {
			p.runtime.Logger.Warn("the service proxy does not run; Services and DNS do not answer until it does", "error", err)
		}
		if err == nil && last != "" {
			p.runtime.Logger.Info("the service proxy runs again")
		}
		last = ""
		if err != nil {
			last = err.Error()
		}
	}
}

// send makes sure of the container and gives it the newest table.
func (p *ServiceProxy) send(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.table == nil {
		return nil
	}
	if p.stream == nil {
		stream, err := p.attach(ctx)
		if err != nil {
			return err
		}
		p.stream, p.sent = stream, nil
		go p.drain(stream)
	}
	if string(p.sent) == string(p.table) {
		return nil
	}
	if _, err := p.stream.Conn.Write(p.table); err != nil {
		p.stream.Close()
		p.stream = nil
		return fmt.Errorf("send the service table: %w", err)
	}
	p.sent = p.table
	return nil
}

// drain notices the container's end: its output ends.
func (p *ServiceProxy) drain(stream *types.HijackedResponse) {
	io.Copy(io.Discard, stream.Reader)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stream == stream {
		stream.Close()
		p.stream = nil
	}
}

// attach finds or makes the container and takes its standard input.
func (p *ServiceProxy) attach(ctx context.Context) (*types.HijackedResponse, error) {
	r := p.runtime
	image, err := r.ensureSelf(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.EnsureNetwork(ctx); err != nil {
		return nil, err
	}
	name := r.NetworkName() + "-proxy"
	found, err := r.engine.ContainerInspect(ctx, name)
	good := err == nil && found.State.Running && found.Config.Image == image
	if !good && !errdefs.IsNotFound(err) { // it ended, is an older build's, or cannot even be inspected
		if err := r.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	if !good {
		if err := r.startProxy(ctx, name, image); err != nil {
			return nil, err
		}
	}
	stream, err := r.engine.ContainerAttach(ctx, name, container.AttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if err != nil {
		return nil, fmt.Errorf("attach to the service proxy: %w", err)
	}
	return &stream, nil
}

func (r *Runtime) startProxy(ctx context.Context, name, image string) error {
	made, err := r.engine.ContainerCreate(ctx, &container.Config{
		Image: image, OpenStdin: true,
		Cmd:    []string{"proxy", "--service-cluster-ip-range=" + r.ServiceCIDR, "--cluster-dns=" + r.ClusterDNS, "--cluster-domain=" + r.ClusterDomain},
		Labels: map[string]string{LabelCluster: r.Cluster, labelRole: roleProxy},
	}, &container.HostConfig{
		NetworkMode: container.NetworkMode(r.NetworkName()), CapAdd: []string{"NET_ADMIN"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyUnlessStopped},
	}, &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{r.NetworkName(): {}}}, nil, name)
	if err != nil {
		return fmt.Errorf("create the service proxy: %w", err)
	}
	if err := r.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return fmt.Errorf("start the service proxy: %w", err)
	}
	return nil
}

// Remove ends the proxy container (when the cluster is being deleted, or in tests).
func (p *ServiceProxy) Remove(ctx context.Context) error {
	return p.runtime.remove(ctx, p.runtime.NetworkName()+"-proxy")
}
