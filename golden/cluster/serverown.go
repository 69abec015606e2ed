package cluster

import (
	"os"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kuberow/api/auth/bootstrap"
	"kuberow/controllers"
)

// The controllers that the API server runs inside itself: --controllers does not name them.

func (c *Cluster) serverOwn() ([]controllers.Controller, error) {
	typed, err := bootstrap.KeptObjects(bootstrap.Settings{Cluster: c.settings, HostName: hostName(), Now: c.clock.Now()})
	if err != nil {
		return nil, err
	}
	kept := make([]controllers.Kept, 0, len(typed))
	for _, t := range typed {
		obj := t.Object.(runtime.Object)
		if lease, ok := obj.(*coordinationv1.Lease); ok {
			holder := strings.ReplaceAll(*lease.Spec.HolderIdentity, bootstrap.UIDPlace, string(c.uid()))
			lease.Spec.HolderIdentity = &holder
		}
		kept = append(kept, controllers.Kept{
			Resource: t.GroupResource, Object: obj,
			Follow: func(have runtime.Object) bool { return bootstrap.Follow(have, t.Object) },
		})
	}
	return controllers.ServerOwn(func() []controllers.Kept { return kept }), nil
}

// hostName is what the server's lease says.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "kuberow"
	}
	return name
}
