// Package admission holds the plugins that a write passes between its
// defaults and its proposal. Mutating plugins may change the object, then
// validating ones may only refuse. The order is upstream's, and is data (the
// slice that the server is given), so that a plugin is one file here.
package admission

import (
	"k8s.io/apimachinery/pkg/runtime"
	"kuberow/api/kinds"
)

// Attributes is one write in front of admission.
type Attributes struct {
	*kinds.Context
	Operation string         // CREATE UPDATE DELETE CONNECT
	Object    runtime.Object // a hub object; nil for DELETE
	Old       runtime.Object // nil for CREATE
	// Options of the request (metav1.CreateOptions, UpdateOptions, PatchOptions, DeleteOptions), for CONNECT the subresource's options.
	Options runtime.Object
}

// Plugin is one admission plugin. A plugin that does not mutate leaves Mutate nil.
// An error that is not an API error is answered 403 Forbidden, as upstream does.
type Plugin struct {
	Name     string // as in --enable-admission-plugins
	Mutate   func(a *Attributes) error
	Validate func(a *Attributes) error
}
