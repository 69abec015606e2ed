// Package proxy is what runs inside the proxy container: it answers for every
// ClusterIP and for cluster DNS.
//
// Shape. The container's kernel takes the whole service range as local
// ("ip route add local RANGE dev lo", route_linux.go), so it answers ARP for
// each ClusterIP on the pods' network, and a listener can bind to any of them
// (forward.go). Connections are copied to an endpoint in user space. DNS
// (dns.go) answers from the same Table. Tables come as lines of JSON on
// standard input, each one whole: there is nothing to merge and nothing to lose.
//
// Real Kubernetes has kube-proxy rewrite packets with iptables or nftables on
// every node, and CoreDNS in pods. Here a Service's client address is the
// proxy's, since the connection ends here.
//
// What can be lost: connections in flight, when the container is replaced.
package proxy
