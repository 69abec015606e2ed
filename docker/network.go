package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/errdefs"
)

// EnsureNetwork makes the cluster's network, or finds it. Addresses of pods are
// given from PodCIDR; the service range lies in the same subnet, so that the
// proxy container can answer ARP for it. The gateway is asked for by name, since
// Docker 20.10 takes the first address of the pool otherwise.
func (r *Runtime) EnsureNetwork(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.networkID != "" {
		if _, err := r.engine.NetworkInspect(ctx, r.networkID, network.InspectOptions{}); err == nil {
			return nil
		}
		r.networkID = ""
	}
	found, err := r.engine.NetworkList(ctx, network.ListOptions{Filters: r.mine("")})
	if err != nil {
		return fmt.Errorf("list Docker networks: %w", err)
	}
	if len(found) > 0 {
		r.networkID = found[0].ID
		return nil
	}
	made, err := r.engine.NetworkCreate(ctx, r.NetworkName(), network.CreateOptions{
		Driver: "bridge",
		IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{
			{Subnet: r.Subnet, IPRange: r.PodCIDR, Gateway: r.Gateway},
		}},
		Labels: map[string]string{labelCluster: r.Cluster},
	})
	if errdefs.IsForbidden(err) || (err != nil && strings.Contains(err.Error(), "overlaps")) {
		return fmt.Errorf("create the network %s with subnet %s: another network has these addresses (a second cluster?); "+
			"choose free ranges with --cluster-subnet, --cluster-cidr and --service-cluster-ip-range, or run with --container-runtime=simulated: %w",
			r.NetworkName(), r.Subnet, err)
	}
	if err != nil {
		return fmt.Errorf("create the network %s: %w", r.NetworkName(), err)
	}
	r.networkID = made.ID
	return nil
}

// NetworkName is what docker network ls shows.
func (r *Runtime) NetworkName() string { return "kuberow-" + r.short() }

// RemoveNetwork forgets the network; the pods must be gone.
func (r *Runtime) RemoveNetwork(ctx context.Context) error {
	if err := r.engine.NetworkRemove(ctx, r.NetworkName()); err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("remove the network %s: %w", r.NetworkName(), err)
	}
	return nil
}
