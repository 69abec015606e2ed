package kubelet

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
)

// probeGRPC asks grpc.health.v1.Health of the pod.
func (k *Kubelet) probeGRPC(ctx context.Context, w *worker, pod *corev1.Pod, a *corev1.GRPCAction, timeout time.Duration) probeResult {
	creds := insecure.NewCredentials()
	if a.Mode != nil && *a.Mode == corev1.GRPCProbeModeTLS {
		creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}) // as upstream
	}
	addr := net.JoinHostPort(k.podAddress(w, pod), strconv.Itoa(int(a.Port)))
	conn, err := grpc.NewClient("passthrough:///"+addr,
		grpc.WithUserAgent("kube-probe/1.37"),
		grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return k.dialPod(ctx, w, pod, "", a.Port) }),
	)
	if err != nil {
		return probeResult{output: fmt.Sprintf("error: failed to connect service at %q: %+v", addr, err)}
	}
	defer conn.Close()
	req := &grpc_health_v1.HealthCheckRequest{}
	if a.Service != nil {
		req.Service = *a.Service
	}
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, req)
	switch {
	case status.Code(err) == codes.Unimplemented:
		return probeResult{output: "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + status.Convert(err).Message()}
	case status.Code(err) == codes.DeadlineExceeded:
		return probeResult{output: fmt.Sprintf("timeout: health rpc did not complete within %v", timeout)}
	case status.Code(err) == codes.Unavailable:
		return probeResult{output: fmt.Sprintf("timeout: failed to connect service %q within %v: %+v", addr, timeout, err)}
	case err != nil:
		return probeResult{output: fmt.Sprintf("error: health rpc probe failed: %+v", err)}
	case resp.Status != grpc_health_v1.HealthCheckResponse_SERVING:
		return probeResult{output: fmt.Sprintf("service unhealthy (responded with %q)", resp.Status.String())}
	}
	return probeResult{ok: true, output: "service healthy"}
}
