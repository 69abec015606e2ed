// The aggregated documents: everything below /api and everything below /apis,
// one each, with an ETag that a client sends back.
package discovery

import (
	"crypto/sha512"
	"fmt"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// aggregate is one document, encoded.
type aggregate struct {
	list *apidiscoveryv2.APIGroupDiscoveryList
	json []byte
	etag string // quoted
}

// aggregates caches both documents.
type aggregates struct {
	registry *kinds.Registry

	mu    sync.Mutex // guards the rest
	epoch int64      // of the registry when they were made
	core  *aggregate // /api
	named *aggregate // /apis
}

// get gives the document of /api (core) or /apis, made anew when the registry changed.
func (a *aggregates) get(core bool) (*aggregate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if epoch := a.registry.Epoch(); a.core == nil || epoch != a.epoch {
		all := groups(a.registry)
		var err error
		if a.core, err = newAggregate(all, true); err != nil {
			return nil, err
		}
		if a.named, err = newAggregate(all, false); err != nil {
			return nil, err
		}
		a.epoch = epoch
	}
	if core {
		return a.core, nil
	}
	return a.named, nil
}

func newAggregate(all []*group, core bool) (*aggregate, error) {
	list := &apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{
		Kind: "APIGroupDiscoveryList", APIVersion: apidiscoveryv2.SchemeGroupVersion.String(),
	}}
	for _, g := range all {
		if (g.name == "") == core {
			list.Items = append(list.Items, g.aggregated())
		}
	}
	b, err := wire.EncodeJSON(list)
	if err != nil {
		return nil, err
	}
	return &aggregate{list: list, json: b, etag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(b)))}, nil
}

func (g *group) aggregated() apidiscoveryv2.APIGroupDiscovery {
	out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, v := range g.versions {
		d := apidiscoveryv2.APIVersionDiscovery{Version: v, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, r := range g.resources {
			if r.Version(v) != nil {
				d.Resources = append(d.Resources, aggregatedResource(r, schema.GroupVersion{Group: g.name, Version: v}))
			}
		}
		out.Versions = append(out.Versions, d)
	}
	return out
}

func aggregatedResource(r *kinds.Resource, gv schema.GroupVersion) apidiscoveryv2.APIResourceDiscovery {
	out := apidiscoveryv2.APIResourceDiscovery{
		Resource: r.Name, SingularResource: r.Singular, Scope: apidiscoveryv2.ScopeCluster,
		ResponseKind: aggregatedKind(r, schema.GroupVersionKind{Kind: r.Kind}, gv),
		Verbs:        r.Verbs, ShortNames: r.ShortNames, Categories: r.Categories,
	}
	if r.Namespaced {
		out.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, s := range subresources(r) {
		out.Subresources = append(out.Subresources, apidiscoveryv2.APISubresourceDiscovery{
			Subresource: s.Name, ResponseKind: aggregatedKind(r, responseKind(r, s, gv), gv), Verbs: s.Verbs,
		})
	}
	return out
}

// aggregatedKind fills in the document's group and version for custom resources, which upstream does for them alone.
func aggregatedKind(r *kinds.Resource, k schema.GroupVersionKind, gv schema.GroupVersion) *metav1.GroupVersionKind {
	if r.Custom && k.Version == "" {
		k.Group, k.Version = gv.Group, gv.Version
	}
	return &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}
}
