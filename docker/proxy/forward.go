package proxy

import (
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// forwarder has one listener for each ClusterIP and port.
type forwarder struct {
	log *slog.Logger
	mu  sync.Mutex
	at  map[string]*listener // by protocol and address
}

// listener is one port of one Service.
type listener struct {
	stop    io.Closer
	backend atomic.Pointer[backend]
	next    atomic.Uint64
}

// backend is where its connections go, replaced whole.
type backend struct {
	endpoints []string
	affinity  bool
}

func newForwarder(log *slog.Logger) *forwarder {
	return &forwarder{log: log, at: map[string]*listener{}}
}

// set opens what is new, updates what stays, closes what is gone.
func (f *forwarder) set(t Table) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := map[string]bool{}
	for _, s := range t.Services {
		if s.ClusterIP == "" {
			continue
		}
		for _, p := range s.Ports {
			address := net.JoinHostPort(s.ClusterIP, strconv.Itoa(int(p.Port)))
			key := p.Protocol + " " + address
			wanted[key] = true
			l := f.at[key]
			if l == nil {
				l = f.open(p.Protocol, address)
				if l == nil {
					continue
				}
				f.at[key] = l
			}
			l.backend.Store(&backend{endpoints: p.Endpoints, affinity: s.Affinity})
		}
	}
	for key, l := range f.at {
		if !wanted[key] {
			l.stop.Close()
			delete(f.at, key)
		}
	}
}

func (f *forwarder) open(protocol, address string) *listener {
	l := &listener{}
	l.backend.Store(&backend{})
	switch protocol {
	case "TCP":
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			f.log.Error("listen", "protocol", protocol, "address", address, "error", err)
			return nil
		}
		l.stop = tcp
		go l.acceptTCP(tcp)
	case "UDP":
		udp, err := net.ListenPacket("udp", address)
		if err != nil {
			f.log.Error("listen", "protocol", protocol, "address", address, "error", err)
			return nil
		}
		l.stop = udp
		go l.copyUDP(udp)
	default:
		f.log.Warn("a port is not forwarded: only TCP and UDP are", "protocol", protocol, "address", address)
		return nil
	}
	return l
}

func (f *forwarder) close() { f.set(Table{}) }

// choose gives the endpoints in the order to try: round robin, or one by the
// client's address where the Service wants affinity.
func (l *listener) choose(client net.Addr) []string {
	b := l.backend.Load()
	n := uint64(len(b.endpoints))
	if n == 0 {
		return nil
	}
	start := l.next.Add(1)
	if b.affinity {
		host, _, _ := net.SplitHostPort(client.String())
		h := fnv.New64a()
		h.Write([]byte(host))
		start = h.Sum64()
	}
	out := make([]string, 0, n)
	for i := uint64(0); i < n; i++ {
		out = append(out, b.endpoints[(start+i)%n])
	}
	return out
}

const connectTimeout = 3 * time.Second

func (l *listener) acceptTCP(tcp net.Listener) {
	for {
		client, err := tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		go l.forwardTCP(client.(*net.TCPConn))
	}
}

// forwardTCP tries the endpoints; with none the client sees a reset, as with a
// real ClusterIP that rejects.
func (l *listener) forwardTCP(client *net.TCPConn) {
	defer client.Close()
	for _, endpoint := range l.choose(client.RemoteAddr()) {
		server, err := net.DialTimeout("tcp", endpoint, connectTimeout)
		if err != nil {
			continue
		}
		defer server.Close()
		var both sync.WaitGroup
		pass := func(to, from *net.TCPConn) {
			io.Copy(to, from)
			to.CloseWrite()
		}
		both.Go(func() { pass(server.(*net.TCPConn), client) })
		both.Go(func() { pass(client, server.(*net.TCPConn)) })
		both.Wait()
		return
	}
	client.SetLinger(0)
}

// udpIdle is how long an answer may take before the client's flow is forgotten.
const udpIdle = time.Minute

// copyUDP keeps one socket a client, so that answers find their way back.
func (l *listener) copyUDP(udp net.PacketConn) {
	flows := map[string]net.Conn{}
	var mu sync.Mutex
	packet := make([]byte, 64<<10)
	for {
		n, client, err := udp.ReadFrom(packet)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		mu.Lock()
		server := flows[client.String()]
		mu.Unlock()
		if server == nil {
			endpoints := l.choose(client)
			if len(endpoints) == 0 {
				continue
			}
			if server, err = net.Dial("udp", endpoints[0]); err != nil {
				continue
			}
			mu.Lock()
			flows[client.String()] = server
			mu.Unlock()
			go func() {
				answer := make([]byte, 64<<10)
				for {
					server.SetReadDeadline(time.Now().Add(udpIdle))
					n, err := server.Read(answer)
					if err != nil {
						break
					}
					udp.WriteTo(answer[:n], client)
				}
				server.Close()
				mu.Lock()
				delete(flows, client.String())
				mu.Unlock()
			}()
		}
		server.Write(packet[:n])
	}
}
