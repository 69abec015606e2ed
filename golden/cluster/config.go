package cluster

import (
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"kuberow/api/auth"
)

// Config is what the flags of serve set. The zero value is not usable: begin
// with DefaultConfig. Where a kube binary has a flag for a thing, the name and
// the meaning are its.
type Config struct {
	DataDir          string
	BindAddress      string
	SecurePort       int // 0: any free port
	InsecurePort     int // plain HTTP as cluster admin on loopback; -1: off, 0: any free port
	AdvertiseAddress string

	TokenAuthFile           string
	OIDC                    auth.OIDCOptions
	AuthorizationMode       []string
	AnonymousAuth           bool
	EnableAdmissionPlugins  []string
	DisableAdmissionPlugins []string
	ServiceClusterIPRange   string
	ServiceNodePortRange    string
	ClusterCIDR             string // of the pods
	ClusterSubnet           string // of the Docker network; holds both ranges
	ClusterGateway          string // of the Docker network
	ClusterDomain           string
	EventTTL                time.Duration
	RequestTimeout          time.Duration
	MaxInflight             int
	MaxMutatingInflight     int
	AuditLogPath            string // "-" is standard output
	AuditPolicyFile         string
	Controllers             []string
	Nodes                   int
	NodePods                int
	ContainerRuntime        string // auto, docker, simulated
	RetainRevisions         int64
	Deterministic           string // a seed; "" for a real run

	Logger *slog.Logger
}

// DefaultConfig is a cluster as the README starts it.
func DefaultConfig() Config {
	return Config{
		DataDir: ".kuberow", BindAddress: "127.0.0.1", SecurePort: 6443, InsecurePort: -1,
		OIDC:              auth.OIDCOptions{UsernameClaim: "sub", SigningAlgs: []string{"RS256"}},
		AuthorizationMode: []string{"Node", "RBAC"}, AnonymousAuth: true,
		ServiceClusterIPRange: "10.96.0.0/16", ServiceNodePortRange: "30000-32767",
		ClusterCIDR: "10.112.0.0/16", ClusterSubnet: "10.96.0.0/11", ClusterGateway: "10.112.0.1", ClusterDomain: "cluster.local",
		EventTTL: time.Hour, RequestTimeout: time.Minute, MaxInflight: 400, MaxMutatingInflight: 200, Controllers: []string{"*"}, Nodes: 3, NodePods: 110, ContainerRuntime: "auto", RetainRevisions: 100_000,
	}
}

// AddFlags lets a command line change c.
func (c *Config) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&c.DataDir, "data-dir", c.DataDir, "directory of cluster.db, kubeconfig and pki/ (made with mode 0700; Secrets lie readable in it, as in etcd)")
	f.StringVar(&c.BindAddress, "bind-address", c.BindAddress, "address that the API server listens on")
	f.IntVar(&c.SecurePort, "secure-port", c.SecurePort, "HTTPS port of the API server; 0 takes any free port")
	f.IntVar(&c.InsecurePort, "insecure-port", c.InsecurePort, "plain HTTP port on loopback that answers everyone as cluster admin, to watch the wire; 0 takes any free port, -1 turns it off")
	f.StringVar(&c.AdvertiseAddress, "advertise-address", c.AdvertiseAddress, "address at which pods reach the API server (default: the gateway of the Docker network)")
	f.StringVar(&c.TokenAuthFile, "token-auth-file", c.TokenAuthFile, "file of static tokens: lines of token,user,uid,\"group,group\"")
	f.StringVar(&c.OIDC.IssuerURL, "oidc-issuer-url", "", "https URL of an OpenID Connect issuer whose tokens log users in")
	f.StringVar(&c.OIDC.ClientID, "oidc-client-id", "", "audience that the issuer's tokens must have")
	f.StringVar(&c.OIDC.UsernameClaim, "oidc-username-claim", c.OIDC.UsernameClaim, "claim that holds the user's name")
	f.StringVar(&c.OIDC.UsernamePrefix, "oidc-username-prefix", "", "stands before the name; - is nothing (default: the issuer's URL and #, nothing for the claim email)")
	f.StringVar(&c.OIDC.GroupsClaim, "oidc-groups-claim", "", "claim that holds the user's groups")
	f.StringVar(&c.OIDC.GroupsPrefix, "oidc-groups-prefix", "", "stands before each group")
	f.StringToStringVar(&c.OIDC.RequiredClaims, "oidc-required-claim", nil, "claim=value that a token must have")
	f.StringVar(&c.OIDC.CAFile, "oidc-ca-file", "", "certificates that the issuer's must chain to (default: the host's)")
	f.StringSliceVar(&c.OIDC.SigningAlgs, "oidc-signing-algs", c.OIDC.SigningAlgs, "signature algorithms that are accepted")
	f.StringSliceVar(&c.AuthorizationMode, "authorization-mode", c.AuthorizationMode, "authorizers in order: Node, RBAC, AlwaysAllow, AlwaysDeny")
	f.BoolVar(&c.AnonymousAuth, "anonymous-auth", c.AnonymousAuth, "let requests without credentials in as system:anonymous")
	f.StringSliceVar(&c.EnableAdmissionPlugins, "enable-admission-plugins", nil, "admission plugins to run beside the default ones")
	f.StringSliceVar(&c.DisableAdmissionPlugins, "disable-admission-plugins", nil, "admission plugins not to run")
	f.StringVar(&c.ServiceClusterIPRange, "service-cluster-ip-range", c.ServiceClusterIPRange, "range of ClusterIPs")
	f.StringVar(&c.ServiceNodePortRange, "service-node-port-range", c.ServiceNodePortRange, "range of node ports")
	f.StringVar(&c.ClusterCIDR, "cluster-cidr", c.ClusterCIDR, "range of pod addresses")
	f.StringVar(&c.ClusterSubnet, "cluster-subnet", c.ClusterSubnet, "subnet of the Docker network; holds pods and services")
	f.StringVar(&c.ClusterGateway, "cluster-gateway", c.ClusterGateway, "gateway address of the Docker network, inside --cluster-cidr")
	f.StringVar(&c.ClusterDomain, "cluster-domain", c.ClusterDomain, "DNS domain of the cluster")
	f.DurationVar(&c.EventTTL, "event-ttl", c.EventTTL, "how long events are kept")
	f.DurationVar(&c.RequestTimeout, "request-timeout", c.RequestTimeout, "how long a request may take that is not long-running")
	f.IntVar(&c.MaxInflight, "max-requests-inflight", c.MaxInflight, "reading requests at a time; more are answered with 429; 0: no limit")
	f.IntVar(&c.MaxMutatingInflight, "max-mutating-requests-inflight", c.MaxMutatingInflight, "writing requests at a time; more are answered with 429; 0: no limit")
	f.StringVar(&c.AuditLogPath, "audit-log-path", c.AuditLogPath, "file that audit events are appended to; - is standard output")
	f.StringVar(&c.AuditPolicyFile, "audit-policy-file", c.AuditPolicyFile, "policy that says which events are audited; without it none are")
	f.StringSliceVar(&c.Controllers, "controllers", c.Controllers, "controllers to run: '*' all, 'name' this one, '-name' not this one, '-*' none")
	f.IntVar(&c.Nodes, "nodes", c.Nodes, "number of nodes of the fleet")
	f.IntVar(&c.NodePods, "max-pods", c.NodePods, "pods that each node takes")
	f.StringVar(&c.ContainerRuntime, "container-runtime", c.ContainerRuntime, "what runs pods: docker, simulated, or auto (docker when an engine answers)")
	f.Int64Var(&c.RetainRevisions, "retain-revisions", c.RetainRevisions, "revisions of history to keep (heartbeats not counted)")
}

// A FlagError is a flag, of those that AddFlags adds, with a value that cannot be: exit status 2.
type FlagError struct{ text string }

// Error names the flag and says what to give.
func (e *FlagError) Error() string { return e.text }

func wrongFlag(format string, args ...any) error {
	return &FlagError{text: fmt.Sprintf(format, args...)}
}

// validate says what is wrong with the flags, in the words of the flags.
func (c *Config) validate() error {
	switch c.ContainerRuntime {
	case "auto", "docker", "simulated":
	default:
		return wrongFlag("--container-runtime=%s: choose auto, docker or simulated", c.ContainerRuntime)
	}
	if c.Nodes < 0 {
		return wrongFlag("--nodes=%d: give the number of nodes, 0 or more", c.Nodes)
	}
	if c.NodePods < 0 {
		return wrongFlag("--max-pods=%d: give the number of pods of a node, 0 or more", c.NodePods)
	}
	if c.SecurePort < 0 || c.SecurePort > 65535 {
		return wrongFlag("--secure-port=%d: give a port, or 0 for any free one", c.SecurePort)
	}
	if c.InsecurePort < -1 || c.InsecurePort > 65535 {
		return wrongFlag("--insecure-port=%d: give a port, 0 for any free one, or -1 for none", c.InsecurePort)
	}
	if net.ParseIP(c.BindAddress) == nil {
		return wrongFlag("--bind-address=%s: give an IP address", c.BindAddress)
	}
	if _, _, err := c.nodePorts(); err != nil {
		return err
	}
	_, services, err := net.ParseCIDR(c.ServiceClusterIPRange)
	if err != nil {
		return wrongFlag("--service-cluster-ip-range=%s: give a range such as 10.96.0.0/16", c.ServiceClusterIPRange)
	}
	_, subnet, err := net.ParseCIDR(c.ClusterSubnet)
	if err != nil {
		return wrongFlag("--cluster-subnet=%s: give a range such as 10.96.0.0/11", c.ClusterSubnet)
	}
	_, pods, err := net.ParseCIDR(c.ClusterCIDR)
	if err != nil {
		return wrongFlag("--cluster-cidr=%s: give a range such as 10.112.0.0/16", c.ClusterCIDR)
	}
	for flag, inner := range map[string]*net.IPNet{"--service-cluster-ip-range": services, "--cluster-cidr": pods} {
		if !subnet.Contains(inner.IP) {
			return wrongFlag("%s=%s: it must lie inside --cluster-subnet=%s", flag, inner, subnet)
		}
	}
	if services.Contains(pods.IP) || pods.Contains(services.IP) {
		return wrongFlag("--cluster-cidr=%s and --service-cluster-ip-range=%s overlap: choose two apart", pods, services)
	}
	if gateway := net.ParseIP(c.ClusterGateway); gateway == nil || !pods.Contains(gateway) {
		return wrongFlag("--cluster-gateway=%s: give an address inside --cluster-cidr=%s", c.ClusterGateway, pods)
	}
	return nil
}

// nodePorts reads --service-node-port-range.
func (c *Config) nodePorts() (first, last int, err error) {
	a, b, _ := strings.Cut(c.ServiceNodePortRange, "-")
	first, err1 := strconv.Atoi(a)
	last, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || first < 1 || last < first || last > 65535 {
		return 0, 0, wrongFlag("--service-node-port-range=%s: give a range such as 30000-32767", c.ServiceNodePortRange)
	}
	return first, last, nil
}

// serviceIP is the n-th address of the service range: 1 is
// kubernetes.default.svc, 10 is cluster DNS.
func (c *Config) serviceIP(n byte) string {
	_, services, err := net.ParseCIDR(c.ServiceClusterIPRange)
	if err != nil {
		return ""
	}
	ip := append(net.IP(nil), services.IP.To4()...)
	ip[3] += n
	return ip.String()
}

func (c *Config) database() string   { return filepath.Join(c.DataDir, "cluster.db") }
func (c *Config) kubeconfig() string { return filepath.Join(c.DataDir, "kubeconfig") }
