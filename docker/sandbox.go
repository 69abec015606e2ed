package docker

import (
	"context"
	"fmt"
	"strconv"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/errdefs"
	"github.com/docker/go-connections/nat"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/controllers/kubelet"
)

// RunSandbox makes the pod's volumes and its sandbox container, and starts it.
func (r *Runtime) RunSandbox(ctx context.Context, pod *corev1.Pod) (kubelet.Sandbox, error) {
	if found, there, err := r.Sandbox(ctx, pod.UID); err != nil {
		return kubelet.Sandbox{}, err
	} else if there && found.Ready {
		return found, nil
	} else if there && found.ID != "" {
		if err := r.remove(ctx, found.ID); err != nil {
			return kubelet.Sandbox{}, err
		}
	}
	if err := r.EnsureNetwork(ctx); err != nil {
		return kubelet.Sandbox{}, err
	}
	image, err := r.ensurePause(ctx)
	if err != nil {
		return kubelet.Sandbox{}, err
	}
	mounts, err := r.ensureVolumes(ctx, pod)
	if err != nil {
		return kubelet.Sandbox{}, err
	}
	host, join := r.sandboxHost(pod)
	host.Mounts = mounts
	config := &container.Config{
		Image:        image,
		Labels:       r.podLabels(pod, roleSandbox),
		ExposedPorts: nat.PortSet{},
	}
	if !pod.Spec.HostNetwork {
		config.Hostname = hostname(pod)
		publish(pod, config, host)
	}
	made, err := r.engine.ContainerCreate(ctx, config, host, join, nil, r.sandboxName(pod.UID))
	if err != nil {
		return kubelet.Sandbox{}, fmt.Errorf("create the sandbox of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if err := r.prepareVolumes(ctx, made.ID, pod); err != nil {
		return kubelet.Sandbox{}, err
	}
	if err := r.engine.ContainerStart(ctx, made.ID, container.StartOptions{}); err != nil {
		return kubelet.Sandbox{}, fmt.Errorf("start the sandbox of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	found, _, err := r.Sandbox(ctx, pod.UID)
	return found, err
}

// sandboxHost holds the pod's namespaces, resolver and kernel parameters.
func (r *Runtime) sandboxHost(pod *corev1.Pod) (*container.HostConfig, *network.NetworkingConfig) {
	host := &container.HostConfig{
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		Sysctls:       map[string]string{},
		PortBindings:  nat.PortMap{},
	}
	if pod.Spec.HostPID {
		host.PidMode = "host"
	}
	host.IpcMode = "shareable"
	if pod.Spec.HostIPC {
		host.IpcMode = "host"
	}
	if sc := pod.Spec.SecurityContext; sc != nil {
		for _, s := range sc.Sysctls {
			host.Sysctls[s.Name] = s.Value
		}
	}
	for _, a := range pod.Spec.HostAliases {
		for _, name := range a.Hostnames {
			host.ExtraHosts = append(host.ExtraHosts, name+":"+a.IP)
		}
	}
	host.DNS, host.DNSSearch, host.DNSOptions = r.resolver(pod)
	if pod.Spec.HostNetwork {
		host.NetworkMode = "host"
		return host, nil
	}
	host.NetworkMode = container.NetworkMode(r.NetworkName())
	return host, &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{r.NetworkName(): {}}}
}

// resolver gives servers, search list and options as dnsPolicy and dnsConfig say.
func (r *Runtime) resolver(pod *corev1.Pod) (servers, search, options []string) {
	cluster := pod.Spec.DNSPolicy == corev1.DNSClusterFirstWithHostNet ||
		(pod.Spec.DNSPolicy == corev1.DNSClusterFirst || pod.Spec.DNSPolicy == "") && !pod.Spec.HostNetwork
	if cluster {
		servers = []string{r.ClusterDNS}
		search = []string{pod.Namespace + ".svc." + r.ClusterDomain, "svc." + r.ClusterDomain, r.ClusterDomain}
		options = []string{"ndots:5"}
	}
	if c := pod.Spec.DNSConfig; c != nil {
		servers = append(servers, c.Nameservers...)
		search = append(search, c.Searches...)
		for _, o := range c.Options {
			text := o.Name
			if o.Value != nil {
				text += ":" + *o.Value
			}
			options = append(options, text)
		}
	}
	return servers, search, options
}

// publish binds the pod's host ports on the engine's host.
func publish(pod *corev1.Pod, config *container.Config, host *container.HostConfig) {
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if p.HostPort == 0 {
				continue
			}
			proto := "tcp"
			if p.Protocol == corev1.ProtocolUDP {
				proto = "udp"
			}
			port := nat.Port(strconv.Itoa(int(p.ContainerPort)) + "/" + proto)
			config.ExposedPorts[port] = struct{}{}
			host.PortBindings[port] = append(host.PortBindings[port], nat.PortBinding{HostIP: p.HostIP, HostPort: strconv.Itoa(int(p.HostPort))})
		}
	}
}

// StopSandbox kills what runs in it, then it. Volumes and exited containers stay.
func (r *Runtime) StopSandbox(ctx context.Context, uid types.UID) error {
	found, there, err := r.Sandbox(ctx, uid)
	if err != nil || !there {
		return err
	}
	for _, c := range found.Containers {
		if c.State == kubelet.StateRunning {
			if err := r.kill(ctx, engineID(c.ID)); err != nil {
				return err
			}
		}
	}
	if found.Ready {
		return r.kill(ctx, found.ID)
	}
	return nil
}

// RemoveSandbox removes all containers of the pod and its volumes.
func (r *Runtime) RemoveSandbox(ctx context.Context, uid types.UID) error {
	all, err := r.engine.ContainerList(ctx, container.ListOptions{All: true, Filters: r.mine(uid)})
	if err != nil {
		return fmt.Errorf("list the containers of pod %s: %w", uid, err)
	}
	// The sandbox goes last: until then a failure in the middle finds the rest again.
	for _, role := range []string{roleContainer, roleSandbox} {
		for _, c := range all {
			if c.Labels[labelRole] == role {
				if err := r.remove(ctx, c.ID); err != nil {
					return err
				}
			}
		}
	}
	return r.removeVolumes(ctx, uid)
}

func (r *Runtime) kill(ctx context.Context, id string) error {
	err := r.engine.ContainerKill(ctx, id, "SIGKILL")
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil // it had ended already
	}
	return fmt.Errorf("kill container %s: %w", id, err)
}

func (r *Runtime) remove(ctx context.Context, id string) error {
	r.messages.Delete(id)
	err := r.engine.ContainerRemove(ctx, id, container.RemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil // gone, or being removed right now
	}
	return fmt.Errorf("remove container %s: %w", id, err)
}

func (r *Runtime) sandboxName(uid types.UID) string {
	return "kuberow-" + r.short() + "-" + string(uid)
}

func (r *Runtime) podLabels(pod *corev1.Pod, role string) map[string]string {
	return map[string]string{
		LabelCluster: r.Cluster, labelRole: role, labelPodUID: string(pod.UID),
		labelNamespace: pod.Namespace, labelPod: pod.Name, labelNode: pod.Spec.NodeName,
	}
}
