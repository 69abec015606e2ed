package proxy

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"

	"github.com/miekg/dns"
)

// ttl of an answer in seconds: CoreDNS's default for the cluster's zone.
const ttl = 30

// nameserver answers the zone of the cluster from the table and asks the
// container's own resolver for the rest. Names follow the specification
// "Kubernetes DNS-Based Service Discovery", version 1.1.0.
type nameserver struct {
	domain   string // cluster.local. with the dot
	upstream []string
	log      *slog.Logger
	table    atomic.Pointer[zone]
	servers  []*dns.Server
}

// zone is the table as names.
type zone struct {
	a   map[string][]string // name -> addresses
	srv map[string][]dns.SRV
	ptr map[string]string
	cn  map[string]string
	has map[string]bool // every name, and every ancestor of one: these exist
}

func newDNS(o Options) (*nameserver, error) {
	s := &nameserver{domain: dns.Fqdn(o.Domain), log: o.Log}
	s.table.Store(&zone{})
	if config, err := dns.ClientConfigFromFile(o.Upstream); err == nil {
		for _, server := range config.Servers {
			s.upstream = append(s.upstream, net.JoinHostPort(server, config.Port))
		}
	}
	address := net.JoinHostPort(o.DNS, "53")
	for _, network := range []string{"udp", "tcp"} {
		server := &dns.Server{Addr: address, Net: network, Handler: s}
		started := make(chan error, 1)
		server.NotifyStartedFunc = func() { started <- nil }
		go func() { started <- server.ListenAndServe() }()
		if err := <-started; err != nil {
			return nil, fmt.Errorf("serve DNS on %s: %w", address, err)
		}
		s.servers = append(s.servers, server)
	}
	return s, nil
}

func (s *nameserver) close() {
	for _, server := range s.servers {
		server.Shutdown()
	}
}

func (s *nameserver) set(t Table) {
	z := &zone{a: map[string][]string{}, srv: map[string][]dns.SRV{}, ptr: map[string]string{}, cn: map[string]string{}, has: map[string]bool{}}
	for _, svc := range t.Services {
		z.add(svc, svc.Name+"."+svc.Namespace+".svc."+s.domain)
	}
	s.table.Store(z)
}

// add puts one Service under its name.
func (z *zone) add(svc Service, name string) {
	z.exists(name)
	if svc.ExternalName != "" {
		z.cn[name] = dns.Fqdn(svc.ExternalName)
		return
	}
	targets := map[string]string{} // name -> address that SRV records point at
	if svc.ClusterIP != "" {
		z.a[name] = []string{svc.ClusterIP}
		z.reverse(svc.ClusterIP, name)
		targets[name] = svc.ClusterIP
	} else {
		for _, h := range svc.Hosts {
			z.a[name] = append(z.a[name], h.IP)
			host := h.Hostname
			if host == "" {
				host = strings.ReplaceAll(h.IP, ".", "-")
			}
			full := host + "." + name
			z.exists(full)
			z.a[full] = append(z.a[full], h.IP)
			z.reverse(h.IP, full)
			targets[full] = h.IP
		}
	}
	for _, p := range svc.Ports {
		if p.Name == "" {
			continue
		}
		record := "_" + p.Name + "._" + strings.ToLower(p.Protocol) + "." + name
		z.exists(record)
		for target := range targets {
			port := p.Port
			if svc.ClusterIP == "" && len(p.Endpoints) > 0 {
				port = portOf(p.Endpoints[0])
			}
			z.srv[record] = append(z.srv[record], dns.SRV{Priority: 0, Weight: 100, Port: uint16(port), Target: target})
		}
	}
}

func (z *zone) exists(name string) {
	for name != "" && name != "." {
		z.has[name] = true
		_, name, _ = strings.Cut(name, ".")
	}
}

func (z *zone) reverse(ip, name string) {
	if arpa, err := dns.ReverseAddr(ip); err == nil {
		z.ptr[arpa] = name
	}
}

func portOf(hostPort string) int32 {
	var n int32
	_, port, _ := net.SplitHostPort(hostPort)
	fmt.Sscan(port, &n)
	return n
}

// ServeDNS answers one question.
func (s *nameserver) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		reply(w, q, dns.RcodeFormatError)
		return
	}
	question := q.Question[0]
	name := strings.ToLower(question.Name)
	z := s.table.Load()
	if ptr, known := z.ptr[name]; known && question.Qtype == dns.TypePTR {
		reply(w, q, dns.RcodeSuccess, &dns.PTR{Hdr: header(question.Name, dns.TypePTR), Ptr: ptr})
		return
	}
	if !dns.IsSubDomain(s.domain, name) {
		s.forward(w, q)
		return
	}
	s.answer(w, q, z, question, name)
}

func (s *nameserver) answer(w dns.ResponseWriter, q *dns.Msg, z *zone, question dns.Question, name string) {
	var records []dns.RR
	if target, is := z.cn[name]; is {
		records = append(records, &dns.CNAME{Hdr: header(question.Name, dns.TypeCNAME), Target: target})
		reply(w, q, dns.RcodeSuccess, records...)
		return
	}
	switch question.Qtype {
	case dns.TypeA, dns.TypeANY:
		addresses := z.a[name]
		if ip := podAddress(name, s.domain); ip != "" {
			addresses = []string{ip}
			z = &zone{has: map[string]bool{name: true}}
		}
		for _, ip := range addresses {
			records = append(records, &dns.A{Hdr: header(question.Name, dns.TypeA), A: net.ParseIP(ip)})
		}
	case dns.TypeSRV:
		for _, r := range z.srv[name] {
			r.Hdr = header(question.Name, dns.TypeSRV)
			records = append(records, &r)
		}
	}
	if len(records) == 0 && !z.has[name] && name != s.domain {
		reply(w, q, dns.RcodeNameError)
		return
	}
	reply(w, q, dns.RcodeSuccess, records...)
}

// podAddress reads 10-112-0-5.default.pod.cluster.local.
func podAddress(name, domain string) string {
	rest, is := strings.CutSuffix(name, ".pod."+domain)
	if !is {
		return ""
	}
	dashed, _, _ := strings.Cut(rest, ".")
	ip := net.ParseIP(strings.ReplaceAll(dashed, "-", "."))
	if ip == nil {
		return ""
	}
	return ip.String()
}

// forward asks the resolvers of the container (the engine's own).
func (s *nameserver) forward(w dns.ResponseWriter, q *dns.Msg) {
	network := "udp"
	if _, tcp := w.RemoteAddr().(*net.TCPAddr); tcp {
		network = "tcp"
	}
	for _, server := range s.upstream {
		answer, _, err := (&dns.Client{Net: network}).Exchange(q, server)
		if err == nil {
			w.WriteMsg(answer)
			return
		}
	}
	reply(w, q, dns.RcodeServerFailure)
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: ttl}
}

func reply(w dns.ResponseWriter, q *dns.Msg, code int, records ...dns.RR) {
	m := new(dns.Msg).SetRcode(q, code)
	m.Authoritative = true
	m.RecursionAvailable = true
	m.Answer = records
	w.WriteMsg(m)
}
