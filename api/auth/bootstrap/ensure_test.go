package bootstrap

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// direct applies without Raft.
type direct struct {
	store *sqlstore.Store
	index uint64
	calls int
}

func (d *direct) Propose(ctx context.Context, cmd *sqlstore.Command) (*sqlstore.Result, error) {
	tx, err := d.store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	d.index++
	d.calls++
	result := tx.Apply(d.index, cmd)
	return result, tx.Commit()
}

// registry serves what bootstrap writes, with etcd's prefixes.
func registry(t testing.TB) *kinds.Registry {
	g, err := kinds.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []struct {
		group, name, kind, prefix string
		namespaced                bool
	}{
		{"", "namespaces", "Namespace", "namespaces", false},
		{"", "services", "Service", "services/specs", true},
		{"", "endpoints", "Endpoints", "services/endpoints", true},
		{"", "configmaps", "ConfigMap", "configmaps", true},
		{"discovery.k8s.io", "endpointslices", "EndpointSlice", "endpointslices", true},
		{"coordination.k8s.io", "leases", "Lease", "leases", true},
		{"networking.k8s.io", "servicecidrs", "ServiceCIDR", "servicecidrs", false},
		{"networking.k8s.io", "ipaddresses", "IPAddress", "ipaddresses", false},
		{"rbac.authorization.k8s.io", "clusterroles", "ClusterRole", "clusterroles", false},
		{"rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding", "clusterrolebindings", false},
		{"rbac.authorization.k8s.io", "roles", "Role", "roles", true},
		{"rbac.authorization.k8s.io", "rolebindings", "RoleBinding", "rolebindings", true},
		{"scheduling.k8s.io", "priorityclasses", "PriorityClass", "priorityclasses", false},
		{"flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema", "flowschemas", false},
		{"flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "PriorityLevelConfiguration", "prioritylevelconfigurations", false},
		{"apiregistration.k8s.io", "apiservices", "APIService", "apiregistration.k8s.io/apiservices", false},
	} {
		v := &kinds.Version{GVK: schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: r.kind}, New: func() runtime.Object {
			if r.group == apiregistrationv1.GroupName {
				return &apiregistrationv1.APIService{}
			}
			o, err := clientscheme.Scheme.New(schema.GroupVersionKind{Group: r.group, Version: "v1", Kind: r.kind})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}}
		res := &kinds.Resource{Group: r.group, Name: r.name, Kind: r.kind, Namespaced: r.namespaced, Prefix: "/registry/" + r.prefix, Hub: v, Versions: []*kinds.Version{v}}
		if r.name == "namespaces" {
			res.Strategy = &kinds.Strategy{Fields: func(o runtime.Object) []sqlstore.Pair {
				return []sqlstore.Pair{{Name: "status.phase", Value: string(o.(*corev1.Namespace).Status.Phase)}}
			}}
		}
		if err := g.Add(res); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func options(t testing.TB, store *sqlstore.Store) (Options, *direct) {
	d := &direct{store: store}
	n := 0
	return Options{
		Settings: Settings{HostName: "host", Now: time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC),
			Cluster: &kinds.Cluster{ServiceCIDRs: []string{"10.96.0.0/16"}, AdvertiseAddress: "192.0.2.9", SecurePort: 6443}},
		Store: store, Proposer: d, Registry: registry(t),
		UID: func() types.UID { n++; return types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) },
	}, d
}

func TestFirstStartIsOneTransaction(t *testing.T) {
	store := storetest.Open(t)
	o, d := options(t, store)
	if err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if d.calls != 1 {
		t.Errorf("%d proposals, want 1", d.calls)
	}
	got := map[string]int{}
	page, err := store.Range(t.Context(), sqlstore.Query{From: "/registry/", To: sqlstore.PrefixEnd("/registry/")})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range page.Rows {
		var o struct {
			Kind     string
			Metadata struct{ UID, CreationTimestamp string }
		}
		if err := json.Unmarshal(kv.Value, &o); err != nil {
			t.Fatalf("%s: %v", kv.Key, err)
		}
		got[o.Kind]++
		if o.Metadata.CreationTimestamp != "2027-01-02T03:04:05Z" || !strings.HasPrefix(o.Metadata.UID, "00000000-0000-4000-8000-") {
			t.Errorf("%s was born %s with uid %s", kv.Key, o.Metadata.CreationTimestamp, o.Metadata.UID)
		}
		if text := string(kv.Value) + string(kv.ManagedFields); strings.Contains(text, UIDPlace) || strings.Contains(text, TimePlace) {
			t.Errorf("%s holds a placeholder: %s", kv.Key, text)
		}
		if !json.Valid(kv.ManagedFields) {
			t.Errorf("%s has managedFields %q", kv.Key, kv.ManagedFields)
		}
	}
	want := map[string]int{"Namespace": 4, "ClusterRole": 73, "ClusterRoleBinding": 54, "Role": 7, "RoleBinding": 7, "PriorityClass": 2,
		"FlowSchema": 11, "PriorityLevelConfiguration": 8, "APIService": 22, "ServiceCIDR": 1, "IPAddress": 1, "Service": 1, "Endpoints": 1,
		"EndpointSlice": 1, "ConfigMap": 1, "Lease": 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLaterStartAddsWhatIsMissingAndFollowsTheAddress(t *testing.T) {
	store := storetest.Open(t)
	o, d := options(t, store)
	if err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	role := "/registry/clusterroles/view"
	if _, err := d.Propose(t.Context(), &sqlstore.Command{Txn: &sqlstore.Txn{Then: []sqlstore.Op{{Type: sqlstore.OpDelete, Key: role}}}}); err != nil {
		t.Fatal(err)
	}
	before, _, _ := store.Get(t.Context(), "/registry/clusterroles/edit", 0)
	o.Cluster.SecurePort, o.Cluster.AdvertiseAddress = 7443, "192.0.2.10"
	if err := Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, found, err := store.Get(t.Context(), role, 0); !found || err != nil {
		t.Errorf("the deleted role is still missing (%v)", err)
	}
	if after, _, _ := store.Get(t.Context(), "/registry/clusterroles/edit", 0); after.ModRevision != before.ModRevision {
		t.Error("a role that was there was written again")
	}
	kv, _, _ := store.Get(t.Context(), "/registry/endpointslices/default/kubernetes", 0)
	var slice discoveryv1.EndpointSlice
	if err := json.Unmarshal(kv.Value, &slice); err != nil {
		t.Fatal(err)
	}
	if slice.Endpoints[0].Addresses[0] != "192.0.2.10" || *slice.Ports[0].Port != 7443 || slice.Generation != 2 {
		t.Errorf("the EndpointSlice says %v %v generation %d", slice.Endpoints, slice.Ports, slice.Generation)
	}
	if kv, _, _ = store.Get(t.Context(), "/registry/services/specs/default/kubernetes", 0); !strings.Contains(string(kv.Value), `"targetPort":7443`) {
		t.Errorf("the Service says %s", kv.Value)
	}
}

func TestFirstServiceIP(t *testing.T) {
	for cidr, want := range map[string]string{"10.96.0.0/16": "10.96.0.1", "10.0.0.77/24": "10.0.0.1", "fd00::/108": "fd00::1"} {
		if got, err := FirstServiceIP([]string{cidr}); err != nil || got != netip.MustParseAddr(want) {
			t.Errorf("%s: %v, %v; want %s", cidr, got, err, want)
		}
	}
	for _, cidrs := range [][]string{nil, {"10.0.0.0"}, {"10.0.0.1/32"}} {
		if got, err := FirstServiceIP(cidrs); err == nil {
			t.Errorf("%v: %v, want an error", cidrs, got)
		}
	}
}

func BenchmarkPrepareFirstStart(b *testing.B) {
	o, _ := options(b, nil)
	for b.Loop() {
		if _, err := o.missing(nil); err != nil {
			b.Fatal(err)
		}
	}
}
