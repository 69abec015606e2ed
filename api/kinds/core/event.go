package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	eventgroup "kuberow/api/kinds/events"
)

// Events are stored once, in this form; events.k8s.io serves the same rows
// under other field names. Which rules hold depends on the version that the
// client speaks: the new API is strict, the core one takes nearly everything.

func events() *kinds.Resource {
	return single(kinds.Resource{
		Name: "events", Singular: "event", Propagation: kinds.NoGarbageCollection,
		TTL:        func(c *kinds.Cluster) time.Duration { return c.EventTTL },
		ShortNames: []string{"ev"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/events", StorageVersionHash: "r2yiGXH7wu8=",
		Strategy: eventStrategy(),
	}, eventHub())
}

// eventHub is the stored version of Event, for both groups that serve it.
func eventHub() *kinds.Version { return common.Version[corev1.Event, corev1.EventList](gvk("Event")) }

// eventStrategy asks for what both groups ask for; the rest of the rules is events.k8s.io's.
func eventStrategy() *kinds.Strategy {
	const controller = "reportingComponent" // what this group calls reportingController
	return common.Typed[corev1.Event, *corev1.Event]{
		Validate:            func(_ *kinds.Context, e *corev1.Event) field.ErrorList { return eventgroup.Legacy(e, controller) },
		ValidateUpdate:      func(_ *kinds.Context, e, _ *corev1.Event) field.ErrorList { return eventgroup.Legacy(e, controller) },
		Fields:              eventgroup.Fields, // both groups select in one index
		FieldNames:          eventFieldNames(),
		AllowCreateOnUpdate: true,
		FreeMeta:            true,
	}.Strategy()
}

func eventFieldNames() []string {
	return []string{
		"involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
		"involvedObject.namespace", "involvedObject.resourceVersion", "involvedObject.uid",
		"reason", "reportingComponent", "source", "type",
	}
}
