// Package quota measures what an object uses of a ResourceQuota: how many of
// which resource names it counts as, and which quotas it counts for.
//
// Why this shape: the ResourceQuota plugin charges an object before it is
// written and the quota controller counts what is there; both must measure
// alike. Everything here is a pure function of the object.
//
// Hardest part: pods. They count by their requests and limits, only while
// they run, and a quota may be for some of them only (scopes).
//
// What can be lost: nothing.
package quota

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aliases are the resources that can also be counted without the prefix count/.
var aliases = []string{"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}

// storageClassSuffix is between a storage class and what is counted for it: gold.storageclass.storage.k8s.io/requests.storage.
const storageClassSuffix = ".storageclass.storage.k8s.io/"

// CountName is how a quota calls the number of objects of a resource: count/deployments.apps.
func CountName(gr schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName("count/" + gr.String())
}

// Ignored says that a resource is never counted.
func Ignored(gr schema.GroupResource) bool {
	switch gr.String() {
	case "bindings", "componentstatuses", "events", "events.events.k8s.io":
		return true
	}
	return gr.Group == "authentication.k8s.io" || gr.Group == "authorization.k8s.io"
}

// Names picks of the names in a quota those that objects of gr count for.
func Names(gr schema.GroupResource, names []corev1.ResourceName) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, n := range names {
		if n == CountName(gr) || countsFor(gr, n) {
			out = append(out, n)
		}
	}
	return out
}

func countsFor(gr schema.GroupResource, name corev1.ResourceName) bool {
	switch gr.String() {
	case "pods":
		return podName(name)
	case "services":
		return name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts || name == corev1.ResourceServicesLoadBalancers
	case "persistentvolumeclaims":
		s := string(name)
		if i := strings.Index(s, storageClassSuffix); i >= 0 {
			s = s[i+len(storageClassSuffix):]
		}
		return s == string(corev1.ResourcePersistentVolumeClaims) || s == string(corev1.ResourceRequestsStorage)
	}
	return gr.Group == "" && slices.Contains(aliases, gr.Resource) && string(name) == gr.Resource
}

// Usage measures one object. now matters for pods that are being deleted.
func Usage(gr schema.GroupResource, o runtime.Object, now time.Time) corev1.ResourceList {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	out := corev1.ResourceList{CountName(gr): one}
	switch o := o.(type) {
	case *corev1.Pod:
		addPod(out, o, now)
	case *corev1.Service:
		addService(out, o)
	case *corev1.PersistentVolumeClaim:
		addClaim(out, o)
	default:
		if gr.Group == "" && slices.Contains(aliases, gr.Resource) {
			out[corev1.ResourceName(gr.Resource)] = one
		}
	}
	return out
}

// Matches says whether an object counts for a quota: the quota limits something of it, and it is in every scope.
func Matches(q *corev1.ResourceQuota, gr schema.GroupResource, o runtime.Object) bool {
	if len(Names(gr, Keys(q.Status.Hard))) == 0 && len(Names(gr, Keys(q.Spec.Hard))) == 0 {
		return false
	}
	for _, s := range scopesOf(q) {
		if !inScope(s, o) {
			return false
		}
	}
	return true
}

func scopesOf(q *corev1.ResourceQuota) []corev1.ScopedResourceSelectorRequirement {
	var out []corev1.ScopedResourceSelectorRequirement
	for _, s := range q.Spec.Scopes {
		out = append(out, corev1.ScopedResourceSelectorRequirement{ScopeName: s, Operator: corev1.ScopeSelectorOpExists})
	}
	if q.Spec.ScopeSelector != nil {
		out = append(out, q.Spec.ScopeSelector.MatchExpressions...)
	}
	return out
}

func addService(out corev1.ResourceList, s *corev1.Service) {
	ports, balancers := 0, int64(0)
	switch s.Spec.Type {
	case corev1.ServiceTypeNodePort:
		ports = len(s.Spec.Ports)
	case corev1.ServiceTypeLoadBalancer:
		balancers, ports = 1, len(s.Spec.Ports)
		if allocate := s.Spec.AllocateLoadBalancerNodePorts; allocate != nil && !*allocate {
			ports = len(slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p corev1.ServicePort) bool { return p.NodePort == 0 }))
		}
	}
	out[corev1.ResourceServices] = *resource.NewQuantity(1, resource.DecimalSI)
	out[corev1.ResourceServicesNodePorts] = *resource.NewQuantity(int64(ports), resource.DecimalSI)
	out[corev1.ResourceServicesLoadBalancers] = *resource.NewQuantity(balancers, resource.DecimalSI)
}

func addClaim(out corev1.ResourceList, c *corev1.PersistentVolumeClaim) {
	one := *resource.NewQuantity(1, resource.DecimalSI)
	class := c.Annotations[corev1.BetaStorageClassAnnotation]
	if class == "" && c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	charge := func(name corev1.ResourceName, q resource.Quantity) {
		out[name] = q
		if class != "" {
			out[corev1.ResourceName(class+storageClassSuffix+string(name))] = q
		}
	}
	charge(corev1.ResourcePersistentVolumeClaims, one)
	size, asked := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !asked {
		return
	}
	// A claim that is growing already holds what was allocated for it.
	if allocated, there := c.Status.AllocatedResources[corev1.ResourceStorage]; there && allocated.Cmp(size) > 0 {
		size = allocated
	}
	size = size.DeepCopy()
	size.RoundUp(0)
	charge(corev1.ResourceRequestsStorage, size)
}
