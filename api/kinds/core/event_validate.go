package core

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// The rules of an Event. Both APIs ask for what any event needs; events.k8s.io asks
// for more, and keeps almost everything from changing. Field names are
// the core API's but for reportingController, which it calls reportingComponent.

const (
	maxEventWord = 128
	maxEventNote = 1024
)

// isCoreAPI: the client speaks the old API, or is a controller of our own.
func isCoreAPI(r *kinds.Context) bool {
	return r == nil || r.Version == nil || r.Version.GVK.Group == ""
}

func validateEvent(r *kinds.Context, e *corev1.Event) field.ErrorList {
	var f faults
	f.anyEvent(r, e)
	if isCoreAPI(r) {
		return f.all
	}
	f.eventSeries(e)
	if e.EventTime.IsZero() {
		f.required(field.NewPath("eventTime"), "")
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		f.invalid(field.NewPath("type"), "", fmt.Sprintf("has invalid value: %v", e.Type))
	}
	for _, old := range []struct {
		name string
		set  bool
	}{
		{"firstTimestamp", !e.FirstTimestamp.IsZero()}, {"lastTimestamp", !e.LastTimestamp.IsZero()},
		{"count", e.Count != 0}, {"source", e.Source != (corev1.EventSource{})},
	} {
		if old.set {
			f.invalid(field.NewPath(old.name), "", "needs to be unset")
		}
	}
	return f.all
}

func (f *faults) anyEvent(r *kinds.Context, e *corev1.Event) {
	namespace := field.NewPath("involvedObject", "namespace")
	const other = "does not match event.namespace"
	of := e.InvolvedObject.Namespace
	if e.EventTime.IsZero() { // an event of the old form
		if of == "" && e.Namespace != "" && e.Namespace != "default" || of != "" && of != e.Namespace {
			f.invalid(namespace, of, other)
		}
		return
	}
	if of == "" && e.Namespace != "default" && e.Namespace != "kube-system" {
		f.invalid(namespace, of, other)
	}
	reporter := field.NewPath("reportingController")
	if isCoreAPI(r) {
		reporter = field.NewPath("reportingComponent")
	}
	if e.ReportingController == "" {
		f.required(reporter, "")
	}
	f.add(common.QualifiedName(e.ReportingController, reporter))
	for _, word := range []struct{ name, value string }{
		{"reportingInstance", e.ReportingInstance}, {"action", e.Action}, {"reason", e.Reason},
	} {
		at := field.NewPath(word.name)
		if word.value == "" {
			f.required(at, "")
		}
		if len(word.value) > maxEventWord {
			f.invalid(at, "", fmt.Sprintf("can have at most %v characters", maxEventWord))
		}
	}
	if len(e.Message) > maxEventNote {
		f.invalid(field.NewPath("message"), "", fmt.Sprintf("can have at most %v characters", maxEventNote))
	}
}

func (f *faults) eventSeries(e *corev1.Event) {
	if e.Series == nil {
		return
	}
	if e.Series.Count < 2 {
		f.invalid(field.NewPath("series.count"), "", "should be at least 2")
	}
	if e.Series.LastObservedTime.IsZero() {
		f.required(field.NewPath("series.lastObservedTime"), "")
	}
}

func validateEventUpdate(r *kinds.Context, e, old *corev1.Event) field.ErrorList {
	var f faults
	f.anyEvent(r, e)
	if isCoreAPI(r) {
		return f.all
	}
	if !common.Equal(e.Series, old.Series) {
		f.eventSeries(e)
	}
	fixed := func(name string, now, was any) { f.add(common.Immutable(now, was, field.NewPath(name))) }
	fixed("involvedObject", e.InvolvedObject, old.InvolvedObject)
	fixed("reason", e.Reason, old.Reason)
	fixed("message", e.Message, old.Message)
	fixed("source", e.Source, old.Source)
	fixed("firstTimestamp", e.FirstTimestamp, old.FirstTimestamp)
	fixed("lastTimestamp", e.LastTimestamp, old.LastTimestamp)
	fixed("count", e.Count, old.Count)
	fixed("reason", e.Reason, old.Reason)
	fixed("type", e.Type, old.Type)
	// JSON carries microseconds: finer differences are not changes.
	if !e.EventTime.Truncate(time.Microsecond).Equal(old.EventTime.Truncate(time.Microsecond)) {
		fixed("eventTime", e.EventTime, old.EventTime)
	}
	fixed("action", e.Action, old.Action)
	fixed("related", e.Related, old.Related)
	fixed("reportingController", e.ReportingController, old.ReportingController)
	fixed("reportingInstance", e.ReportingInstance, old.ReportingInstance)
	return f.all
}
