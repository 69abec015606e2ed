package proxy

import (
	"net"
	"sort"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Table is all that the proxy knows: the Services and who stands behind them.
type Table struct {
	Services []Service `json:"services"`
}

// Service is one Service with its endpoints.
type Service struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	ClusterIP    string `json:"clusterIP,omitempty"` // "" for headless
	ExternalName string `json:"externalName,omitempty"`
	Affinity     bool   `json:"affinity,omitempty"` // sessionAffinity: ClientIP
	Ports        []Port `json:"ports,omitempty"`
	Hosts        []Host `json:"hosts,omitempty"` // endpoints as DNS gives them for a headless Service
}

// Port of a Service.
type Port struct {
	Name      string   `json:"name,omitempty"`
	Protocol  string   `json:"protocol"` // TCP, UDP
	Port      int32    `json:"port"`
	Endpoints []string `json:"endpoints,omitempty"` // host:port of each ready endpoint
}

// Host is one endpoint's address, with its hostname where it has one.
type Host struct {
	Hostname string `json:"hostname,omitempty"`
	IP       string `json:"ip"`
}

// Build makes the table, in an order that depends on nothing but its content.
func Build(services []*corev1.Service, slices []*discoveryv1.EndpointSlice) Table {
	behind := map[string][]*discoveryv1.EndpointSlice{}
	for _, s := range slices {
		key := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		behind[key] = append(behind[key], s)
	}
	var t Table
	for _, svc := range services {
		entry := Service{Namespace: svc.Namespace, Name: svc.Name, ExternalName: svc.Spec.ExternalName,
			Affinity: svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP}
		if svc.Spec.ClusterIP != corev1.ClusterIPNone {
			entry.ClusterIP = svc.Spec.ClusterIP
		}
		mine := behind[svc.Namespace+"/"+svc.Name]
		for _, p := range svc.Spec.Ports {
			entry.Ports = append(entry.Ports, Port{Name: p.Name, Protocol: string(p.Protocol), Port: p.Port, Endpoints: endpoints(mine, p)})
		}
		entry.Hosts = hosts(mine, svc.Spec.PublishNotReadyAddresses)
		t.Services = append(t.Services, entry)
	}
	sort.Slice(t.Services, func(i, j int) bool {
		a, b := t.Services[i], t.Services[j]
		return a.Namespace < b.Namespace || a.Namespace == b.Namespace && a.Name < b.Name
	})
	return t
}

// endpoints of one port of the service: the slices' port of that name, on every ready address.
func endpoints(slices []*discoveryv1.EndpointSlice, port corev1.ServicePort) []string {
	var out []string
	for _, s := range slices {
		for _, p := range s.Ports {
			if p.Port == nil || (p.Name == nil) != (port.Name == "") && *p.Name != port.Name || p.Name != nil && *p.Name != port.Name {
				continue
			}
			for _, e := range s.Endpoints {
				if ready(e) && len(e.Addresses) > 0 {
					out = append(out, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	sort.Strings(out)
	return out
}

func hosts(slices []*discoveryv1.EndpointSlice, all bool) []Host {
	var out []Host
	for _, s := range slices {
		for _, e := range s.Endpoints {
			if !all && !ready(e) || len(e.Addresses) == 0 {
				continue
			}
			h := Host{IP: e.Addresses[0]}
			if e.Hostname != nil {
				h.Hostname = *e.Hostname
			}
			out = append(out, h)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].IP < out[j].IP })
	return out
}

// ready: an unset condition means ready (EndpointConditions' own words).
func ready(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }
