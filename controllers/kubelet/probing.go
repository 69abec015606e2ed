package kubelet

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// How a probe is made: a command in the container, or a connection into the
// pod's network. Connections to the pod itself go through Runtime.Dial, since the pod
// network need not be reachable from here; a probe with a host of its own is dialled directly.

// maxProbeOutput is how much of a probe's answer is read.
const maxProbeOutput = 10 << 10

// runProbe makes one probe, again when it could not be made (three times, as upstream).
func (k *Kubelet) runProbe(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, id string, p *corev1.Probe) probeResult {
	var r probeResult
	for range 3 {
		if r = k.probeOnce(ctx, w, pod, c, id, p); r.err == nil || ctx.Err() != nil {
			return r
		}
	}
	return r
}

func (k *Kubelet) probeOnce(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, id string, p *corev1.Probe) probeResult {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch {
	case p.Exec != nil:
		return k.probeExec(ctx, c, id, p.Exec, timeout)
	case p.HTTPGet != nil:
		return k.probeHTTP(ctx, w, pod, c, p.HTTPGet, timeout)
	case p.TCPSocket != nil:
		port, err := containerPort(p.TCPSocket.Port, c.Container)
		if err != nil {
			return probeResult{err: err}
		}
		conn, err := k.dialPod(ctx, w, pod, p.TCPSocket.Host, port)
		if err != nil {
			return probeResult{output: err.Error()}
		}
		_ = conn.Close() // it opened, which is all that was asked
		return probeResult{ok: true}
	case p.GRPC != nil:
		return k.probeGRPC(ctx, w, pod, p.GRPC, timeout)
	}
	return probeResult{err: fmt.Errorf("missing probe handler for %s:%s", describe(pod), c.Name)}
}

func (k *Kubelet) probeExec(ctx context.Context, c specContainer, id string, a *corev1.ExecAction, timeout time.Duration) probeResult {
	var out limitedBuffer
	command := make([]string, len(a.Command))
	static := map[string]string{}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			static[e.Name] = e.Value
		}
	}
	for i, s := range a.Command {
		command[i] = expand(s, lookupIn(static))
	}
	err := k.Runtime.Exec(ctx, id, command, Streams{Stdout: &out, Stderr: &out})
	var exit *ExitError
	switch {
	case err == nil:
		return probeResult{ok: true, output: out.String()}
	case errors.As(err, &exit):
		return probeResult{output: out.String()}
	case ctx.Err() == context.DeadlineExceeded:
		return probeResult{output: fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(command, " "), timeout)}
	}
	return probeResult{err: err}
}

// limitedBuffer keeps the first maxProbeOutput bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if left := maxProbeOutput - b.Len(); left > 0 {
		b.Buffer.Write(p[:min(left, len(p))])
	}
	return len(p), nil
}

func (k *Kubelet) probeHTTP(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, a *corev1.HTTPGetAction, timeout time.Duration) probeResult {
	req, client, err := k.httpGet(ctx, w, pod, c, a, "probe")
	if err != nil {
		return probeResult{err: err}
	}
	client.Timeout = timeout
	res, err := client.Do(req)
	if err != nil {
		return probeResult{output: err.Error()}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxProbeOutput))
	switch {
	case err != nil:
		return probeResult{output: err.Error()}
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return probeResult{ok: true, warning: true, output: "Probe terminated redirects, Response body: " + string(body)}
	case res.StatusCode >= 200 && res.StatusCode < 300:
		return probeResult{ok: true, output: string(body)}
	}
	return probeResult{output: fmt.Sprintf("HTTP probe failed with statuscode: %d", res.StatusCode)}
}

// httpGet makes the request of a probe or hook, and the client that reaches the pod.
func (k *Kubelet) httpGet(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer, a *corev1.HTTPGetAction, purpose string) (*http.Request, *http.Client, error) {
	port, err := containerPort(a.Port, c.Container)
	if err != nil {
		return nil, nil, err
	}
	host := a.Host
	if host == "" {
		host = k.podAddress(w, pod)
	}
	u, err := url.Parse(a.Path)
	if err != nil {
		u = &url.URL{Path: a.Path}
	}
	u.Scheme = strings.ToLower(string(a.Scheme))
	if u.Scheme == "" {
		u.Scheme = "http"
	}
	u.Host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range a.HTTPHeaders {
		req.Header.Add(h.Name, h.Value)
	}
	if _, ok := req.Header["User-Agent"]; !ok {
		req.Header.Set("User-Agent", "kube-"+purpose+"/1.37")
	}
	if v, ok := req.Header["Accept"]; !ok {
		req.Header.Set("Accept", "*/*")
	} else if v[0] == "" {
		req.Header.Del("Accept")
	}
	req.Host = req.Header.Get("Host")
	client := &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:    &tls.Config{InsecureSkipVerify: true}, // as upstream: a probe asks whether it answers, not who it is
			DisableKeepAlives:  true,
			DisableCompression: true,
			DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				if addr != u.Host { // a redirect
					return (&net.Dialer{}).DialContext(ctx, network, addr)
				}
				return k.dialPod(ctx, w, pod, a.Host, port)
			},
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Hostname() != via[0].URL.Hostname() {
				return http.ErrUseLastResponse
			}
			if len(via) >= 10 {
				return errors.New("stopped after 10 redirects")
			}
			return nil
		},
	}
	return req, client, nil
}

// podAddress is the pod's first IP, for the URL that the pod sees.
func (k *Kubelet) podAddress(w *worker, pod *corev1.Pod) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ips := podIPs(w.sandbox, nil); len(ips) > 0 {
		return ips[0]
	}
	if ips := k.hostIPs(pod); pod.Spec.HostNetwork && len(ips) > 0 {
		return ips[0]
	}
	return pod.Status.PodIP
}

// dialPod connects to a port of the pod, or of another host when one is named.
func (k *Kubelet) dialPod(ctx context.Context, w *worker, pod *corev1.Pod, host string, port int32) (net.Conn, error) {
	if host != "" {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	rw, err := k.Runtime.Dial(ctx, w.uid, "tcp", port)
	if err != nil {
		return nil, fmt.Errorf("dial tcp %s: %w", net.JoinHostPort(k.podAddress(w, pod), strconv.Itoa(int(port))), err)
	}
	return asConn(rw), nil
}

// containerPort resolves a port by number or by name.
func containerPort(p intstr.IntOrString, c *corev1.Container) (int32, error) {
	port := p.IntVal
	if p.Type == intstr.String {
		port = 0
		for _, cp := range c.Ports {
			if cp.Name == p.StrVal {
				port = cp.ContainerPort
			}
		}
		if port == 0 {
			n, err := strconv.Atoi(p.StrVal)
			if err != nil {
				return 0, err
			}
			port = int32(n)
		}
	}
	if port < 1 || port > 65535 {
		return 0, fmt.Errorf("invalid port number: %v", port)
	}
	return port, nil
}
