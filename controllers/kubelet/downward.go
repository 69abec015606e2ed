package kubelet

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The downward API: fields of the pod and resources of its containers, as
// environment variables and as files.

// podField is the value of a fieldRef.
func (k *Kubelet) podField(pod *corev1.Pod, path string, ips []string) (string, error) {
	if name, key, ok := subscript(path); ok {
		switch name {
		case "metadata.annotations":
			return pod.Annotations[key], nil
		case "metadata.labels":
			return pod.Labels[key], nil
		}
		return "", fmt.Errorf("fieldPath %q does not support subscript", path)
	}
	hosts := k.hostIPs(pod)
	if pod.Spec.HostNetwork {
		ips = hosts
	}
	switch path {
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		return first(hosts), nil
	case "status.hostIPs":
		return strings.Join(hosts, ","), nil
	case "status.podIP":
		return first(ips), nil
	case "status.podIPs":
		return strings.Join(ips, ","), nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", path)
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// subscript splits metadata.labels['app'].
func subscript(path string) (name, key string, ok bool) {
	rest, ok := strings.CutSuffix(path, "']")
	if !ok {
		return path, "", false
	}
	name, key, ok = strings.Cut(rest, "['")
	return name, key, ok && name != ""
}

// formatMap writes one key="value" a line, by key.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for k, v := range m {
		lines = append(lines, k+"="+strconv.Quote(v))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

var nodeResource = schema.GroupResource{Resource: "nodes"}

// resourceField is the value of a resourceFieldRef, in units of its divisor and
// rounded up. A limit that is not set is the pod's, else the node's allocatable.
func (k *Kubelet) resourceField(pod *corev1.Pod, c *corev1.Container, ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" {
		found, ok := findContainer(pod, ref.ContainerName)
		if !ok || found.kind == ephemeralContainer {
			return "", fmt.Errorf("container %s not found", ref.ContainerName)
		}
		c = found.Container
	}
	if c == nil {
		return "", fmt.Errorf("container %s not found", ref.ContainerName)
	}
	kind, name, ok := strings.Cut(ref.Resource, ".")
	list := c.Resources.Requests
	if kind == "limits" {
		list = c.Resources.Limits
	}
	r := corev1.ResourceName(name)
	switch {
	case !ok || kind != "limits" && kind != "requests",
		r != corev1.ResourceCPU && r != corev1.ResourceMemory && r != corev1.ResourceEphemeralStorage && !strings.HasPrefix(name, corev1.ResourceHugePagesPrefix):
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	q, set := list[r]
	if kind == "limits" && (!set || q.IsZero()) && !strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) {
		q = k.defaultLimit(pod, r)
	}
	return inUnits(q, ref.Divisor, r), nil
}

// defaultLimit is what bounds a container without a limit.
func (k *Kubelet) defaultLimit(pod *corev1.Pod, r corev1.ResourceName) resource.Quantity {
	if pod.Spec.Resources != nil {
		if q, ok := pod.Spec.Resources.Limits[r]; ok && !q.IsZero() {
			return q
		}
	}
	if o, err := k.Reader.Get(k.ctx, nodeResource, "", pod.Spec.NodeName); err == nil {
		if n, ok := o.(*corev1.Node); ok {
			return n.Status.Allocatable[r]
		}
	}
	return resource.Quantity{}
}

func inUnits(q, divisor resource.Quantity, r corev1.ResourceName) string {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	v, d := float64(q.Value()), float64(divisor.Value())
	if r == corev1.ResourceCPU {
		v, d = float64(q.MilliValue()), float64(divisor.MilliValue())
	}
	return strconv.FormatInt(int64(math.Ceil(v/d)), 10)
}
