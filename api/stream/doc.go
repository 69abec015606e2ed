// Package stream serves what is not one request and one answer: log, exec,
// attach, port-forward and the proxies to pods, services and nodes.
//
// Shape: a Handler finds the pod, checks the options as the real API server
// does, and hands the bytes to Nodes, which stands where a real cluster has the
// kubelet's HTTPS port. The framing (SPDY/3.1, WebSocket v4 and v5, SPDY inside
// WebSocket for port-forward) is k8s.io/cri-streaming's and k8s.io/apiserver's.
//
// Hardest part: WebSocket v5 (kubectl 1.30 and newer), where closing stdin is a
// frame of its own. The real API server translates it to SPDY on its way to the
// kubelet; so do we, over a connection that never leaves the process (pipe.go).
//
// What can be lost: a stream in flight when the server stops.
package stream
