// The documents in their legacy form. They are small and made on every
// request; the order is fixed: groups as the registry has them, custom ones
// after those, sorted; resources by name.
package discovery

import (
	"crypto/sha256"
	"encoding/base64"
	"sort"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"kuberow/api/kinds"
)

// group is what the registry holds of one API group.
type group struct {
	name      string
	custom    bool
	versions  []string // preferred first
	resources []*kinds.Resource
}

// groups lists the groups in discovery's order; the core group is among them.
func groups(registry *kinds.Registry) []*group {
	byName := map[string]*group{}
	var out []*group
	for _, r := range registry.All() {
		g := byName[r.Group]
		if g == nil {
			g = &group{name: r.Group, custom: r.Custom}
			byName[r.Group] = g
			out = append(out, g)
		}
		g.resources = append(g.resources, r)
		for _, v := range r.Versions {
			g.addVersion(v.GVK.Version)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if a.custom != b.custom {
			return b.custom
		}
		return a.custom && a.name < b.name
	})
	for _, g := range out {
		sort.SliceStable(g.resources, func(i, j int) bool { return g.resources[i].Name < g.resources[j].Name })
		sort.SliceStable(g.versions, func(i, j int) bool {
			return version.CompareKubeAwareVersionStrings(g.versions[i], g.versions[j]) > 0
		})
	}
	return out
}

func (g *group) addVersion(v string) {
	for _, have := range g.versions {
		if have == v {
			return
		}
	}
	g.versions = append(g.versions, v)
}

func find(all []*group, name string) *group {
	for _, g := range all {
		if g.name == name {
			return g
		}
	}
	return nil
}

func (g *group) serves(v string) bool {
	for _, have := range g.versions {
		if have == v {
			return true
		}
	}
	return false
}

// document is the group as /apis lists it, without kind.
func (g *group) document() metav1.APIGroup {
	out := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v}
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

func groupList(all []*group) *metav1.APIGroupList {
	out := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range all {
		if g.name != "" {
			out.Groups = append(out.Groups, g.document())
		}
	}
	return out
}

// resourceList is the document of one version. The core group's says no apiVersion, as it always did.
func (g *group) resourceList(v string) *metav1.APIResourceList {
	gv := schema.GroupVersion{Group: g.name, Version: v}
	out := &metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: gv.String(), APIResources: []metav1.APIResource{},
	}
	if g.name == "" {
		out.APIVersion = ""
	}
	for _, r := range g.resources {
		if r.Version(v) == nil {
			continue
		}
		out.APIResources = append(out.APIResources, metav1.APIResource{
			Name: r.Name, SingularName: r.Singular, Namespaced: r.Namespaced, Kind: r.Kind, Verbs: r.Verbs,
			ShortNames: r.ShortNames, Categories: r.Categories, StorageVersionHash: storageHash(r),
		})
		for _, s := range subresources(r) {
			kind := responseKind(r, s, gv)
			out.APIResources = append(out.APIResources, metav1.APIResource{
				Name: r.Name + "/" + s.Name, Namespaced: r.Namespaced, Verbs: s.Verbs,
				Group: kind.Group, Version: kind.Version, Kind: kind.Kind,
			})
		}
	}
	return out
}

// subresources are sorted, but for custom resources, whose definition lists status first.
func subresources(r *kinds.Resource) []*kinds.Subresource {
	out := append([]*kinds.Subresource(nil), r.Subresources...)
	if !r.Custom {
		sort.SliceStable(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	}
	return out
}

// responseKind is blank in group and version where they are the document's own. A subresource that is a part
// of its parent always speaks the parent's version.
func responseKind(r *kinds.Resource, s *kinds.Subresource, gv schema.GroupVersion) schema.GroupVersionKind {
	if s.Strategy != nil || s.GVK.GroupVersion() == gv {
		return schema.GroupVersionKind{Kind: s.GVK.Kind}
	}
	return s.GVK
}

// storageHash stands for the version that is stored, so that a client which migrates storage sees when it
// changes. A custom resource has one only while its stored version is served.
func storageHash(r *kinds.Resource) string {
	if r.Prefix == "" || r.Hub == nil || r.Custom && !holds(r) {
		return ""
	}
	if r.StorageVersionHash != "" {
		return r.StorageVersionHash
	}
	k := r.Hub.GVK
	sum := sha256.Sum256([]byte(k.Group + "/" + k.Version + "/" + k.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// holds tells whether the definition of the resource serves its storage version, which alone gives a hash.
func holds(r *kinds.Resource) bool { return r.Version(r.Hub.GVK.Version) != nil }
