package controllers

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The node fleet does for all nodes of this process what each kubelet does for
// itself: it registers them, renews their leases every ten seconds and keeps their conditions
// fresh. Real clusters have one kubelet per node for it. Key: a Node by name, and
// Key{} every ten seconds.

// Fleet describes the nodes that this process plays.
type Fleet struct {
	Names     []string                               // FleetNames(3) is node-1, node-2, node-3
	Addresses func(name string) []corev1.NodeAddress // nil: the name as hostname and a loopback address
	Capacity  corev1.ResourceList                    // nil: 32 cpu, 256Gi, 110 pods
	Labels    map[string]string                      // in addition to the usual ones
	Info      corev1.NodeSystemInfo
	// Conditions are what the kubelet says of its nodes now; nil: nothing is wrong. Runner.Wake("node-fleet", Key{}) when they change.
	Conditions func(now metav1.Time) []corev1.NodeCondition
}

// FleetNames names n nodes.
func FleetNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%d", i+1)
	}
	return names
}

const (
	leaseRenewal    = 10 * time.Second // how often a kubelet renews its lease
	leaseSeconds    = 40               // how long others believe it
	statusHeartbeat = 5 * time.Minute  // how often conditions are stored though nothing changed
	leaseNamespace  = "kube-node-lease"
)

// NodeFleet is the controller of a fleet.
func NodeFleet(f Fleet) Controller {
	mine, seen := map[string]bool{}, map[string]bool{}
	for _, name := range f.Names {
		mine[name] = true
	}
	return Controller{
		Name: "node-fleet", Manager: "kubelet",
		Every: leaseRenewal,
		Keys: keyMap{
			Nodes: func(_ View, c Object) []Key {
				if name := accessor(c.Current()).GetName(); mine[name] {
					return []Key{{Name: name}}
				}
				return nil
			},
		},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			renew := false
			due := map[string]bool{}
			for _, k := range keys {
				renew = renew || k == Key{}
				due[k.Name] = true
			}
			for _, name := range f.Names {
				there := v.Get(Nodes, "", name) != nil
				if !there && seen[name] {
					continue // deleted: a kubelet registers when it starts, and then no more
				}
				seen[name] = seen[name] || there
				if renew || due[name] {
					f.keepNode(v, Key{Name: name}, &out)
				}
				if renew || due[name] {
					f.keepLease(v, Key{Name: name}, renew, &out)
				}
			}
			return out
		},
	}
}

// keepNode creates a missing node and keeps its status true.
func (f Fleet) keepNode(v View, k Key, out *Outcome) {
	now := metav1.NewTime(v.Now())
	have := get[*corev1.Node](v, Nodes, "", k.Name)
	if have == nil {
		w := unlessThere(creation(k, Nodes, f.node(k.Name, now)))
		w.User = NodeUser(k.Name)
		out.Writes = append(out.Writes, w)
		out.Writes = append(out.Writes, nodeEvent(k.Name, "Starting", "Starting kubelet."))
		return
	}
	ready := nodeCondition(have, corev1.NodeReady)
	if ready != nil && ready.Status == f.ready(now) && v.Now().Sub(ready.LastHeartbeatTime.Time) < statusHeartbeat && len(have.Status.Capacity) > 0 {
		return
	}
	want := f.node(k.Name, now).Status
	w := mutation(k, Nodes, "status", have, func(n *corev1.Node) error {
		for i, c := range want.Conditions {
			if old := nodeCondition(n, c.Type); old != nil && old.Status == c.Status {
				want.Conditions[i].LastTransitionTime = old.LastTransitionTime
			}
		}
		volumes, images := n.Status.VolumesInUse, n.Status.Images
		n.Status = *want.DeepCopy()
		n.Status.VolumesInUse, n.Status.Images = volumes, images
		return nil
	})
	w.User = NodeUser(k.Name)
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// keepLease creates a node's lease, or renews it when that is due.
func (f Fleet) keepLease(v View, k Key, renew bool, out *Outcome) {
	now := metav1.NewMicroTime(v.Now())
	have := get[*coordinationv1.Lease](v, Leases, leaseNamespace, k.Name)
	if have == nil {
		node := get[*corev1.Node](v, Nodes, "", k.Name)
		if node == nil {
			return // the lease names the node as its owner; the node's creation brings us back
		}
		seconds := int32(leaseSeconds)
		w := unlessThere(creation(k, Leases, &coordinationv1.Lease{
			TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
			ObjectMeta: metav1.ObjectMeta{
				Name: k.Name, Namespace: leaseNamespace,
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: k.Name, UID: node.UID}},
			},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &k.Name, LeaseDurationSeconds: &seconds, RenewTime: &now},
		}))
		w.User = NodeUser(k.Name)
		w.Beside = true
		out.Writes = append(out.Writes, w)
		return
	}
	if !renew {
		return
	}
	w := mutation(k, Leases, "", have, func(l *coordinationv1.Lease) error {
		l.Spec.RenewTime = &now
		return nil
	})
	w.User = NodeUser(k.Name)
	w.Ignore = Gone
	out.Writes = append(out.Writes, w)
}

// node is a node of the fleet as it registers itself.
func (f Fleet) node(name string, now metav1.Time) *corev1.Node {
	labels := map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": f.arch(),
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": f.arch(),
	}
	for k, value := range f.Labels {
		labels[k] = value
	}
	capacity := f.Capacity
	if capacity == nil {
		capacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("256Gi"),
			corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("256Gi"),
		}
	}
	addresses := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name}}
	if f.Addresses != nil {
		addresses = f.Addresses(name)
	}
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Status: corev1.NodeStatus{
			Capacity: capacity.DeepCopy(), Allocatable: capacity.DeepCopy(), Addresses: addresses,
			Conditions: f.conditions(now), NodeInfo: f.Info,
			DaemonEndpoints: corev1.NodeDaemonEndpoints{},
		},
	}
}

// arch is what the node runs on.
func (f Fleet) arch() string {
	if f.Info.Architecture != "" {
		return f.Info.Architecture
	}
	return "amd64"
}

// conditions are those of every node now.
func (f Fleet) conditions(now metav1.Time) []corev1.NodeCondition {
	if f.Conditions == nil {
		return healthy(now)
	}
	return f.Conditions(now)
}

// ready is the status that the condition Ready should have.
func (f Fleet) ready(now metav1.Time) corev1.ConditionStatus {
	for _, c := range f.conditions(now) {
		if c.Type == corev1.NodeReady {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}

// healthy are the conditions of a node that has nothing to complain about.
func healthy(now metav1.Time) []corev1.NodeCondition {
	conditions := []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	}
	for i := range conditions {
		conditions[i].LastHeartbeatTime, conditions[i].LastTransitionTime = now, now
	}
	return conditions
}

// nodeCondition finds a condition, nil when there is none.
func nodeCondition(n *corev1.Node, t corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == t {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}

// nodeEvent tells something about a node, as its kubelet does: the uid is the name there.
func nodeEvent(node, reason, message string) Write {
	w := record(Key{Name: node}, "kubelet", corev1.ObjectReference{Kind: "Node", Name: node, UID: types.UID(node)}, corev1.EventTypeNormal, reason, message)
	w.Event.Host = node
	w.User = NodeUser(node)
	return w
}
