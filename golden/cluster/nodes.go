package cluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"

	"kuberow/api/auth/bootstrap"
	"kuberow/api/kinds"
	"kuberow/controllers"
	"kuberow/controllers/kubelet"
	"kuberow/controllers/kubelet/simulated"
	"kuberow/controllers/scheduler"
	"kuberow/docker"
)

// engineTimeout bounds the question whether a Docker engine is there. A missing
// socket answers at once; this is for an engine that hangs.
const engineTimeout = 2 * time.Second

// chooseRuntime finds out what runs pods, and why.
func (c *Cluster) chooseRuntime(ctx, _ context.Context) error {
	if c.config.ContainerRuntime != "simulated" {
		ctx, cancel := context.WithTimeout(ctx, engineTimeout)
		defer cancel()
		version, err := c.connectDocker(ctx)
		switch {
		case err == nil:
			c.chosen = fmt.Sprintf("containers of Docker %s", version)
			c.runtime = c.docker
			return nil
		case c.config.ContainerRuntime == "docker":
			return fmt.Errorf("%w; start the engine, or run with --container-runtime=simulated", err)
		}
		c.chosen = "simulated, since no Docker engine answers"
	} else {
		c.chosen = "simulated, as --container-runtime says"
	}
	runtime, err := simulated.New(c.clock, c.config.ClusterCIDR)
	if err != nil {
		return err
	}
	c.runtime = runtime
	return nil
}

func (c *Cluster) connectDocker(ctx context.Context) (version string, err error) {
	id, err := c.store.ClusterID(ctx)
	if err != nil {
		return "", err
	}
	c.docker, err = docker.Connect(ctx, docker.Config{
		Cluster: dockerName(id), Subnet: c.config.ClusterSubnet, Gateway: c.config.ClusterGateway, PodCIDR: c.config.ClusterCIDR,
		ServiceCIDR: c.config.ServiceClusterIPRange, ClusterDNS: c.settings.ClusterDNS, ClusterDomain: c.config.ClusterDomain, Logger: c.log,
	})
	if err != nil {
		return "", err
	}
	return c.docker.Version(ctx)
}

// startNodes starts the one kubelet that serves the whole fleet. On Docker the
// network comes first; making it takes longer than a start should, so that
// and the listener for pods wait in the background.
func (c *Cluster) startNodes(ctx, background context.Context) error {
	fleet := map[string]bool{}
	for _, name := range controllers.FleetNames(c.config.Nodes) {
		fleet[name] = true
	}
	client := c.api.Client()
	c.kubelet = kubelet.New(kubelet.Config{
		Runtime: c.runtime, Clock: c.clock, Reader: c.api.Reader(), Cluster: c.settings, Logger: c.log,
		Wake: func(k controllers.Key) {
			if runner := c.runner.Load(); runner != nil {
				runner.Wake(kubelet.Name, k)
			}
		},
		NodesChanged: func() {
			if runner := c.runner.Load(); runner != nil {
				runner.Wake("node-fleet", controllers.Key{})
			}
		},
		NodeAddresses: func(node string) []corev1.NodeAddress {
			if !fleet[node] {
				return nil
			}
			return c.addresses(node)
		},
		Tokens: func(ctx context.Context, namespace, account string, tr *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
			made, err := client.Create(ctx, kinds.Write{
				User: &user.DefaultInfo{Name: "system:apiserver", Groups: []string{user.SystemPrivilegedGroup}}, Agent: "kubelet",
				Resource: schema.GroupResource{Resource: "serviceaccounts"}, Subresource: "token", Namespace: namespace, Name: account, Object: tr,
			})
			if err != nil {
				return nil, err
			}
			return made.(*authenticationv1.TokenRequest), nil
		},
	})
	if c.docker == nil {
		return c.kubelet.Start(background)
	}
	c.proxy = docker.NewServiceProxy(c.docker)
	c.work.Go(func() { c.doors.openToPods(background, c) })
	c.work.Go(func() { c.proxy.Run(background) })
	return c.kubelet.Start(background)
}

// addresses of a node: every node is this host, which pods see as their gateway.
func (c *Cluster) addresses(node string) []corev1.NodeAddress {
	return []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: c.config.AdvertiseAddress},
		{Type: corev1.NodeHostName, Address: node},
	}
}

// startRunner starts the controllers that --controllers names, the scheduler
// and the kubelet's part.
func (c *Cluster) startRunner(ctx, background context.Context) error {
	all := controllers.All(controllers.Options{Sign: c.pki.SignRequest, SignToken: c.accounts.IssueForSecret, Fleet: controllers.Fleet{
		Names: controllers.FleetNames(c.config.Nodes), Addresses: c.addresses,
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU:              resource.MustParse("32"),
			corev1.ResourceMemory:           resource.MustParse("256Gi"),
			corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
			corev1.ResourcePods:             *resource.NewQuantity(int64(c.config.NodePods), resource.DecimalSI),
		},
		Info: c.kubelet.NodeInfo(ctx), Conditions: c.kubelet.NodeConditions,
	}})
	all = append(all, scheduler.New(), c.kubelet.Controller())
	if c.proxy != nil {
		all = append(all, c.proxy.Controller())
	}
	chosen, err := controllers.Select(all, c.config.Controllers)
	if err != nil {
		return wrongFlag("%v", err)
	}
	own, err := c.serverOwn()
	if err != nil {
		return err
	}
	chosen = append(chosen, own...)
	runner, err := controllers.NewRunner(controllers.Config{
		Store: c.store, Client: c.api.Client(), Registry: c.registry, Cluster: c.settings, Controllers: chosen,
		Objects: c.api.Objects(), Clock: c.clock, Random: c.random, Logger: c.log,
	})
	if err != nil {
		return err
	}
	c.runner.Store(runner)
	c.work.Go(func() {
		if err := bootstrap.Reconcile(background, c.registry, c.api.Reader(), c.api.Client()); err != nil && background.Err() == nil {
			c.log.Warn("default roles are not as they should be", "error", err)
		}
	})
	c.work.Go(func() {
		if err := runner.Run(background); err != nil && background.Err() == nil {
			c.fail("the controllers stopped", err)
		}
	})
	return nil
}
