// Package builtin joins the kinds of all groups into the list that a server
// starts with.
//
// Why this shape: a group's folder knows only itself; the order of the groups
// is a fact of the whole, and discovery prints it.
//
// Hardest part: none.
//
// What can be lost: nothing; the list holds no state.
package builtin

import (
	"kuberow/api/kinds"
	"kuberow/api/kinds/admissionregistration"
	"kuberow/api/kinds/apiextensions"
	"kuberow/api/kinds/apiregistration"
	"kuberow/api/kinds/apps"
	"kuberow/api/kinds/authentication"
	"kuberow/api/kinds/authorization"
	"kuberow/api/kinds/autoscaling"
	"kuberow/api/kinds/batch"
	"kuberow/api/kinds/certificates"
	"kuberow/api/kinds/coordination"
	"kuberow/api/kinds/core"
	"kuberow/api/kinds/discovery"
	"kuberow/api/kinds/events"
	"kuberow/api/kinds/flowcontrol"
	"kuberow/api/kinds/networking"
	"kuberow/api/kinds/node"
	"kuberow/api/kinds/policy"
	"kuberow/api/kinds/rbac"
	"kuberow/api/kinds/resource"
	"kuberow/api/kinds/scheduling"
	"kuberow/api/kinds/storage"
	"kuberow/api/kinds/storagemigration"
)

// Resources lists every resource that is built in, its groups in the order in which discovery prints them.
func Resources() []*kinds.Resource {
	var all []*kinds.Resource
	for _, group := range []func() []*kinds.Resource{
		core.Resources,
		apiregistration.Resources,
		apps.Resources,
		events.Resources,
		authentication.Resources,
		authorization.Resources,
		autoscaling.Resources,
		batch.Resources,
		certificates.Resources,
		networking.Resources,
		policy.Resources,
		rbac.Resources,
		storage.Resources,
		admissionregistration.Resources,
		apiextensions.Resources,
		scheduling.Resources,
		coordination.Resources,
		node.Resources,
		discovery.Resources,
		resource.Resources,
		flowcontrol.Resources,
		storagemigration.Resources,
	} {
		all = append(all, group()...)
	}
	return all
}
