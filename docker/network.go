package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/docker/docker/api/types/filters"
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
	made, err := r.createNetwork(ctx)
	if overlaps(err) {
		var holders string
		if holders, err = r.removeStale(ctx, err); err == nil {
			made, err = r.createNetwork(ctx)
		}
		if overlaps(err) {
			return fmt.Errorf("create the network %s with subnet %s: another network has these addresses%s; stop what uses it, "+
				"choose free ranges with --cluster-subnet, --cluster-cidr, --cluster-gateway and --service-cluster-ip-range, or run with --container-runtime=simulated: %w",
				r.NetworkName(), r.Subnet, holders, err)
		}
	}
	if err != nil {
		return fmt.Errorf("create the network %s: %w", r.NetworkName(), err)
	}
	r.networkID = made.ID
	return nil
}

func (r *Runtime) createNetwork(ctx context.Context) (network.CreateResponse, error) {
	return r.engine.NetworkCreate(ctx, r.NetworkName(), network.CreateOptions{
		Driver: "bridge",
		IPAM: &network.IPAM{Driver: "default", Config: []network.IPAMConfig{
			{Subnet: r.Subnet, IPRange: r.PodCIDR, Gateway: r.Gateway, AuxAddress: map[string]string{"range": rangeAddress(r.PodCIDR)}},
		}},
		Labels: map[string]string{LabelCluster: r.Cluster},
	})
}

// rangeAddress is the first address of a range, which the engine would give a
// pod since it is in the middle of the subnet; people take it for the range itself.
func rangeAddress(cidr string) string {
	address, _, _ := strings.Cut(cidr, "/")
	return address
}

// overlaps: the engine answers 403 and says "Pool overlaps with other one on this address space".
func overlaps(err error) bool {
	return err != nil && (errdefs.IsForbidden(err) || strings.Contains(err.Error(), "overlaps"))
}

// removeStale removes networks of other clusters that nothing is attached to:
// their server does not run (its proxy would be attached), and makes the network
// again when it does. It names the clusters' networks that are in use, and
// gives refusal back when it removed none.
func (r *Runtime) removeStale(ctx context.Context, refusal error) (holders string, err error) {
	found, err := r.engine.NetworkList(ctx, network.ListOptions{Filters: filters.NewArgs(filters.Arg("label", LabelCluster))})
	if err != nil {
		return "", fmt.Errorf("list Docker networks: %w", err)
	}
	err = refusal
	for _, n := range found {
		inspected, failed := r.engine.NetworkInspect(ctx, n.ID, network.InspectOptions{})
		if failed != nil {
			continue // gone meanwhile
		}
		if len(inspected.Containers) > 0 {
			holders += " (" + n.Name + " is another cluster's)"
		} else if failed := r.engine.NetworkRemove(ctx, n.ID); failed == nil {
			err = nil
		}
	}
	return holders, err
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
