// Event of events.k8s.io: the resource, its conversion and its selectable
// fields. A write in this group is judged more strictly than one in the core
// group.
package events

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

func eventResource() *kinds.Resource {
	gvk := eventsv1.SchemeGroupVersion.WithKind("Event")
	hub := common.Version[corev1.Event, corev1.EventList](corev1.SchemeGroupVersion.WithKind("Event"))
	v1 := common.Convert[eventsv1.Event, corev1.Event](common.Version[eventsv1.Event, eventsv1.EventList](gvk), toCore, fromCore)
	return &kinds.Resource{
		Group: gvk.Group, Name: "events", Singular: "event", Kind: gvk.Kind, ShortNames: []string{"ev"}, Namespaced: true,
		Verbs: common.Verbs(), Versions: []*kinds.Version{v1}, Hub: hub, Prefix: "/registry/events",
		Propagation: kinds.NoGarbageCollection,
		TTL:         func(c *kinds.Cluster) time.Duration { return c.EventTTL },
		Strategy: common.Typed[corev1.Event, *corev1.Event]{
			Validate:       validateCreate,
			FreeUpdate:     true,
			ValidateUpdate: validateUpdate,
			Fields:         Fields,
			FieldNames: []string{"reason", "regarding.apiVersion", "regarding.fieldPath", "regarding.kind", "regarding.name",
				"regarding.namespace", "regarding.resourceVersion", "regarding.uid", "reportingController", "type"},
			AllowCreateOnUpdate: true,
		}.Strategy(),
	}
}

// Fields gives the selectable fields under the names of both groups, sorted.
func Fields(e *corev1.Event) []sqlstore.Pair {
	source, o := e.Source.Component, e.InvolvedObject
	if source == "" {
		source = e.ReportingController
	}
	return common.Pairs(
		"involvedObject.apiVersion", o.APIVersion, "involvedObject.fieldPath", o.FieldPath, "involvedObject.kind", o.Kind,
		"involvedObject.name", o.Name, "involvedObject.namespace", o.Namespace,
		"involvedObject.resourceVersion", o.ResourceVersion, "involvedObject.uid", string(o.UID),
		"reason", e.Reason,
		"regarding.apiVersion", o.APIVersion, "regarding.fieldPath", o.FieldPath, "regarding.kind", o.Kind,
		"regarding.name", o.Name, "regarding.namespace", o.Namespace,
		"regarding.resourceVersion", o.ResourceVersion, "regarding.uid", string(o.UID),
		"reportingComponent", e.ReportingController, "reportingController", e.ReportingController,
		"source", source, "type", e.Type)
}

func toCore(in *eventsv1.Event) (*corev1.Event, error) {
	out := &corev1.Event{
		TypeMeta:            in.TypeMeta,
		ObjectMeta:          in.ObjectMeta,
		EventTime:           in.EventTime,
		ReportingController: in.ReportingController,
		ReportingInstance:   in.ReportingInstance,
		Action:              in.Action,
		Reason:              in.Reason,
		InvolvedObject:      in.Regarding,
		Related:             in.Related,
		Message:             in.Note,
		Type:                in.Type,
		Source:              in.DeprecatedSource,
		FirstTimestamp:      in.DeprecatedFirstTimestamp,
		LastTimestamp:       in.DeprecatedLastTimestamp,
		Count:               in.DeprecatedCount,
	}
	out.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	if in.Series != nil {
		out.Series = &corev1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return out, nil
}

func fromCore(in *corev1.Event) (*eventsv1.Event, error) {
	out := &eventsv1.Event{
		TypeMeta:                 in.TypeMeta,
		ObjectMeta:               in.ObjectMeta,
		EventTime:                in.EventTime,
		ReportingController:      in.ReportingController,
		ReportingInstance:        in.ReportingInstance,
		Action:                   in.Action,
		Reason:                   in.Reason,
		Regarding:                in.InvolvedObject,
		Related:                  in.Related,
		Note:                     in.Message,
		Type:                     in.Type,
		DeprecatedSource:         in.Source,
		DeprecatedFirstTimestamp: in.FirstTimestamp,
		DeprecatedLastTimestamp:  in.LastTimestamp,
		DeprecatedCount:          in.Count,
	}
	out.SetGroupVersionKind(eventsv1.SchemeGroupVersion.WithKind("Event"))
	if in.Series != nil {
		out.Series = &eventsv1.EventSeries{Count: in.Series.Count, LastObservedTime: in.Series.LastObservedTime}
	}
	return out, nil
}
