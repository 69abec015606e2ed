package bootstrap

// What of a new cluster depends on its addresses: the Service kubernetes by
// which pods reach the API server, its address and endpoints, the range of
// service addresses, and two small records of the API server itself.

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"kuberow/api/kinds"
)

// Settings are the cluster's, as far as the objects need them.
type Settings struct {
	Cluster  *kinds.Cluster
	HostName string
	Now      time.Time
}

// Typed is one object with where it is kept.
type Typed struct {
	schema.GroupResource
	Object metav1.Object // with TypeMeta set; UID and creationTimestamp still empty
}

// FirstServiceIP is the address of the Service kubernetes: the first one of the first range.
func FirstServiceIP(cidrs []string) (netip.Addr, error) {
	if len(cidrs) == 0 {
		return netip.Addr{}, fmt.Errorf("find service address: --service-cluster-ip-range is empty")
	}
	prefix, err := netip.ParsePrefix(cidrs[0])
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find service address: --service-cluster-ip-range: %w", err)
	}
	first := prefix.Masked().Addr().Next()
	if !prefix.Contains(first) {
		return netip.Addr{}, fmt.Errorf("find service address: --service-cluster-ip-range %s holds no address", prefix)
	}
	return first, nil
}

// NetworkObjects lists the objects, in the order in which a real start makes them.
func NetworkObjects(s Settings) ([]Typed, error) {
	ip, err := FirstServiceIP(s.Cluster.ServiceCIDRs)
	if err != nil {
		return nil, err
	}
	return []Typed{
		{schema.GroupResource{Group: networkingv1.GroupName, Resource: "servicecidrs"}, serviceCIDR(s)},
		{schema.GroupResource{Group: networkingv1.GroupName, Resource: "ipaddresses"}, ipAddress(ip)},
		{schema.GroupResource{Resource: "services"}, service(s, ip)},
		{schema.GroupResource{Resource: "endpoints"}, endpoints(s)},
		{schema.GroupResource{Group: discoveryv1.GroupName, Resource: "endpointslices"}, endpointSlice(s)},
		{schema.GroupResource{Resource: "configmaps"}, tokenTracking(s)},
		{schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}, identityLease(s)},
	}, nil
}

func kind(group, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: schema.GroupVersion{Group: group, Version: "v1"}.String(), Kind: kind}
}

func serviceCIDR(s Settings) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{
		TypeMeta:   kind(networkingv1.GroupName, "ServiceCIDR"),
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: s.Cluster.ServiceCIDRs},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{
			Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(s.Now), Message: "Kubernetes default Service CIDR is ready",
		}}},
	}
}

func ipAddress(ip netip.Addr) *networkingv1.IPAddress {
	return &networkingv1.IPAddress{
		TypeMeta: kind(networkingv1.GroupName, "IPAddress"),
		ObjectMeta: metav1.ObjectMeta{Name: ip.String(), Labels: map[string]string{
			networkingv1.LabelIPAddressFamily: string(family(ip)),
			networkingv1.LabelManagedBy:       "ipallocator.k8s.io",
		}},
		Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{Resource: "services", Namespace: "default", Name: "kubernetes"}},
	}
}

func family(ip netip.Addr) corev1.IPFamily {
	if ip.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

func service(s Settings, ip netip.Addr) *corev1.Service {
	internal, single := corev1.ServiceInternalTrafficPolicyCluster, corev1.IPFamilyPolicySingleStack
	return &corev1.Service{
		TypeMeta: kind("", "Service"),
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", Namespace: "default",
			Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"}},
		Spec: corev1.ServiceSpec{
			Ports:     []corev1.ServicePort{{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(int32(s.Cluster.SecurePort))}},
			ClusterIP: ip.String(), ClusterIPs: []string{ip.String()}, Type: corev1.ServiceTypeClusterIP, SessionAffinity: corev1.ServiceAffinityNone,
			IPFamilies: []corev1.IPFamily{family(ip)}, IPFamilyPolicy: &single, InternalTrafficPolicy: &internal,
		},
	}
}

func endpoints(s Settings) *corev1.Endpoints {
	return &corev1.Endpoints{
		TypeMeta: kind("", "Endpoints"),
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", Namespace: "default",
			Labels: map[string]string{discoveryv1.LabelSkipMirror: "true"}},
		Subsets: []corev1.EndpointSubset{{
			Addresses: []corev1.EndpointAddress{{IP: s.Cluster.AdvertiseAddress}},
			Ports:     []corev1.EndpointPort{{Name: "https", Port: int32(s.Cluster.SecurePort), Protocol: corev1.ProtocolTCP}},
		}},
	}
}

func endpointSlice(s Settings) *discoveryv1.EndpointSlice {
	name, port, tcp, ready := "https", int32(s.Cluster.SecurePort), corev1.ProtocolTCP, true
	addressType := discoveryv1.AddressTypeIPv4
	if strings.Contains(s.Cluster.AdvertiseAddress, ":") {
		addressType = discoveryv1.AddressTypeIPv6
	}
	return &discoveryv1.EndpointSlice{
		TypeMeta: kind(discoveryv1.GroupName, "EndpointSlice"),
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", Namespace: "default", Generation: 1,
			Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		AddressType: addressType,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{s.Cluster.AdvertiseAddress},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: &tcp}},
	}
}

// tokenTracking says since when tokens without an end are counted; clients that clean them up look for it.
func tokenTracking(s Settings) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   kind("", "ConfigMap"),
		ObjectMeta: metav1.ObjectMeta{Name: "kube-apiserver-legacy-service-account-token-tracking", Namespace: metav1.NamespaceSystem},
		Data:       map[string]string{"since": s.Now.UTC().Format(time.DateOnly)},
	}
}

// identityLease is how API servers of one cluster know each other.
func identityLease(s Settings) *coordinationv1.Lease {
	sum := sha256.Sum256([]byte(s.HostName))
	name := "apiserver-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
	holder, seconds, now := name+"_"+UIDPlace, int32(3600), metav1.NewMicroTime(s.Now)
	return &coordinationv1.Lease{
		TypeMeta: kind(coordinationv1.GroupName, "Lease"),
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem,
			Labels:      map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver", corev1.LabelHostname: s.HostName},
			Annotations: map[string]string{"kubernetes.io/peer-advertise-address": s.Cluster.AdvertiseAddress + ":" + strconv.Itoa(s.Cluster.SecurePort)}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}
}

// stamp gives an object its UID and time of birth.
func stamp(o metav1.Object, uid types.UID, now time.Time) {
	o.SetUID(uid)
	o.SetCreationTimestamp(metav1.NewTime(now.Truncate(time.Second)))
}
