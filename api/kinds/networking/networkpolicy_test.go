package networking

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kuberow/api/kinds/common/kindtest"
)

// Unlike other kinds, a policy that names [] where it named nothing has another generation.
func TestEmptyRulesAreAChange(t *testing.T) {
	old := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	obj := old.DeepCopy()
	obj.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{}
	networkPolicies().Strategy.PrepareForUpdate(new(kindtest.Cluster).Context(), obj, old)
	if obj.Generation != 4 {
		t.Errorf("generation %d, want 4", obj.Generation)
	}
}

// A missing address is told after what is wrong with others, since the rule is declared upstream.
func TestMissingAddressIsToldLast(t *testing.T) {
	block := func(cidr string) networkingv1.NetworkPolicyPeer {
		return networkingv1.NetworkPolicyPeer{IPBlock: &networkingv1.IPBlock{CIDR: cidr}}
	}
	obj := &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{block(""), block("10.0.0.1/8"), {}}}},
	}}
	want := []string{
		`spec.ingress[0].from[1].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`,
		"spec.ingress[0].from[2]: Required value: must specify a peer",
		"spec.ingress[0].from[0].ipBlock.cidr: Required value",
	}
	got := kindtest.Create(new(kindtest.Cluster).Context(), networkPolicies().Strategy, obj)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
