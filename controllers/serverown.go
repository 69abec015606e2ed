package controllers

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// kube-apiserver runs a few control loops inside itself, whatever
// kube-controller-manager does. They are controllers like the others here, but
// --controllers does not name them, and they write as the server itself.

// serverManager is the field manager of the server's own writes.
const serverManager = "kube-apiserver"

// ServerOwn gives the API server's own controllers. keep are the objects that must exist, as
// they are wanted now: the namespaces of the system, the Service kubernetes and what belongs to it, the server's lease.
func ServerOwn(keep func() []Kept) []Controller {
	return []Controller{
		DefinitionNames(),
		DefinitionFinalizer(),
		APIServiceRegistration(),
		APIServiceAvailability(),
		FlowSchemaStatus(),
		Keeper(keep),
	}
}

// Kept is an object that the server makes when it is missing.
type Kept struct {
	Resource Resource
	Object   runtime.Object
	// Follow copies into have what the server decides of it, and says whether anything changed; nil: only its existence matters.
	Follow func(have runtime.Object) bool
}
