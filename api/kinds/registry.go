package kinds

import (
	"fmt"
	"sort"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Registry holds the resources that are served now. Built-in ones are added
// before the server starts; custom ones come and go while it runs.
type Registry struct {
	mu    sync.RWMutex
	byGR  map[schema.GroupResource]*Resource
	kinds map[schema.GroupKind]*Resource
	order []*Resource // in the order added
	epoch int64       // counts changes; discovery and OpenAPI rebuild when it moved
}

// NewRegistry holds the given resources.
func NewRegistry(resources ...*Resource) (*Registry, error) {
	g := &Registry{byGR: map[schema.GroupResource]*Resource{}, kinds: map[schema.GroupKind]*Resource{}}
	for _, r := range resources {
		if err := g.Add(r); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Add serves a resource from now on. The same group and resource twice is an error.
func (g *Registry) Add(r *Resource) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, there := g.byGR[r.GroupResource()]; there {
		return fmt.Errorf("register %s: it is registered already", r.GroupResource())
	}
	g.byGR[r.GroupResource()] = r
	if r.Prefix != "" {
		g.kinds[schema.GroupKind{Group: r.Group, Kind: r.Kind}] = r
	}
	g.order = append(g.order, r)
	g.epoch++
	return nil
}

// Remove stops serving a resource.
func (g *Registry) Remove(gr schema.GroupResource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, there := g.byGR[gr]
	if !there {
		return
	}
	delete(g.byGR, gr)
	delete(g.kinds, schema.GroupKind{Group: r.Group, Kind: r.Kind})
	for i := range g.order {
		if g.order[i] == r {
			g.order = append(g.order[:i:i], g.order[i+1:]...)
			break
		}
	}
	g.epoch++
}

// Get finds a resource, nil when it is not served.
func (g *Registry) Get(gr schema.GroupResource) *Resource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.byGR[gr]
}

// ForKind finds the stored resource of a kind (an ownerReference names kinds), nil when there is none.
func (g *Registry) ForKind(gk schema.GroupKind) *Resource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.kinds[gk]
}

// All lists the resources in the order in which they were added.
func (g *Registry) All() []*Resource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return append([]*Resource(nil), g.order...)
}

// Epoch changes whenever the set of resources does.
func (g *Registry) Epoch() int64 {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.epoch
}

// Groups lists the group names, sorted, "" first.
func (g *Registry) Groups() []string {
	seen := map[string]bool{}
	var out []string
	for _, r := range g.All() {
		if !seen[r.Group] {
			seen[r.Group] = true
			out = append(out, r.Group)
		}
	}
	sort.Strings(out)
	return out
}
