package kubelet

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// serviceEnv gives the variables that tell of services: default/kubernetes
// always, and those of the pod's namespace unless enableServiceLinks is false.
func (k *Kubelet) serviceEnv(ctx context.Context, pod *corev1.Pod) (map[string]string, error) {
	out := map[string]string{}
	if o, err := k.Reader.Get(ctx, serviceResource, "default", "kubernetes"); err == nil {
		if s, ok := o.(*corev1.Service); ok {
			serviceVars(s, out)
		}
	}
	if pod.Spec.EnableServiceLinks != nil && !*pod.Spec.EnableServiceLinks {
		return out, nil
	}
	list, err := k.Reader.List(ctx, serviceResource, pod.Namespace, nil)
	if err != nil {
		return nil, fmt.Errorf("failed to list services when setting up env vars")
	}
	for _, o := range list {
		if s, ok := o.(*corev1.Service); ok {
			serviceVars(s, out)
		}
	}
	return out, nil
}

// serviceVars adds NAME_SERVICE_HOST and the variables of Docker's old links.
func serviceVars(s *corev1.Service, out map[string]string) {
	ip := s.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone || len(s.Spec.Ports) == 0 {
		return
	}
	name := envName(s.Name)
	out[name+"_SERVICE_HOST"] = ip
	out[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
	for i, p := range s.Spec.Ports {
		port := strconv.Itoa(int(p.Port))
		if p.Name != "" {
			out[name+"_SERVICE_PORT_"+envName(p.Name)] = port
		}
		proto := string(p.Protocol)
		if proto == "" {
			proto = string(corev1.ProtocolTCP)
		}
		url := strings.ToLower(proto) + "://" + net.JoinHostPort(ip, port)
		if i == 0 {
			out[name+"_PORT"] = url
		}
		prefix := name + "_PORT_" + port + "_" + strings.ToUpper(proto)
		out[prefix] = url
		out[prefix+"_PROTO"] = strings.ToLower(proto)
		out[prefix+"_PORT"] = port
		out[prefix+"_ADDR"] = ip
	}
}

func envName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }
