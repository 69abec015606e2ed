package core

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Node ports: one number of the range for a Service, on every node. Two ports
// of one Service with the same port number (TCP and UDP) share a node port.
// The low part of the range is used last, it is left to those who ask for a number.

const (
	portTaken     = "provided port is already allocated"
	portOutside   = "provided port is not in the valid range. The range of valid ports is %d-%d"
	rangeIsFull   = "range is full"
	staticPortMin = 16
	staticPortMax = 128
)

func (a *serviceAllocator) nodePorts(s *corev1.Service) error {
	byPort := map[int32]int32{}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if p.NodePort == 0 && !allocatesNodePorts(s) {
			continue
		}
		given := byPort[p.Port]
		switch {
		case given == 0:
			if asked := askedNodePort(s, p.Port); asked != 0 {
				if err := a.takePort(s, i, asked); err != nil {
					return err
				}
				p.NodePort = asked
			} else {
				free, err := a.freePort()
				if err != nil {
					return errors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
				}
				p.NodePort = free
			}
			byPort[p.Port] = p.NodePort
		case p.NodePort == 0:
			p.NodePort = given
		case p.NodePort != given:
			if err := a.takePort(s, i, p.NodePort); err != nil {
				return err
			}
		}
	}
	return nil
}

func allocatesNodePorts(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || (s.Spec.Type == corev1.ServiceTypeLoadBalancer && *s.Spec.AllocateLoadBalancerNodePorts)
}

// askedNodePort finds what the client asked for on any of the ports with this number.
func askedNodePort(s *corev1.Service, port int32) int32 {
	for i := range s.Spec.Ports {
		if p := &s.Spec.Ports[i]; p.Port == port && p.NodePort != 0 {
			return p.NodePort
		}
	}
	return 0
}

func (a *serviceAllocator) takePort(s *corev1.Service, i int, port int32) error {
	if reason, err := a.portRefused(port); err != nil {
		return err
	} else if reason != "" {
		path := field.NewPath("spec", "ports").Index(i).Child("nodePort")
		return invalidService(s, field.ErrorList{field.Invalid(path, port, reason)})
	}
	return nil
}

// portRefused reserves a port that the client asked for, or says why it cannot have it.
func (a *serviceAllocator) portRefused(port int32) (string, error) {
	// Real Kubernetes does not hold a dry run to the range.
	if !a.DryRun && (int(port) < a.Cluster.NodePortFirst || int(port) > a.Cluster.NodePortLast) {
		return fmt.Sprintf(portOutside, a.Cluster.NodePortFirst, a.Cluster.NodePortLast), nil
	}
	used, err := a.usedPorts()
	if err != nil {
		return "", err
	}
	if used[port] || !a.reservePort(port) {
		return portTaken, nil
	}
	return "", nil
}

func (a *serviceAllocator) reservePort(port int32) bool {
	if !a.DryRun {
		return a.hold("port/" + strconv.Itoa(int(port)))
	}
	if a.tried[port] {
		return false
	}
	if a.tried == nil {
		a.tried = map[int32]bool{}
	}
	a.tried[port] = true
	return true
}

func (a *serviceAllocator) usedPorts() (map[int32]bool, error) {
	list, err := a.Reader.List(a.Ctx, schema.GroupResource{Resource: "services"}, "", nil)
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	used := map[int32]bool{}
	for _, obj := range list {
		s := obj.(*corev1.Service)
		for port := range nodePortsOf(s) {
			used[port] = true
		}
		if s.Spec.HealthCheckNodePort != 0 {
			used[s.Spec.HealthCheckNodePort] = true
		}
	}
	return used, nil
}

func (a *serviceAllocator) freePort() (int32, error) {
	used, err := a.usedPorts()
	if err != nil {
		return 0, err
	}
	first, size := int32(a.Cluster.NodePortFirst), int32(a.Cluster.NodePortLast-a.Cluster.NodePortFirst+1)
	static := staticPorts(size)
	for _, part := range [][2]int32{{static, size}, {0, static}} {
		n := part[1] - part[0]
		if n <= 0 {
			continue
		}
		start := int32(a.number(uint64(n)))
		for i := range n {
			port := first + part[0] + (start+i)%n
			if !used[port] && a.reservePort(port) {
				return port, nil
			}
		}
	}
	return 0, fmt.Errorf("%s", rangeIsFull)
}

// staticPorts is how much of the range is given out last.
func staticPorts(size int32) int32 {
	if size <= staticPortMin {
		return 0
	}
	return max(staticPortMin, min(size/32, staticPortMax))
}

func (a *serviceAllocator) updateNodePorts(s, old *corev1.Service) error {
	had, taken := nodePortsOf(old), map[int32]bool{}
	type use struct {
		protocol corev1.Protocol
		port     int32
	}
	seen := map[use]bool{}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		switch {
		case p.NodePort == 0 && !allocatesNodePorts(s):
			continue
		case p.NodePort == 0:
			free, err := a.freePort()
			if err != nil {
				return errors.NewInternalError(fmt.Errorf("failed to allocate a nodePort: %w", err))
			}
			p.NodePort = free
		case !had[p.NodePort] && !taken[p.NodePort]:
			if err := a.takePort(s, i, p.NodePort); err != nil {
				return err
			}
		}
		taken[p.NodePort] = true
		if u := (use{p.Protocol, p.NodePort}); seen[u] {
			return fmt.Errorf("duplicate nodePort: %v", struct {
				Protocol corev1.Protocol
				NodePort int32
			}{p.Protocol, p.NodePort})
		} else {
			seen[u] = true
		}
	}
	return nil
}

func (a *serviceAllocator) healthPort(s *corev1.Service) error {
	asked := s.Spec.HealthCheckNodePort
	if asked == 0 {
		free, err := a.freePort()
		if err != nil {
			return errors.NewInternalError(fmt.Errorf("failed to allocate a HealthCheck NodePort %v: %v", asked, err))
		}
		s.Spec.HealthCheckNodePort = free
		return nil
	}
	reason, err := a.portRefused(asked)
	if err != nil {
		return err
	}
	if reason != "" {
		return errors.NewInternalError(fmt.Errorf("failed to allocate requested HealthCheck NodePort %v: %v", asked, reason))
	}
	return nil
}
