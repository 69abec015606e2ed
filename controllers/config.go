package controllers

import (
	"log/slog"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"

	"kuberow/api/wire"
)

// cacheBytes bounds the JSON behind the decoded objects of a runner that has a cache of its own.
const cacheBytes = 16 << 20

// fillConfig replaces what was left out by its default.
func fillConfig(cfg *Config) {
	if cfg.Objects == nil {
		cfg.Objects = wire.NewCache(cacheBytes)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Random == nil {
		cfg.Random = rand.String
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 256
	}
}

// userOf is who a controller's writes are made by: the service account that
// its bootstrap role is bound to, or whoever Controller.User names.
func userOf(c *Controller) user.Info {
	if c.User != "" {
		if node, ok := strings.CutPrefix(c.User, nodeUserPrefix); ok {
			return NodeUser(node)
		}
		if c.User == serverUser {
			return &user.DefaultInfo{Name: c.User, Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}}
		}
		return &user.DefaultInfo{Name: c.User, Groups: []string{user.AllAuthenticated}}
	}
	if c.Account != "" {
		return ServiceAccount(c.Account)
	}
	return ServiceAccount(c.Name)
}

// serverUser is the API server itself, as its loopback client calls it.
const serverUser = "system:apiserver"

// nodeUserPrefix starts the names of kubelets.
const nodeUserPrefix = "system:node:"

// NodeUser is the kubelet of a node, as its client certificate says it.
func NodeUser(node string) user.Info {
	return &user.DefaultInfo{Name: nodeUserPrefix + node, Groups: []string{user.NodesGroup, user.AllAuthenticated}}
}

// ServiceAccount is a service account of kube-system, as its token says it.
func ServiceAccount(name string) user.Info {
	return &user.DefaultInfo{
		Name:   "system:serviceaccount:kube-system:" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", user.AllAuthenticated},
	}
}
